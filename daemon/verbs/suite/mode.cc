// `filibuster suite`: the tests of suites that exist already, under retry-aware faults (Rainmaker, NSDI 2023). Three
// rounds: what each test calls; the faults of the plan; a replay of each cluster of failures.
#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "daemon/config/policy_names.h"
#include "daemon/process/session_lane.h"
#include "daemon/report/call_site_text.h"
#include "daemon/report/unknown_cause.h"
#include "daemon/retries/aftermath.h"
#include "daemon/session/absent_services.h"
#include "daemon/suite/runner.h"
#include "daemon/verbs/suite/cases.h"
#include "daemon/verbs/suite/counterexamples.h"
#include "daemon/verbs/suite/planning.h"
#include "daemon/verbs/suite/request.h"
#include "daemon/verbs/suite/sites.h"
#include "daemon/verbs/suite/tester.h"

namespace filibuster {
namespace {

using retries::ClusterRow;
using retries::FaultRow;
using Clock = std::chrono::steady_clock;

constexpr char kStopped[] = "the session was stopped";

// For tests: the time is over after so many executions of the session, whatever a clock says.
constexpr char kTimeUpAfter[] = "FILIBUSTER_TIME_UP_AFTER";

bool time_is_over(const SessionContext& session) {
  if (!session.deadline) return false;
  if (const char* after = getenv(kTimeUpAfter))
    return session.counters.next_execution > std::strtoull(after, nullptr, 10);
  return Clock::now() >= *session.deadline;
}

std::string headline(const ClusterRow& row, const FaultRow& first) {
  return std::string(row.cluster.label.taxonomy == retries::Taxonomy::kNone
                         ? retries::oracle_name(row.cluster.oracle)
                         : retries::taxonomy_name(row.cluster.label.taxonomy)) +
         " at " + call_site_text(first.site) + " under " + first.policy + " in " + first.test;
}

class SuiteMode final : public Mode {
 public:
  explicit SuiteMode(const SessionRequest& request)
      : request_(request), own_(request.own_as<SuiteRequest>()) {
    for (const SurfaceRule& rule : request.config.retries.surfaces_as)
      memory_.surfaces.give(rule.fault, rule.type);
  }

  bool tests_stand_alone() const override { return true; }
  // The call sites share it, by their turns.
  bool shares_time() const override { return false; }
  // What is planned is named where the time is over, and replays have time of their own.
  bool keeps_deadline() const override { return true; }

  std::optional<uint32_t> lane_of(const std::string& name) const override {
    const std::lock_guard lock(mutex_);
    const auto test = tests_.find(name);
    return test == tests_.end() || round_ == Round::kReference ? std::nullopt
                                                               : std::optional(test->second.lane);
  }

  Exploration explore(SessionContext* session, Lane* lane, const TestConfig& test) override {
    SuiteTest* one = nullptr;
    {
      const std::lock_guard lock(mutex_);
      root_ = lane->place().root;
      one = &tests_[test.name];
      memory_.references.planned = request_.tests.size();
    }
    Exploration out;
    one->error.clear();
    const auto began = Clock::now();
    if (round_ == Round::kReference && references_are_over()) {
      one->row.name = test.name;
      one->row.left_out =
          "it was not run: runs without faults have a third of the time of --max-time";
      out.report.test = test.name;
      out.report.time_over = true;
      return out;
    }
    // Failures of an earlier turn may be unchecked: then the test runs without faults once more.
    if (round_ != Round::kReplays && time_is_over(*session) && one->unchecked.empty()) {
      out.report.test = test.name;
      out.report.time_over = true;
      for (const size_t at : one->planned) {
        FaultRow& row = results_.faults[at];
        if (row.execution == 0 && row.skipped.empty()) row.skipped = kSuiteTimeOver;
      }
      return out;
    }
    SuiteTester tester(session, lane, test, &memory_);
    const bool faults = round_ == Round::kTurns || round_ == Round::kFaults;
    const Result<void> done = round_ == Round::kReference ? tester.reference(one)
                              : faults ? run_faults(&tester, session, lane, one, &out)
                                       : run_replays(&tester, session, one);
    if (faults) tester.note_place(one);
    const double seconds =
        std::chrono::duration<double>(Clock::now() - began).count() - tester.control_seconds();
    {
      const std::lock_guard lock(mutex_);
      results_.reference_seconds += tester.control_seconds();
      (round_ == Round::kReference ? results_.reference_seconds
       : faults                    ? results_.measured_seconds
                                   : results_.replay_seconds) += seconds;
    }
    if (!done) {
      out.error = done.error();
      one->error = done.error().message;
    }
    out.stopped = out.stopped || tester.stopped();
    out.report.test = test.name;
    out.report.counts.executed = one->executions;
    out.report.notes = one->notes;
    out.report.finished = !out.error && !out.stopped;
    return out;
  }

  bool begins_another_round() override {
    if (round_ == Round::kReference) {
      plan();
      turns_ = turn_ = 0;
      for (const auto& [name, test] : tests_) turns_ = std::max(turns_, test.turns.size());
      round_ = turns_ > 0 ? Round::kTurns : Round::kFaults;
      memory_.faults.begin(results_.faults.size());
      return !own_.estimate && !results_.faults.empty();
    }
    if (round_ == Round::kTurns) {
      if (++turn_ == turns_) round_ = Round::kFaults;
      return true;
    }
    if (round_ == Round::kReplays) return false;
    conclude("");
    round_ = Round::kReplays;
    const auto most = request_.config.bounds.max_time;
    if (is_bounded()) replays_end_ = std::max(Clock::now(), began_ + most) + most / 2;
    return !results_.clusters.empty();
  }

  void stopped() override {
    if (round_ == Round::kReference) {
      name_call_sites(&tests_);
      list_tests(kStopped);
      results_.notes.push_back("the session was stopped before anything was planned");
    } else if (round_ != Round::kReplays) {
      conclude(kStopped);
    }
    for (ClusterRow& row : results_.clusters) {
      if (!row.reproduced && row.not_replayed.empty()) row.not_replayed = kStopped;
    }
  }

  Outcome judge(SessionReport* report, const SessionEnd& end) const override {
    Outcome out;
    const auto hung_once = [](const ClusterRow& row) { return row.hung_once(); };
    out.failures = !std::all_of(results_.clusters.begin(), results_.clusters.end(), hung_once);
    if (end.stopped || end.failed) return out;
    out.no_conclusion = std::any_of(results_.clusters.begin(), results_.clusters.end(), hung_once);
    for (const TestReport& test : report->tests) out.time_over |= test.time_over;
    for (const FaultRow& row : results_.faults)
      out.no_conclusion |= row.execution == 0 && row.skipped.starts_with("no conclusion");
    out.no_conclusion |= !plan_error_.empty();
    // 'Nothing found' would be a lie where nothing was tried, and an estimate of nothing is no plan.
    if (own_.estimate) {
      out.no_conclusion |= results_.faults.empty();
    } else {
      out.no_conclusion |=
          !out.time_over && std::none_of(results_.faults.begin(), results_.faults.end(),
                                         [](const FaultRow& row) { return row.execution != 0; });
    }
    if (request_.allow_untested) return out;
    for (const auto& test : results_.tests) {
      for (const auto& site : test.sites)
        out.no_conclusion |= says_cause_not_known(site.why_not) && test.left_out.empty();
    }
    return out;
  }

  Document document(const SessionReport& report) override {
    results_.session = report.session;
    results_.config_path = request_.config.path;
    results_.exit_code = report.exit_code;
    for (const TestReport& test : report.tests) {
      for (const std::string& note : test.notes) {
        if (std::find(results_.notes.begin(), results_.notes.end(), note) == results_.notes.end())
          results_.notes.push_back(note);
      }
    }
    const std::string json = retries::to_json(results_);
    return {"suite.json", json, {{"json", json}}};
  }

  std::string summary(const SessionReport&, const SessionEnd&) const override {
    return retries::to_text(results_);
  }

 private:
  // kTurns, under --max-time alone: each call site of the suite gets its first fault before any gets its second, and so on.
  enum class Round { kReference, kTurns, kFaults, kReplays };

  bool is_bounded() const { return request_.config.bounds.max_time.count() > 0; }
  bool references_are_over() const {
    return is_bounded() && getenv(kTimeUpAfter) == nullptr &&
           Clock::now() - began_ > request_.config.bounds.max_time / 3;
  }

  // In the order of the configuration. `why_not`: why some were not run.
  void list_tests(const std::string& why_not) {
    for (const TestConfig& test : request_.tests) {
      SuiteTest& one = tests_[test.name];
      if (one.row.name.empty()) {
        one.row.name = test.name;
        if (one.row.left_out.empty()) one.row.left_out = "it was not run: " + why_not;
      }
      results_.tests.push_back(one.row);
    }
    if (std::any_of(results_.tests.begin(), results_.tests.end(),
                    [](const auto& test) { return test.left_out.starts_with(kFailsAlone); })) {
      for (std::string& text : absent_services(request_.config))
        results_.notes.push_back(std::move(text));
    }
  }

  void plan() {
    name_call_sites(&tests_);
    list_tests("the time was over");
    const auto kept = read_file(sites_file());
    const auto earlier = parse_sites(kept.ok() ? kept.value() : "");
    const SuitePlanning planned =
        plan_suite(own_, request_.config.fast_timeouts, earlier, &results_);
    plan_error_ = planned.error;
    if (!plan_error_.empty()) results_.notes.push_back(plan_error_);
    for (size_t i = 0; i < results_.faults.size(); ++i)
      tests_[results_.faults[i].test].planned.push_back(i);
    if (is_bounded()) {
      const auto turns = turns_of_sites(results_);
      for (size_t turn = 0; turn < turns.size(); ++turn) {
        for (const size_t at : turns[turn]) {
          auto& of_test = tests_[results_.faults[at].test].turns;
          of_test.resize(std::max(of_test.size(), turn + 1));
          of_test[turn].push_back(at);
        }
      }
    }
    policies_ = planned.policies;
    memory_.has_reset_forms =
        std::any_of(policies_.begin(), policies_.end(),
                    [](const retries::Policy& one) { return one.name == kBuiltInPolicies[0]; });
    if (!own_.estimate && !results_.faults.empty()) note_lifted_limits();
    if (own_.estimate && results_.faults.empty() && plan_error_.empty())
      results_.notes.push_back(
          "there is nothing to do: no call of any test gets a fault (the reasons are those of the tests that were left out, and of the call sites without "
          "faults)");
    if (own_.write_plan.empty()) return;
    if (auto written = write_file(own_.write_plan, retries::to_json(planned.file)); written) {
      results_.plan_file = own_.write_plan;
    } else {
      plan_error_ = "the plan was not written: " + written.error().message;
      results_.notes.push_back(plan_error_);
    }
  }

  void note_lifted_limits() {
    for (const TestConfig& test : request_.config.tests) {
      const suite::Runner* runner = test.suite ? suite::find_runner(test.suite->runner) : nullptr;
      const std::string said(runner == nullptr ? "" : runner->lifted);
      if (!said.empty() && std::ranges::find(results_.notes, said) == results_.notes.end())
        results_.notes.push_back(said);
    }
  }

  Result<void> run_faults(SuiteTester* tester, SessionContext* session, Lane* lane, SuiteTest* test,
                          Exploration* out) {
    const bool is_last = round_ == Round::kFaults;
    static const std::vector<size_t> none;
    const std::vector<size_t>& planned = is_last                      ? test->planned
                                         : turn_ < test->turns.size() ? test->turns[turn_]
                                                                      : none;
    if (planned.empty()) return {};
    if (auto ready = tester->prepare(*test); !ready) return ready;
    SuiteCases cases({tester, test, &memory_, &results_, &policies_, &planned, is_last,
                      [session] { return time_is_over(*session); }});
    const auto done = run_cases(&cases, tester, lane->place().wake_fd);
    out->report.time_over = cases.time_over();
    if (!done) return done.error();
    out->stopped = done.value() == Flow::kStopped;
    return {};
  }

  Result<void> run_replays(SuiteTester* tester, SessionContext* session, SuiteTest* test) {
    bool ready = false;
    for (ClusterRow& row : results_.clusters) {
      if (row.test != test->row.name) continue;
      const FaultRow& first = results_.faults[row.cluster.members.front()];
      if (replays_end_ && Clock::now() >= *replays_end_) {
        row.not_replayed = std::string(kSuiteTimeOver) + ", and half of it more for replays";
      } else {
        if (auto prepared = ready ? Result<void>() : tester->prepare(*test); !prepared)
          return prepared;
        ready = true;
        auto again = tester->replay(memory_.evidence.at(row.cluster.members.front()), first);
        if (!again) return again.error();
        if (tester->stopped()) return {};
        row.reproduced = again->reproduced;
        if (!row.reproduced) row.not_replayed = "no conclusion: " + again->no_conclusion;
      }
      if (row.hung_once()) continue;
      session->sink({{"type", "finding"},
                     {"test", row.test},
                     {"number", row.number},
                     {"id", ""},
                     {"accepted", false},
                     {"headline", headline(row, first)},
                     {"text", ""},
                     {"counterexample", row.counterexample}});
    }
    return {};
  }

  // The executions under faults are over, or have no further ones: `why_not`.
  void conclude(const std::string& why_not) {
    for (FaultRow& row : results_.faults) {
      if (row.execution != 0 || !row.skipped.empty()) continue;
      const std::string& error = tests_[row.test].error;
      row.skipped = error.empty() ? why_not : "its test could not be run: " + error;
    }
    judge_all();
    for (const auto& [name, client] : memory_.clients) results_.clients.push_back(client);
    write_counterexamples(root_, request_, tests_, memory_.evidence, &results_);
    keep_sites();
  }

  std::string sites_file() const { return root_ + "/suite-sites.json"; }

  // For the estimate of the next run. What an earlier one knew of other sites stays.
  void keep_sites() {
    const auto kept = read_file(sites_file());
    auto sites = parse_sites(kept.ok() ? kept.value() : "");
    for (const auto& [site, known] : memory_.sites) sites[site] = known;
    if (auto written = write_file(sites_file(), to_json(sites)); !written)
      results_.notes.push_back("the next estimate does not know the clients: " +
                               written.error().message);
  }

  // All executions are over: what faults surface as is known.
  void judge_all() {
    std::vector<retries::Suspect> suspects;
    std::vector<retries::Label> labels;
    std::vector<size_t> positions;
    for (auto& [at, evidence] : memory_.evidence) {
      FaultRow& row = results_.faults[at];
      retries::OracleOptions options = oracle_options(request_.config);
      options.any_exception_is_a_bug =
          request_.config.retries.strict_system_tests && is_system_test(request_.config, row.test);
      const retries::Verdict verdict = retries::judge(evidence.outcome, evidence.record,
                                                      evidence.groups, memory_.surfaces, options);
      retries::Suspect suspect{row.test, row.policy, row.site, evidence.outcome, verdict};
      const retries::Label label = retries::label(
          suspect, evidence.record,
          evidence.outcome.group ? &evidence.groups[*evidence.outcome.group] : nullptr);
      row.oracle = verdict.oracle;
      row.evidence = verdict.evidence;
      row.label = retries::is_bug(verdict.oracle) ? label : retries::Label{};
      if (retries::is_bug(verdict.oracle) && evidence.outcome.group) {
        const retries::RetryGroup& faulted = evidence.groups[*evidence.outcome.group];
        row.calls = retries::calls_since(evidence.record, faulted);
        row.library_says = retries::said_of_retries(evidence.record, faulted);
      }
      suspects.push_back(std::move(suspect));
      labels.push_back(label);
      positions.push_back(at);
    }
    for (retries::Cluster& found :
         retries::cluster(suspects, labels, oracle_options(request_.config))) {
      for (size_t& member : found.members) member = positions[member];
      ClusterRow row;
      const FaultRow& first = results_.faults[found.members.front()];
      row.test = first.test;
      row.policy = first.policy;
      row.cluster = std::move(found);
      results_.clusters.push_back(std::move(row));
    }
  }

  const SessionRequest& request_;
  const SuiteRequest& own_;
  const Clock::time_point began_ = Clock::now();
  std::optional<Clock::time_point> replays_end_;
  Round round_ = Round::kReference;
  size_t turn_ = 0, turns_ = 0;
  SuiteMemory memory_;
  mutable std::mutex mutex_;  // guards the map of tests, and sums of seconds
  std::map<std::string, SuiteTest> tests_;
  retries::SuiteResults results_;
  std::vector<retries::Policy> policies_;
  std::string plan_error_;
  std::string root_;
};

}  // namespace

std::unique_ptr<Mode> make_suite_mode(const SessionRequest& request) {
  return std::make_unique<SuiteMode>(request);
}

}  // namespace filibuster
