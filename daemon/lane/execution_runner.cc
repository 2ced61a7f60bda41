#include "daemon/lane/execution_runner.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/text/escapes.h"
#include "daemon/base/descriptors.h"
#include "daemon/base/fail_point.h"
#include "daemon/base/own_files.h"
#include "daemon/model/caller.h"
#include "daemon/model/environment_error.h"
#include "daemon/process/preflight.h"
#include "daemon/suite/results.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kHookLimit{60000};
constexpr milliseconds kKillLimit{5000};  // from SIGKILL to the end of the test process
constexpr milliseconds kLeavingLimit{
    2000};  // from the end of an agent's connection to that of its process
constexpr int kOutputLines = 100;
constexpr int kHookLines = 20;

// Why a test that ended well did not run; "": it ran, or its runner says nothing.
std::string why_not_run(const std::string& junit_xml) {
  const auto text = junit_xml.empty() ? Result<std::string>("") : read_file(junit_xml);
  if (!text || text->empty()) return "";
  const auto cases = suite::parse_results(text.value());
  if (!cases) return "";
  std::string why = "its runner ran no test of this name";
  for (const suite::JunitCase& one : cases.value()) {
    if (one.result != suite::CaseResult::kSkipped) return "";
    why = "its runner skipped it" + (one.message.empty() ? "" : ": " + one.message);
  }
  return why;
}

struct Times {  // CLOCK_MONOTONIC
  uint64_t asked_ns, started_ns, ended_ns, quiet_ns;
};

Phases phases_of(const ExecutionRecord& record, const Times& times) {
  const auto seconds = [](uint64_t from, uint64_t to) {
    return to > from ? static_cast<double>(to - from) / 1e9 : 0;
  };
  Phases out;
  out.prepare = seconds(times.asked_ns, times.started_ns);
  out.quiet = seconds(times.ended_ns, times.quiet_ns);
  uint64_t first_ns = 0, open_until_ns = 0;
  for (const RpcRecord& rpc : record.rpcs) {  // in order of issue
    if (rpc.caller != kTestService || rpc.issued_ns < times.started_ns) continue;
    if (first_ns == 0) first_ns = open_until_ns = rpc.issued_ns;
    const uint64_t end_ns =
        std::min(rpc.finished_ns != 0 ? rpc.finished_ns : times.ended_ns, times.ended_ns);
    out.rpcs += seconds(std::max(open_until_ns, rpc.issued_ns), end_ns);
    open_until_ns = std::max(open_until_ns, end_ns);
  }
  if (first_ns == 0) first_ns = times.ended_ns;
  out.start = seconds(times.started_ns, first_ns);
  out.test = std::max(0.0, seconds(first_ns, times.ended_ns) - out.rpcs);
  return out;
}

}  // namespace

Result<ExecutionRunner> ExecutionRunner::create(const Config& config, const TestConfig& test,
                                                const SessionLane& lane, AgentHub* hub,
                                                Services* services, OwnedProcesses* owned) {
  ExecutionRunner runner(config, test, lane, hub, services, owned);
  const auto argv = lane_command(lane, test.command);
  if (!argv) return Error{"test '" + test.name + "': " + argv.error().message};
  SpawnOptions spawn;
  spawn.argv = argv.value();
  spawn.directory = lane_directory(config, test.directory);
  runner.log_path_ = lane.log_path("test");

  const char* path = getenv("PATH");
  // The blocks of a structured test have commands of their own.
  const std::vector<ProgramCheck> checks =
      spawn.argv.empty()
          ? std::vector<ProgramCheck>()
          : check_command(spawn.argv, spawn.directory, path == nullptr ? "/usr/bin:/bin" : path);
  for (const ProgramCheck& check : checks) {
    for (const std::string& obstacle : check.obstacles) {
      runner.obstacles_.push_back("test '" + test.name +
                                  "' cannot be interposed: " + check.program + " " + obstacle +
                                  "; its calls are seen only where they arrive");
    }
  }
  auto environment =
      lane_environment(lane, "test", test.env, Interpose::kYes, preload_needs(checks));
  if (!environment) return environment.error();
  auto hook_environment = lane_environment(lane, "hook", test.env, Interpose::kNo, {});
  if (!hook_environment) return hook_environment.error();
  spawn.environment = std::move(environment).value();
  runner.hook_environment_ = std::move(hook_environment).value();
  for (auto* variables : {&spawn.environment, &runner.hook_environment_}) {
    set_variable(variables, "FILIBUSTER_URL", lane.api_url);
    set_variable(variables, "FILIBUSTER_TOKEN", lane.token);
    set_variable(variables, "FILIBUSTER_LANE", std::to_string(lane.number));
    // A test may call `filibuster was-fault-injected`, and would take 'not found' for 'no'. The folder
    // comes last in PATH, so that it hides no other program.
    const std::string known = get_variable(*variables, "PATH");
    set_variable(variables, "PATH",
                 (known.empty() ? "/usr/bin:/bin" : known) + ":" + own_directory());
  }
  runner.spawn_ = spawn;
  runner.starter_ = TestStarter(std::move(spawn), hub_folder(lane), runner.log_path_, owned);
  if (!config.resets) runner.starter_.use_no_resets();
  return runner;
}

Result<void> ExecutionRunner::run_hook(const char* name, const Command& command, uint32_t number,
                                       int stop_fd) {
  if (command.empty()) return {};
  const auto argv = lane_command(*lane_, command);
  if (!argv) return Error{std::string("hook ") + name + ": " + argv.error().message};
  SpawnOptions options;
  options.argv = argv.value();
  options.environment = hook_environment_;
  set_variable(&options.environment, "FILIBUSTER_EXECUTION", std::to_string(number));
  options.directory = config_->directory;
  options.log_path = lane_->log_path(name);
  auto process = Process::spawn(options);
  if (!process) return Error{std::string("hook ") + name + ": " + process.error().message};
  // A stop ends the hook before an execution at once. The one after it may finish (`stop_fd` is -1),
  // since it restores state.
  const auto status = process->wait(kHookLimit, stop_fd);
  if (!status) {
    process->kill_group(SIGKILL);
    process->wait(kKillLimit);
  }
  if (status && status->success()) return {};
  return Error{std::string("hook ") + name + " " +
               (status ? "failed (" + to_text(*status) + ")" : "did not end within 60 s") + "\n" +
               last_lines(options.log_path, kHookLines)};
}

// Services of the configuration that somebody else started, and that have a process with an agent.
std::map<std::string, std::vector<AgentRecord>> ExecutionRunner::alive_by_hand() const {
  std::map<std::string, std::vector<AgentRecord>> out;
  for (const AgentRecord& agent : hub_->agents()) {
    const auto by_hand = [&](const ServiceConfig& service) {
      return service.name == agent.service && service.is_by_hand() && !service.third_party;
    };
    if (agent.alive && std::any_of(config_->services.begin(), config_->services.end(), by_hand)) {
      out[agent.service].push_back(agent);
    }
  }
  return out;
}

Result<std::vector<ServiceEnd>> ExecutionRunner::ended_by_hand(
    const std::map<std::string, std::vector<AgentRecord>>& before) const {
  std::vector<ServiceEnd> out;
  const auto still = alive_by_hand();
  for (const auto& [name, agents] : before) {
    if (still.contains(name)) continue;
    for (const AgentRecord& agent : agents) {
      // The connection of a process that crashed ends a little before the process.
      if (wait_for_end(static_cast<pid_t>(agent.pid), agent.start_time, kLeavingLimit)) continue;
      return Error{
          "service '" + name + "' (pid " + std::to_string(agent.pid) +
          ", started by hand) left this session and goes on without it: start it again; the "
          "same command then goes on where this one stopped"};
    }
    out.push_back({name, {}, "", true});
  }
  return out;
}

// Services on which a connection broke although no fault of ours broke it.
std::vector<std::string> ExecutionRunner::suspects(const ExecutionRecord& record) const {
  std::vector<std::string> out;
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpc.injected || rpc.open) continue;
    if (rpc.outcome == RpcOutcome::kReset || rpc.outcome == RpcOutcome::kClosed ||
        rpc.outcome == RpcOutcome::kRefused) {
      out.push_back(rpc.received_by.empty() ? rpc.service : rpc.received_by);
    }
  }
  return out;
}

// Requests that nobody saw, since they went over connections that are older than the session.
void ExecutionRunner::note_old_connections(const attach::OldConnections& before,
                                           ExecutionRecord* record) const {
  const attach::OldConnections now = services_->old_connections();
  for (const auto& [service, writes] : now.writes) {
    const auto known = before.writes.find(service);
    const uint64_t then = known == before.writes.end() ? 0 : known->second;
    if (writes > then)
      record->unseen.push_back({service, "", "", writes - then, /*attached=*/true});
  }
  // It is repeated, and some of these may be about to end by then: the server has told its client so (GOAWAY).
  if (!record->unseen.empty()) return;
  const std::string reason(reason_name(NotInterposedReason::kOpenBefore));
  for (const attach::OldConnections::Staying& row : now.staying) {
    record->not_interposed.push_back({row.service, row.address,
                                      row.outgoing ? services_->service_at(row.address) : "",
                                      reason, row.outgoing, row.count});
  }
}

Result<SpawnOptions> ExecutionRunner::spawn_options(const Command& command) const {
  const auto argv = lane_command(*lane_, command);
  if (!argv) return Error{"test '" + test_->name + "': " + argv.error().message};
  SpawnOptions out = spawn_;
  out.argv = argv.value();
  out.log_path = log_path_;
  return out;
}

Result<void> ExecutionRunner::run_test(uint32_t number, const TimeLimit& limit,
                                       TestStarter::Start start, ExecutionResult* result) {
  std::error_code ignored;
  if (!test_->junit_xml.empty()) std::filesystem::remove(test_->junit_xml, ignored);
  auto test = starter_.start(number, start, limit.time, lane_->wake_fd);
  if (!test) {
    return with_remedy("test '" + test_->name + "' does not start: " + test.error().message,
                       "correct its `command` or its `directory` in the configuration");
  }
  RunningTest& running = *test.value();
  result->pid = running.pid();
  owned_->add("test", running.pid(), running.start_time());
  fail_point("executing");
  const auto began = hub_->patient_now();
  milliseconds whole = limit.time, left = whole;
  while (left > milliseconds(0) && !result->exit && !is_readable(lane_->wake_fd)) {
    result->exit = running.wait(left, lane_->wake_fd);
    const auto taken = hub_->patient_now() - began;
    left = std::chrono::ceil<milliseconds>(whole - taken);
    if (left > milliseconds(0) || result->exit || whole >= limit.while_calls_come) continue;
    left = more_time(limit, whole, hub_->snapshot(StackLines::kOfInjected), clock_ns());
    whole += left;
  }
  result->limit_seconds = std::chrono::duration<double>(whole).count();
  if (!result->exit) {
    result->stopped = is_readable(lane_->wake_fd);
    result->timed_out = !result->stopped;
    running.kill();
  }
  if (result->exit && result->exit->success()) result->not_run = why_not_run(test_->junit_xml);
  owned_->forget(running.pid());
  return {};
}

Result<ExecutionResult> ExecutionRunner::run(uint32_t number,
                                             const std::vector<PlannedRpcFault>& plan,
                                             const TimeLimit& limit, TestStarter::Start start) {
  return run_body(number, plan,
                  [&](ExecutionResult* result) { return run_test(number, limit, start, result); });
}

Result<ExecutionResult> ExecutionRunner::run_body(uint32_t number,
                                                  const std::vector<PlannedRpcFault>& plan,
                                                  const Body& body) {
  const uint64_t asked_ns = clock_ns();
  auto ready = services_->prepare_execution();
  if (!ready) return ready.error();
  // The hook runs before the execution begins, so that what it does to the services is not part of it.
  if (auto hook =
          run_hook("before_execution", config_->hooks.before_execution, number, lane_->wake_fd);
      !hook) {
    if (!is_readable(lane_->wake_fd)) return hook.error();
    ExecutionResult nothing;
    nothing.stopped = true;
    return nothing;
  }
  if (std::exchange(is_between_, false)) {
    hub_->next_execution(number);
  } else if (auto begun = hub_->begin_execution(number, plan); !begun) {
    return begun.error();
  }
  fail_point("planned");

  ExecutionResult result;
  result.ended_before = std::move(ready).value();
  const auto by_hand = alive_by_hand();
  const attach::OldConnections before = services_->old_connections();
  ServiceLogs logs(*config_, *lane_);
  logs.begin();
  const auto started = Clock::now();
  const uint64_t started_ns = clock_ns();
  if (auto done = body(&result); !done) {
    hub_->end_execution();
    return done.error();
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  fail_point("executed");
  const uint64_t ended_ns = clock_ns();
  const bool quiescent =
      hub_->wait_quiescent(result.stopped ? milliseconds(0) : config_->bounds.quiesce_timeout);
  is_between_ = stays_;
  result.record = stays_ ? hub_->next_execution(number + 1) : hub_->end_execution();
  if (!quiescent) result.record.quiescent = false;
  for (std::string& why : services_->unanswered_by_stubs())
    result.record.notes.push_back(std::move(why));
  note_old_connections(before, &result.record);
  result.phases = phases_of(result.record, {asked_ns, started_ns, ended_ns, clock_ns()});
  owned_->keep_orphans();
  result.ended = services_->take_ended(suspects(result.record));
  if (!result.exit || !result.exit->success() || !result.ended.empty()) result.wrote = logs.since();
  if (auto attached = services_->check_attached(); !attached) return attached.error();
  auto gone = ended_by_hand(by_hand);
  if (!gone) return gone.error();
  result.ended.insert(result.ended.end(), gone->begin(), gone->end());
  if (auto hook = run_hook("after_execution", config_->hooks.after_execution, number, -1); !hook) {
    return hook.error();
  }
  return result;
}

void ExecutionRunner::leave() {
  if (std::exchange(is_between_, false)) hub_->end_execution();
}

std::string ExecutionRunner::output() const {
  std::string out = without_escapes(last_lines(log_path_, kOutputLines));
  const auto xml = test_->junit_xml.empty() ? Result<std::string>("") : read_file(test_->junit_xml);
  if (!xml || xml->empty()) return out;
  // Some runners write what failed into their results alone.
  const auto cases = suite::parse_results(xml.value());
  const std::string failed = cases ? suite::failed_cases_text(cases.value(), out) : "";
  return failed.empty() || out.empty() || out.ends_with('\n') ? out + failed : out + "\n" + failed;
}

}  // namespace filibuster
