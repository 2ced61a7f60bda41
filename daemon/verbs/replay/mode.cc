// `filibuster replay`: one execution with the faults of a counterexample.
#include <algorithm>

#include "daemon/explore/single_execution.h"
#include "daemon/observe/observation.h"
#include "daemon/process/session_lane.h"
#include "daemon/report/json.h"
#include "daemon/retries/oracles.h"
#include "daemon/suite/results.h"
#include "daemon/suite/runner.h"
#include "daemon/verbs/replay/request.h"

namespace filibuster {
namespace {

class ReplayMode final : public Mode {
 public:
  explicit ReplayMode(const SessionRequest& request)
      : request_(request), own_(request.own_as<ReplayRequest>()) {}

  const char* meaning_of_moved_port() const override {
    return "; if requests or answers carry the port, the calls to be faulted may not be found: "
           "replay again when that port is free";
  }

  std::optional<LanePorts::Keep> keeps_ports() const override { return std::nullopt; }

  Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) override {
    Exploration out = run_single_execution(session, lane, test, own_.faults);
    if (own_.found_as == oracle_name(retries::Oracle::kPossibleSilentViolation))
      look_for_repetition(&out);
    if (own_.found_as == oracle_name(retries::Oracle::kProcessDied)) look_for_death(test, &out);
    return out;
  }

  Outcome judge(SessionReport* report, const SessionEnd&) const override {
    return {has_findings(*report), has_skipped(*report)};
  }

  Document document(const SessionReport& report) override { return {"", to_json(report), {}}; }

  std::string summary(const SessionReport& report, const SessionEnd& end) const override {
    std::string out;
    for (const TestReport& test : report.tests) {
      for (const Finding& finding : test.findings) {
        const Execution& replayed = finding.minimal_execution;
        out += "reproduced: " + replayed.detail + "\nfaults: " + to_line(replayed.faults) + "\n" +
               replayed.output + "\n";
      }
      for (const Skipped& skipped : test.skipped) {
        out += "no conclusion: " + skipped.what + ": " + skipped.reason +
               (end.ports_moved
                    ? "\nIts ports are not those with which it was found (see above): where "
                      "requests or answers carry one, that is why.\n"
                    : "\nIs the program as it was? A call that has moved is found again by its "
                      "function and by what it asks for, unless others are like it: then "
                      "explore again.\n");
      }
      if (test.findings.empty() && test.skipped.empty()) {
        out += "not reproduced: the test passed under " + to_line(own_.faults) + "\n";
      }
    }
    return out;
  }

 private:
  // A test that passes although the server did something twice (`filibuster suite`).
  void look_for_repetition(Exploration* out) const {
    TestReport& report = out->report;
    if (out->error || out->stopped || !report.findings.empty() || !report.skipped.empty()) return;
    ExecutionRecord record;
    record.rpcs = report.reference;
    const auto groups = retries::group_attempts(record);
    const auto repeated =
        retries::repeated_mutations(record, groups, request_.config.retries.mutations);
    if (repeated.empty()) return;
    add_finding("the test passes, although the server did more than once for one call: " +
                    describe_rpc(record.rpcs[repeated.front().succeeded.front()]),
                out);
  }

  // A test that passes since only its runner keeps its process alive, or whose process has ended before it said anything.
  void look_for_death(const TestConfig& test, Exploration* out) const {
    const TestReport& report = out->report;
    if (out->error || out->stopped || !report.findings.empty() || !report.skipped.empty() ||
        test.junit_xml.empty())
      return;
    if (const auto uncaught = read_file(suite::uncaught_path(test.junit_xml));
        uncaught && !uncaught->empty()) {
      // The first line says what kind it is of.
      const size_t second = std::min(uncaught->find('\n') + 1, uncaught->size());
      const std::string said = uncaught->substr(second, uncaught->find('\n', second) - second);
      return add_finding(
          "nobody handles an exception, which ends a process outside of the test runner: " + said,
          out);
    }
    const auto results = read_file(test.junit_xml);
    const auto cases = results ? suite::parse_results(results.value())
                               : Result<std::vector<suite::JunitCase>>(results.error());
    if (!cases || cases->empty())
      add_finding("the runner ended without a result, although it says success", out);
  }

  void add_finding(const std::string& detail, Exploration* out) const {
    TestReport& report = out->report;
    Finding finding;
    finding.minimal = own_.faults;
    finding.minimal_execution.test = report.test;
    finding.minimal_execution.faults = own_.faults;
    finding.minimal_execution.verdict = Verdict::kPassed;
    finding.minimal_execution.detail = detail;
    report.findings.push_back(std::move(finding));
  }

  const SessionRequest& request_;
  const ReplayRequest& own_;
};

}  // namespace

std::unique_ptr<Mode> make_replay_mode(const SessionRequest& request) {
  return std::make_unique<ReplayMode>(request);
}

}  // namespace filibuster
