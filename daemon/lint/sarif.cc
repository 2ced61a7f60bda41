// SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), so that findings appear beside
// the source lines in code review and editors. The section numbers below are those of the standard.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/version.h"
#include "daemon/lint/record_view.h"
#include "daemon/redact/redact.h"
#include "daemon/report/sarif_place.h"
#include "daemon/report/source_place.h"

namespace filibuster::lint {
namespace {

using OrderedJson = nlohmann::ordered_json;
namespace fs = std::filesystem;

// §3.28
OrderedJson location(const Call& call, const std::string& directory) {
  const Place place = parse_place(call.place());
  OrderedJson out = OrderedJson::object();
  if (!place.file.empty()) {
    out["physicalLocation"] = {{"artifactLocation", sarif_artifact(place.file, directory)},
                               {"region", {{"startLine", place.line}}}};
  }
  OrderedJson logical = {{"name", call.caller}, {"kind", "module"}};
  if (!place.function.empty()) {
    logical = {{"name", place.function},
               {"fullyQualifiedName", call.caller + "/" + place.function},
               {"kind", "function"}};
  }
  out["logicalLocations"] = OrderedJson::array({std::move(logical)});
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

OrderedJson result(const TestLint& test, const Finding& finding, const std::string& directory) {
  const LintRow& lint = row_of(finding.lint);
  OrderedJson out = {{"ruleId", lint.name},
                     {"ruleIndex", &lint - lints().data()},
                     {"level", severity_name(finding.severity)},
                     {"message", {{"text", finding.text}}}};
  OrderedJson related = OrderedJson::array();
  for (size_t i = 0; i < finding.calls.size(); ++i) {
    OrderedJson place = location(finding.calls[i], directory);
    if (i == 0) {
      out["locations"] = OrderedJson::array({std::move(place)});
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

OrderedJson rules() {
  OrderedJson out = OrderedJson::array();
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
  OrderedJson results = OrderedJson::array(), notifications = OrderedJson::array();
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
           {"locations", OrderedJson::array({location(skipped.call, report.directory)})}});
    }
  }
  redact_texts(&results);
  redact_texts(&notifications);
  OrderedJson run = {
      {"tool",
       {{"driver", {{"name", "filibuster"}, {"semanticVersion", kVersion}, {"rules", rules()}}}}},
      {"invocations",
       OrderedJson::array({{{"executionSuccessful", finished},
                            {"exitCode", report.exit_code},
                            {"toolExecutionNotifications", std::move(notifications)}}})},
      {"results", std::move(results)}};
  if (!report.directory.empty()) run["originalUriBaseIds"] = sarif_base(report.directory);
  const OrderedJson json = {{"$schema", kSarifSchema},
                            {"version", "2.1.0"},
                            {"runs", OrderedJson::array({std::move(run)})}};
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace filibuster::lint
