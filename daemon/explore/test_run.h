// The executions of one test on one lane. A TestRun repeats what has to be repeated (an execution that
// met connections of before the session, or that has no conclusion), judges each execution, and knows
// the time limit of the test. It schedules nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/explore/suspects.h"
#include "daemon/lane/execution_runner.h"
#include "daemon/lane/lane.h"
#include "daemon/lane/lane_set.h"
#include "daemon/lane/service_descriptors.h"
#include "daemon/observe/judgement.h"
#include "daemon/report/baseline.h"

namespace filibuster {

namespace principled {
class BlockChannel;
}

// What the tests of a session count together, also those that are explored at the same time.
struct SessionCounters {
  std::atomic<uint32_t> next_execution = 1;  // the number of the next execution
  std::mutex counterexamples;                // held while a counterexample file gets its number
  std::atomic<bool> looked_elsewhere =
      false;  // for programs that are meant (warn_of_programs_elsewhere)
};

// What the explorations of a session share. Those that run at the same time have copies of their own.
struct SessionContext {
  const Config& config;
  const std::string& config_text;
  EventSink sink;
  // Called after each execution. Reads the arguments of gRPC calls, and keeps the record for GET /v1/trace.
  std::function<void(ExecutionRecord*)> on_record;
  const ServiceDescriptors* descriptors;
  SessionCounters& counters;
  bool restart = false;  // forget an interrupted session
  // The live page (docs/page.md). Null: there is none.
  std::function<bool()> page_is_wanted = {};
  std::function<void(TestReport)> offer_page = {};
  // What is executed next, for who looks at the session while it runs. Null: nobody does.
  std::function<void(std::string what)> tries = {};
  Baseline baseline = {};  // accepted findings do not count for stop_at_first
  std::string day = {};    // with which the baseline is compared
  // No execution of the running test begins after this time. With it, what is likelier to fail comes
  // first.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  Suspects suspects = {};
  uint32_t lanes = 1;
  LaneSet* further_lanes = nullptr;  // null: there is lane 0 only
  // Every lane is compared with lane 0, also where the search does not need it.
  bool compare_lanes = false;
  // At which programs of structured tests ask what they are to do. Null: nobody asks.
  principled::BlockChannel* blocks = nullptr;

  void warn(const std::string& text) const;
};

// Once in a session, after an execution without faults: names the programs that may be those for which it waits.
void warn_of_programs_elsewhere(const SessionContext& session, const Lane& lane);

// One execution, judged.
struct Attempt {
  ExecutionResult result;
  Judgement judgement;
  std::string
      output;  // the test's last lines, if it failed (the runner has those of its last run only)
  int number = 1;           // the how-manieth execution of this plan
  PortMap ports;            // the automatic ones of the lane on which it ran
  bool runs_again = false;  // it is inconclusive, and another one follows
};

// The last lines of a test, for the end of an error.
std::string quoted_output(const std::string& output);
// What the test wrote, and the last lines of the services that ended.
std::string with_service_logs(std::string output, const ExecutionResult& result);

// How long an injected silence lasts at most, for a test that takes that long without faults.
std::chrono::milliseconds hang_limit_of(const BoundsConfig& bounds, double reference_seconds);

class TestRun {
 public:
  // Called with each execution, those that run again among them.
  using Observer = std::function<void(const Attempt&)>;

  // All arguments must outlive the run. `config` may be a changed copy of the session's. Error: the
  // test's command or environment cannot be made.
  static Result<std::unique_ptr<TestRun>> make(SessionContext* session, Lane* lane,
                                               const TestConfig& test, const Config& config);

  // Runs the test without faults until it is settled: what was under way when the session began is
  // over, or is left out as it is.
  Result<Attempt> reference(const Observer& observer);
  // Runs the test with the faults of `plan`. An inconclusive execution is repeated once, and once more if
  // it has not settled. `more_time` is added to the time limit. Only the first execution starts as `start` says; `first` is one
  // that has run already.
  Result<Attempt> attempt(const std::vector<PlannedRpcFault>& plan, const Observer& observer,
                          std::chrono::milliseconds more_time = std::chrono::milliseconds(0),
                          TestStarter::Start start = TestStarter::Start::kPlain,
                          std::optional<Attempt> first = std::nullopt);
  // For the thread of a lane (lane_pool.h): one execution, not judged, and nobody is told of it.
  Result<Attempt> execute_once(const std::vector<PlannedRpcFault>& plan, TestStarter::Start start);
  // Plain executions without faults until the lane has settled; the last one.
  Result<Attempt> settle();
  // Why nothing can be said on the ground of this reference execution. `what` names the execution:
  // "the reference execution of test 'checkout' ".
  std::optional<Error> why_unusable(const std::string& what, const Attempt& reference) const;

  // The duration from which the time limit of the executions that follow is derived.
  void set_reference_seconds(double seconds) { reference_seconds_ = seconds; }
  // While calls come, an execution under faults may take so long (TimeLimit).
  void set_while_calls_come(std::chrono::milliseconds most) { while_calls_come_ = most; }
  // Of the reference execution.
  const retries::ActCounts& usual_acts() const { return usual_acts_; }
  void set_usual_acts(retries::ActCounts acts) { usual_acts_ = std::move(acts); }
  double reference_seconds() const { return reference_seconds_; }
  TestStarter& starter() { return runner_.starter(); }
  std::chrono::milliseconds limit() const;
  // What keeps the test's own program from being interposed, a line each.
  const std::vector<std::string>& obstacles() const { return runner_.obstacles(); }

 private:
  TestRun(SessionContext* session, Lane* lane, const TestConfig& test, const Config& config,
          ExecutionRunner runner);
  Result<Attempt> execute(const std::vector<PlannedRpcFault>& plan, int number,
                          const TimeLimit& limit, TestStarter::Start start);

  SessionContext* session_;
  Lane* lane_;
  const TestConfig& test_;
  const Config& config_;
  ExecutionRunner runner_;
  KeptConnections kept_connections_;
  double reference_seconds_ = 0;
  std::chrono::milliseconds while_calls_come_{0};
  retries::ActCounts usual_acts_;
};

}  // namespace filibuster
