// SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format") of an exploration. The section
// numbers below are those of the standard.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/text/shell_word.h"
#include "core/version.h"
#include "daemon/model/environment_error.h"
#include "daemon/redact/redact.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/results.h"
#include "daemon/report/sarif_place.h"
#include "daemon/report/source_place.h"
#include "daemon/report/unexplained.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Rule {
  Verdict verdict;
  const char* summary;
  const char* help;
};
constexpr Rule kRules[] = {
    {Verdict::kFailed, "The test fails when a remote call fails.",
     "Handle the failure of the call where it is made, or tell the test what must happen under "
     "it."},
    {Verdict::kCrashed, "A service ends when a remote call fails.",
     "Handle the failure of the call where it is made: one failing request must not end the "
     "process."},
    {Verdict::kTestTimeout, "The test does not end when a remote call fails.",
     "Look for a wait without a limit, or for retries without an end, behind the call."},
    {Verdict::kNoTimeout, "A caller waits without end for an answer.", "Give the call a timeout."},
    {Verdict::kDoneTwice, "A server does a call twice whose first answer did not come.",
     "Send a key with the call (Idempotency-Key) by which the server knows it again, or do not send it again."},
};

size_t rule_of(Verdict verdict) {
  for (size_t i = 0; i < std::size(kRules); ++i) {
    if (kRules[i].verdict == verdict) return i;
  }
  return 0;
}

Json rules() {
  Json out = Json::array();
  for (const Rule& rule : kRules) {
    out.push_back({{"id", verdict_name(rule.verdict)},
                   {"shortDescription", {{"text", rule.summary}}},
                   {"help", {{"text", rule.help}}},
                   {"defaultConfiguration", {{"level", "error"}}}});
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const SessionReport& report) : report_(report) {}

  // §3.27. The place of a finding is the call site of its last fault, since the execution without
  // that fault passes.
  Json result(const Finding& finding) const {
    const size_t rule = rule_of(finding.minimal_execution.verdict);
    Json out = {{"ruleId", verdict_name(kRules[rule].verdict)},
                {"ruleIndex", rule},
                {"level", "error"},
                {"message", {{"text", to_line(finding)}}}};
    Json places = Json::array(), related = Json::array(), stacks = Json::array(),
         flow = Json::array();
    for (size_t i = 0; i < finding.minimal.size(); ++i) {
      const InjectedFault& fault = finding.minimal[i];
      const std::string what = call_text(fault, " ") + ": " + fault_text(fault);
      Json place = location(fault, fault.call_site);
      if (i + 1 == finding.minimal.size()) {
        places.push_back(place);
      } else {
        Json other = place;
        other["id"] = i + 1;
        other["message"] = {{"text", what}};
        related.push_back(std::move(other));
      }
      place["message"] = {{"text", what}};
      flow.push_back({{"location", std::move(place)}});
      stacks.push_back(stack(fault, what));
    }
    if (places.empty()) places.push_back(configuration());
    out["locations"] = std::move(places);
    if (!related.empty()) out["relatedLocations"] = std::move(related);
    if (!stacks.empty()) {
      out["stacks"] = std::move(stacks);
      out["codeFlows"] =
          Json::array({{{"threadFlows", Json::array({{{"locations", std::move(flow)}}})}}});
    }
    out["partialFingerprints"] = {{"filibusterFinding/v1", finding.id}};
    if (!finding.fails()) {
      out["suppressions"] = Json::array({{{"kind", "external"},
                                          {"status", "accepted"},
                                          {"justification", standing_text(finding)}}});
    }
    out["properties"] = {{"test", finding.minimal_execution.test},
                         {"finding", finding.id},
                         {"number", finding.number},
                         {"executions", finding.executions},
                         {"standing", standing_name(finding.standing)}};
    if (!finding.counterexample.empty())
      out["properties"]["replay"] = "filibuster replay " + shell_word(finding.counterexample);
    return out;
  }

 private:
  // §3.28. A call whose file is not known stands in the configuration, which the reader can open.
  Json location(const InjectedFault& fault, const std::string& frame) const {
    const Place place = parse_place(frame);
    Json out =
        place.file.empty()
            ? configuration()
            : Json{{"physicalLocation",
                    {{"artifactLocation", sarif_artifact(place.file, report_.working_directory)},
                     {"region", {{"startLine", place.line}}}}}};
    Json logical = {{"name", fault.caller}, {"kind", "module"}};
    if (!place.function.empty()) {
      logical = {{"name", place.function},
                 {"fullyQualifiedName", fault.caller + "/" + place.function},
                 {"kind", "function"}};
    }
    out["logicalLocations"] = Json::array({std::move(logical)});
    return out;
  }

  Json configuration() const {
    if (report_.config_path.empty()) return Json::object();
    const std::string path =
        (fs::path(report_.working_directory) / report_.config_path).lexically_normal().string();
    return {{"physicalLocation",
             {{"artifactLocation", sarif_artifact(path, report_.working_directory)},
              {"region", {{"startLine", 1}}}}}};
  }

  // §3.44
  Json stack(const InjectedFault& fault, const std::string& what) const {
    Json frames = Json::array();
    for (const std::string& frame : fault.stack)
      frames.push_back({{"location", location(fault, frame)}});
    return {{"message", {{"text", what}}}, {"frames", std::move(frames)}};
  }

  const SessionReport& report_;
};

// §3.58: what the session could not show.
Json notifications(const SessionReport& report) {
  Json out = Json::array();
  const auto add = [&](const char* level, const std::string& text) {
    out.push_back({{"level", level}, {"message", {{"text", text}}}});
  };
  const std::vector<EnvironmentError> errors = environment_errors(report);
  if (!report.error.empty() && (errors.size() != 1 || errors[0].test.empty()))
    add("error", report.error);
  for (const TestReport& test : report.tests) {
    const std::string name = "test '" + test.test + "': ";
    if (!test.error.empty()) add("error", name + test.error);
    for (const auto& [rpc, reason] : test.rpcs.untested)
      add("warning", name + rpc + " was not tested: " + reason);
    for (const Unexplained& group : test.unexplained) add("warning", name + to_line(group));
    if (test.time_over)
      add("note", name + "the time was over before " + std::to_string(test.counts.open) +
                      " scheduled executions");
  }
  return out;
}

}  // namespace

std::string to_sarif(const SessionReport& report) {
  const Writer writer(report);
  Json results = Json::array();
  for (const TestReport& test : report.tests) {
    for (const Finding& finding : test.findings) results.push_back(writer.result(finding));
  }
  Json told = notifications(report);
  redact_texts(&results);
  redact_texts(&told);
  const bool whole = report.error.empty() && (report.exit_code == 0 || report.exit_code == 1);
  Json run = {
      {"tool",
       {{"driver", {{"name", "filibuster"}, {"semanticVersion", kVersion}, {"rules", rules()}}}}},
      {"invocations", Json::array({{{"executionSuccessful", whole},
                                    {"exitCode", report.exit_code},
                                    {"toolExecutionNotifications", std::move(told)}}})},
      {"results", std::move(results)}};
  if (!report.working_directory.empty())
    run["originalUriBaseIds"] = sarif_base(report.working_directory);
  const Json json = {
      {"$schema", kSarifSchema}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace filibuster
