// Runs one execution: hook, plan, test process, quiescence, what was seen, hook. Judges nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/agents/agent_hub.h"
#include "daemon/base/phases.h"
#include "daemon/lane/service_logs.h"
#include "daemon/lane/services.h"
#include "daemon/lane/test_starter.h"
#include "daemon/lane/time_limit.h"

namespace filibuster {

struct ExecutionResult {
  ExecutionRecord record;
  std::optional<ExitStatus> exit;  // of the test; nullopt: it was killed (limit, stop)
  pid_t pid = 0;                   // of the test's own process
  bool timed_out = false;
  bool stopped = false;           // the session was asked to end: no conclusion
  std::vector<ServiceEnd> ended;  // services that ended during it
  std::vector<ServiceEnd>
      ended_before;          // services that ended between the last execution and this one
  double seconds = 0;        // of the test process, start to end
  Phases phases;             // without the daemon's own
  double limit_seconds = 0;  // the test's time limit, by AgentHub::patient_now
  std::vector<ServiceWrote>
      wrote;  // into their logs, by service; of a test that failed, or in which a service ended
  // What the test's runner says of a test that ended well without having run: "skipped: needs a network".
  std::string not_run;
};

class ExecutionRunner {
 public:
  // All arguments must outlive the runner. Error: the test's command or environment cannot be made.
  static Result<ExecutionRunner> create(const Config& config, const TestConfig& test,
                                        const SessionLane& lane, AgentHub* hub, Services* services,
                                        OwnedProcesses* owned);

  // Error: the environment is broken (a service does not start again, a hook fails, the test's
  // program is not found): exploring on would conclude nothing.
  Result<ExecutionResult> run(uint32_t number, const std::vector<PlannedRpcFault>& plan,
                              const TimeLimit& limit,
                              TestStarter::Start start = TestStarter::Start::kPlain);
  // The same, with `body` in the place of the test process. It is called when the execution has begun, and sets `exit`, if there is
  // one. Its Error ends the execution, and is returned.
  using Body = std::function<Result<void>(ExecutionResult*)>;
  Result<ExecutionResult> run_body(uint32_t number, const std::vector<PlannedRpcFault>& plan,
                                   const Body& body);
  // A process of the test: with its environment, and its folder. Error: the command cannot be made.
  Result<SpawnOptions> spawn_options(const Command& command) const;

  // From now on there is an execution at any time, so that whatever a service calls has a cause that is told: behind each one that was
  // asked for another one begins, whose number is the next one, and none of them has a plan. leave() ends it.
  void stay() { stays_ = true; }
  void leave();

  TestStarter& starter() { return starter_; }
  // The test's own last lines, for reports.
  std::string output() const;

  // Obstacles of the test's own program, for warnings.
  const std::vector<std::string>& obstacles() const { return obstacles_; }

 private:
  ExecutionRunner(const Config& config, const TestConfig& test, const SessionLane& lane,
                  AgentHub* hub, Services* services, OwnedProcesses* owned)
      : config_(&config),
        test_(&test),
        lane_(&lane),
        hub_(hub),
        services_(services),
        owned_(owned) {}
  Result<void> run_hook(const char* name, const Command& command, uint32_t number, int stop_fd);
  std::map<std::string, std::vector<AgentRecord>> alive_by_hand() const;
  // The services of `before` that have ended. Error: the process of one left the session and still runs.
  Result<std::vector<ServiceEnd>> ended_by_hand(
      const std::map<std::string, std::vector<AgentRecord>>& before) const;
  std::vector<std::string> suspects(const ExecutionRecord& record) const;
  void note_old_connections(const attach::OldConnections& before, ExecutionRecord* record) const;

  const Config* config_;
  const TestConfig* test_;
  const SessionLane* lane_;
  AgentHub* hub_;
  Services* services_;
  OwnedProcesses* owned_;
  Result<void> run_test(uint32_t number, const TimeLimit& limit, TestStarter::Start start,
                        ExecutionResult* result);

  SpawnOptions spawn_;  // of the test
  TestStarter starter_;
  std::vector<std::string> hook_environment_;
  std::vector<std::string> obstacles_;
  std::string log_path_;
  bool stays_ = false;
  bool is_between_ = false;  // an execution runs that nobody has asked for
};

}  // namespace filibuster
