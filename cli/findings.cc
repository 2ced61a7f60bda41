#include "cli/findings.h"

#include <filesystem>

#include "cli/configuration.h"
#include "core/text/json_depth.h"

namespace filibuster::cli {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string report_path(const std::string& root) {
  return root + "/report.json";
}

std::string text_of(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

// As people know a finding.
std::string what_of(const Json& finding) {
  std::string out;
  for (const Json& fault : finding.value("faults", Json::array())) {
    const std::string grpc = text_of(fault, "grpc");
    out += (out.empty() ? "" : " + ") + text_of(fault, "caller") + " -> " +
           text_of(fault, "service") + " " +
           (grpc.empty()
                ? text_of(fault, "method") + " " + text_of(fault, "path") + text_of(fault, "query")
                : grpc) +
           ": " + text_of(fault, "fault");
  }
  return out.empty() ? "without any fault" : out;
}

bool same_file(const std::string& one, const std::string& other) {
  std::error_code failed;
  return !one.empty() && fs::equivalent(one, other, failed) && !failed;
}

}  // namespace

Result<Json> last_report(const std::string& root) {
  constexpr size_t kMost = size_t{1} << 30;  // a report of many findings is long
  const std::string path = report_path(root);
  const Result<std::string> text = read_file(path, kMost);
  if (!text) return Error{text.error().message + " (expected the report of a run)"};
  Json report =
      is_nested_too_deep(text.value()) ? Json() : Json::parse(text.value(), nullptr, false);
  if (!report.is_object() || !report.contains("tests") || !report["tests"].is_array())
    return Error{path + ": it is no report of a run"};
  if (report.value("version", Json()) != 1) {
    return Error{path + ": its version is " + report.value("version", Json()).dump() +
                 ", this program reads 1; run the exploration again"};
  }
  return report;
}

Result<NamedFinding> find_finding(const Json& report, const std::string& name,
                                  const std::string& root) {
  constexpr size_t kNamed = 10;
  std::string known;
  size_t number = 0;
  for (const Json& test : report["tests"]) {
    if (!test.is_object()) continue;
    for (const Json& finding : test.value("findings", Json::array())) {
      if (!finding.is_object()) continue;
      const std::string id = text_of(finding, "id");
      const std::string file = text_of(finding, "counterexample");
      const Json at = finding.value("number", Json());
      const std::string digits = at.is_number_unsigned() && at != 0 ? at.dump() : "";
      if (id == name || (!digits.empty() && digits == name) || same_file(file, name))
        return NamedFinding{id, text_of(test, "test"), what_of(finding), file};
      if (number++ < kNamed)
        known += (known.empty() ? "" : ", ") + (digits.empty() ? id : digits + " (" + id + ")");
    }
  }
  if (number > kNamed) known += ", and " + std::to_string(number - kNamed) + " more";
  return Error{"there is no finding '" + name + "' in " + report_path(root) +
               (known.empty() ? ", which has none" : "; it has " + known)};
}

}  // namespace filibuster::cli
