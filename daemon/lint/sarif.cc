// SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), so that findings appear beside
// the source lines in code review and editors. The section numbers below are those of the standard.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/version.h"
#include "daemon/lint/record_view.h"
#include "daemon/report/redact.h"

namespace filibuster::lint {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr const char* kRoot = "SRCROOT";

// Escapes what RFC 3986 does not allow in a path.
std::string uri_path(const std::string& path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 ||
        std::string_view("-._~/!$&'()*+,;=@").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

// A file below the configuration's folder is named relative to that folder (§3.4.4), so that the
// report fits any checkout.
Json artifact(const std::string& file, const std::string& directory) {
  const fs::path whole = fs::path(file).lexically_normal();
  // A relative path is the one that a compiler was given. Where the compiler ran is not known.
  if (whole.is_relative()) return {{"uri", uri_path(whole.string())}};
  const fs::path relative = whole.lexically_relative(fs::path(directory).lexically_normal());
  if (!directory.empty() && !relative.empty() && *relative.begin() != "..")
    return {{"uri", uri_path(relative.string())}, {"uriBaseId", kRoot}};
  return {{"uri", "file://" + uri_path(whole.string())}};
}

// §3.28
Json location(const Call& call, const std::string& directory) {
  const Place place = parse_place(call.place());
  Json out = Json::object();
  if (!place.file.empty()) {
    out["physicalLocation"] = {{"artifactLocation", artifact(place.file, directory)},
                               {"region", {{"startLine", place.line}}}};
  }
  Json logical = {{"name", call.caller}, {"kind", "module"}};
  if (!place.function.empty()) {
    logical = {{"name", place.function},
               {"fullyQualifiedName", call.caller + "/" + place.function},
               {"kind", "function"}};
  }
  out["logicalLocations"] = Json::array({std::move(logical)});
  return out;
}

// Equal for the same finding in a later version of the sources, so it has no line numbers (§3.27.17).
std::string fingerprint(const TestLint& test, const Finding& finding) {
  std::string all = std::string(row_of(finding.lint).name) + '\0' + test.test;
  if (!finding.calls.empty()) {
    const Call& call = finding.calls.front();
    const Place place = parse_place(call.place());
    all += '\0' + call.caller + '\0' + call.service + '\0' +
           (call.protocol == Protocol::kGrpc ? call.target : call.method) + '\0' +
           fs::path(place.file).filename().string() + '\0' + place.function;
  }
  return to_hex(hash_text(all));
}

Json result(const TestLint& test, const Finding& finding, const std::string& directory) {
  const LintRow& lint = row_of(finding.lint);
  Json out = {{"ruleId", lint.name},
              {"ruleIndex", &lint - lints().data()},
              {"level", severity_name(finding.severity)},
              {"message", {{"text", finding.text}}}};
  Json related = Json::array();
  for (size_t i = 0; i < finding.calls.size(); ++i) {
    Json place = location(finding.calls[i], directory);
    if (i == 0) {
      out["locations"] = Json::array({std::move(place)});
      continue;
    }
    place["id"] = i;
    place["message"] = {{"text", call_text(finding.calls[i], " ")}};
    related.push_back(std::move(place));
  }
  if (!related.empty()) out["relatedLocations"] = std::move(related);
  out["partialFingerprints"] = {{"filibusterLint/v1", fingerprint(test, finding)}};
  out["properties"] = {{"test", test.test}};
  if (!finding.replay.empty()) out["properties"]["replay"] = finding.replay;
  return out;
}

Json rules() {
  Json out = Json::array();
  for (const LintRow& lint : lints()) {
    out.push_back({{"id", lint.name},
                   {"shortDescription", {{"text", lint.summary}}},
                   {"help", {{"text", lint.help}}},
                   {"defaultConfiguration", {{"level", severity_name(lint.severity)}}}});
  }
  return out;
}

}  // namespace

std::string to_sarif(const Report& report) {
  Json results = Json::array(), notifications = Json::array();
  bool finished = true;
  for (const TestLint& test : report.tests) {
    finished = finished && test.finished;
    for (const Finding& finding : test.findings)
      results.push_back(result(test, finding, report.directory));
    for (const NotProbed& skipped : test.not_probed) {
      notifications.push_back(
          {{"level", "note"},
           {"message",
            {{"text", "not probed (" + skipped.what + "): " + call_text(skipped.call, " ") + ": " +
                          skipped.reason}}},
           {"locations", Json::array({location(skipped.call, report.directory)})}});
    }
  }
  redact_texts(&results);
  redact_texts(&notifications);
  Json run = {
      {"tool",
       {{"driver", {{"name", "filibuster"}, {"semanticVersion", kVersion}, {"rules", rules()}}}}},
      {"invocations", Json::array({{{"executionSuccessful", finished},
                                    {"exitCode", report.exit_code},
                                    {"toolExecutionNotifications", std::move(notifications)}}})},
      {"results", std::move(results)}};
  if (!report.directory.empty()) {
    run["originalUriBaseIds"] = {
        {kRoot, {{"uri", "file://" + uri_path((fs::path(report.directory) / "").string())}}}};
  }
  const Json json = {
      {"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace filibuster::lint
