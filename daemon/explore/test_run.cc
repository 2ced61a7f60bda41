#include "daemon/explore/test_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/lane/programs_elsewhere.h"
#include "daemon/model/environment_error.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;

// What was under way when the session began settles within these.
constexpr int kReferenceAttempts = 3;
constexpr int kAttempts = 2;
// While connections from before the session are retired: one execution finds them, their clients are
// told to open others, and those are followed.
constexpr int kUntilSettled = 3;
// The client of an attached service may have a pool of such connections. Each execution that uses some of them ends these.
constexpr int kUntilPoolIsNew = 50;
constexpr milliseconds kReferenceLimit{600000};  // for a test whose duration is not known yet
constexpr milliseconds kLeastTestLimit{10000};
// Above 5 s: many clients have a timeout of 5 s, which must fire before the silence ends.
constexpr milliseconds kLeastHangLimit{6000};

int most_attempts(const ExecutionRecord& record, int usual) {
  return uses_old_connections(record) ? kUntilPoolIsNew : usual;
}

}  // namespace

std::string quoted_output(const std::string& output) {
  return output.empty() ? "\n(it wrote nothing)" : "\nits last lines:\n" + output;
}

std::string with_service_logs(std::string output, const ExecutionResult& result) {
  for (const ServiceEnd& end : result.ended) {
    if (end.output.empty()) continue;
    output += (output.empty() ? "" : "\n") + std::string("--- last lines of ") + end.name +
              " ---\n" + end.output;
  }
  return output;
}

milliseconds hang_limit_of(const BoundsConfig& bounds, double reference_seconds) {
  return bounds.hang_limit.value_or(
      std::max(kLeastHangLimit, milliseconds(static_cast<int64_t>(3000 * reference_seconds))));
}

void SessionContext::warn(const std::string& text) const {
  sink({{"type", "warning"}, {"text", text}});
}

void warn_of_programs_elsewhere(const SessionContext& session, const Lane& lane) {
  if (lane.place().number != 0 || session.counters.looked_elsewhere.exchange(true)) return;
  for (const std::string& text :
       who_may_be_meant(attach::Proc(), session.config, lane.hub().agents()))
    session.warn(text);
}

TestRun::TestRun(SessionContext* session, Lane* lane, const TestConfig& test, const Config& config,
                 ExecutionRunner runner)
    : session_(session), lane_(lane), test_(test), config_(config), runner_(std::move(runner)) {}

Result<std::unique_ptr<TestRun>> TestRun::make(SessionContext* session, Lane* lane,
                                               const TestConfig& test, const Config& config) {
  auto runner = ExecutionRunner::create(config, test, lane->place(), &lane->hub(),
                                        &lane->services(), &lane->owned());
  if (!runner) return runner.error();
  std::unique_ptr<TestRun> run(new TestRun(session, lane, test, config, std::move(runner).value()));
  for (const std::string& obstacle : run->obstacles()) session->warn(obstacle);
  return run;
}

milliseconds TestRun::limit() const {
  if (test_.timeout) return *test_.timeout;
  if (config_.bounds.test_timeout) return *config_.bounds.test_timeout;
  if (reference_seconds_ <= 0) return kReferenceLimit;
  return std::max(kLeastTestLimit, milliseconds(static_cast<int64_t>(10000 * reference_seconds_)));
}

Result<Attempt> TestRun::execute(const std::vector<PlannedRpcFault>& plan, int number,
                                 const TimeLimit& limit, TestStarter::Start start) {
  auto result = runner_.run(session_->counters.next_execution++, plan, limit, start);
  if (!result) return result.error();
  Attempt out;
  out.result = std::move(result).value();
  out.number = number;
  out.ports = lane_->place().automatic_ports;
  kept_connections_.leave_out(&out.result.record);
  return out;
}

Result<Attempt> TestRun::execute_once(const std::vector<PlannedRpcFault>& plan,
                                      TestStarter::Start start) {
  auto run = execute(plan, 1, {limit()}, start);
  if (run) run->output = runner_.output();
  return run;
}

Result<Attempt> TestRun::settle() {
  for (int number = 1;; ++number) {
    auto run = execute({}, number, {limit()}, TestStarter::Start::kPlain);
    if (!run || run->result.stopped) return run;
    Attempt attempt = std::move(run).value();
    const bool settled = is_settled(attempt.result.record);
    if (!settled && number < most_attempts(attempt.result.record, kReferenceAttempts)) continue;
    if (!settled) kept_connections_.settle_as_it_is(&attempt.result.record);
    lane_->hub().freeze_names();
    return attempt;
  }
}

Result<Attempt> TestRun::reference(const Observer& observer) {
  for (int number = 1;; ++number) {
    auto run = execute({}, number, {limit()}, TestStarter::Start::kPlain);
    if (!run || run->result.stopped) return run;
    Attempt attempt = std::move(run).value();
    attempt.runs_again = !is_settled(attempt.result.record) &&
                         number < most_attempts(attempt.result.record, kReferenceAttempts);
    if (!attempt.runs_again) kept_connections_.settle_as_it_is(&attempt.result.record);
    session_->on_record(&attempt.result.record);
    lane_->hub().freeze_names();
    attempt.judgement = judge(attempt.result, {});
    if (is_failure(attempt.judgement.verdict)) attempt.output = runner_.output();
    if (!attempt.runs_again) warn_of_programs_elsewhere(*session_, *lane_);
    observer(attempt);
    if (!attempt.runs_again) return attempt;
  }
}

Result<Attempt> TestRun::attempt(const std::vector<PlannedRpcFault>& plan, const Observer& observer,
                                 milliseconds more_time, TestStarter::Start start,
                                 std::optional<Attempt> first) {
  std::vector<PlannedRpcFault> planned = plan;
  for (int number = 1;; ++number) {
    const bool is_there = number == 1 && first.has_value();
    auto run = is_there ? Result<Attempt>(std::move(*first))
                        : execute(planned, number, {limit() + more_time, while_calls_come_},
                                  number == 1 ? start : TestStarter::Start::kPlain);
    if (!run) return run.error();
    Attempt attempt = std::move(run).value();
    session_->on_record(&attempt.result.record);
    attempt.judgement = judge(attempt.result, planned, config_.retries.mutations, usual_acts_);
    if (!is_failure(attempt.judgement.verdict)) {
      attempt.output.clear();
    } else if (!is_there) {
      attempt.output = runner_.output();
    }
    const int most = is_settled(attempt.result.record)
                         ? kAttempts
                         : most_attempts(attempt.result.record, kUntilSettled);
    attempt.runs_again =
        !attempt.result.stopped && is_inconclusive(attempt.judgement.verdict) && number < most;
    if (plan.empty() && !attempt.runs_again) warn_of_programs_elsewhere(*session_, *lane_);
    observer(attempt);
    if (!attempt.runs_again) return attempt;
    if (attempt.result.record.names_changed) lane_->hub().freeze_names();
    // A client that opens connections in the background issues no call after its connection was ended
    // for a planned refusal. The next attempt ends no connection, and resets the call instead.
    if (!attempt.judgement.not_issued) continue;
    for (PlannedRpcFault& row : planned) {
      row.reset_expected = row.reset_expected || row.fault.kind == FaultKind::kRefused;
    }
  }
}

std::optional<Error> TestRun::why_unusable(const std::string& what,
                                           const Attempt& reference) const {
  const Judgement& judgement = reference.judgement;
  if (judgement.verdict == Verdict::kIncomplete)
    return Error{what + "is incomplete: " + judgement.detail};
  if (is_failure(judgement.verdict)) {
    std::string text = what + "fails without any fault (" + judgement.detail +
                       "), so nothing can be concluded from faults" +
                       quoted_output(reference.output);
    for (const ServiceEnd& end : reference.result.ended) {
      text += "\nlast lines of " + end.name + ":" +
              (end.output.empty() ? " (none)" : "\n" + end.output);
    }
    return with_remedy(std::move(text),
                       "let the test pass without faults first, by itself and against the same "
                       "services; `filibuster trace` shows which calls it makes");
  }
  return std::nullopt;
}

}  // namespace filibuster
