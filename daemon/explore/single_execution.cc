#include "daemon/explore/single_execution.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "daemon/explore/executor.h"
#include "daemon/explore/exploration_report.h"
#include "daemon/explore/plan_faults.h"
#include "daemon/observe/stable_identities.h"
#include "daemon/report/finding_text.h"

namespace filibuster {
namespace {

// The fault of `then`, at `now`: the same RPC in the program as it is now.
InjectedFault moved_to(const InjectedFault& then, InjectedFault now) {
  now.fault = then.fault;
  now.key = then.key;
  now.message = then.message;
  now.as_reset = then.as_reset;
  // A number of 0 means that the calls run concurrently, so that their order says nothing.
  if (then.number == 0) now.number = 0;
  if (then.service_number == 0) now.service_number = 0;
  now.stable = then.stable;
  return now;
}

class SingleExecution {
 public:
  SingleExecution(SessionContext* session, Lane* lane, const TestConfig& test)
      : state_(session, lane, test, [this](const MaskTable& masks) { executor_.mask(masks); }),
        executor_(&state_) {}

  Exploration run(const std::vector<InjectedFault>& recorded);

 private:
  using Faults = std::vector<InjectedFault>;
  Result<void> work(Faults faults);
  Result<Attempt> attempt(Faults* faults);
  Result<std::optional<Faults>> find_again(const Faults& faults);
  void tell_where(const Faults& then, const Faults& now);
  // With what its services wrote, if it failed.
  Execution judge(const Faults& faults, const Attempt& attempt);

  ExplorationState state_;
  Executor executor_;
  bool stopped_ = false;
};

// The same faults, at the RPCs that have these stable identities in the program as it is now. An RPC that
// is made only under other faults of the list is looked for once these are injected. nullopt: an RPC is
// not there, or cannot be told from others.
Result<std::optional<SingleExecution::Faults>> SingleExecution::find_again(const Faults& faults) {
  using Found = std::optional<Faults>;
  Faults found, left = faults;
  while (!left.empty()) {
    const auto plan = plan_faults(state_.config, found);
    if (!plan) return plan.error();
    const auto tried = executor_.attempt(plan.value());
    if (!tried) return tried.error();
    if (tried->result.stopped || !tried->judgement.plan_met) return Found();
    const StableIdentities identities(tried->result.record, state_.config.nondeterminism);
    const RpcsById rpcs = rpcs_by_id(tried->result.record);
    Faults missing;
    for (const InjectedFault& fault : left) {
      const RpcRecord* rpc = identities.find(fault.stable);
      if (rpc == nullptr || rpc->injected) {
        missing.push_back(fault);
      } else {
        found.push_back(moved_to(fault, describe_for_report(rpcs, *rpc)));
      }
    }
    if (missing.size() == left.size()) return Found();
    left = std::move(missing);
  }
  // In the order of the counterexample.
  Faults out;
  for (const InjectedFault& fault : faults) {
    out.push_back(*std::find_if(found.begin(), found.end(), [&](const InjectedFault& one) {
      return one.stable.identity == fault.stable.identity && one.identity() == fault.identity();
    }));
  }
  return Found(std::move(out));
}

void SingleExecution::tell_where(const Faults& then, const Faults& now) {
  std::string text =
      "the program is not as it was when this was found; the same calls were found in it:";
  for (size_t i = 0; i < now.size(); ++i) {
    text += "\n  " + call_text(now[i], " ") + ", at " +
            (now[i].call_site.empty() ? "a call site that is not known" : now[i].call_site);
    if (then[i].call_site != now[i].call_site) text += ", then at " + then[i].call_site;
  }
  state_.session.warn(text);
}

// `*faults` become those of the program as it is now.
Result<Attempt> SingleExecution::attempt(Faults* faults) {
  const auto plan = plan_faults(state_.config, *faults);
  if (!plan) return plan.error();
  auto tried = executor_.attempt(plan.value());
  if (!tried || faults->empty() || tried->judgement.plan_met || tried->result.stopped) return tried;
  auto again = find_again(*faults);
  if (!again) return again.error();
  if (!again.value()) return tried;
  tell_where(*faults, *again.value());
  *faults = std::move(*again.value());
  const auto moved = plan_faults(state_.config, *faults);
  if (!moved) return moved.error();
  return executor_.attempt(moved.value());
}

Result<void> SingleExecution::work(Faults faults) {
  state_.session.sink({{"type", "session"}, {"test", state_.test.name}, {"resumed", false}});
  if (auto begun = executor_.begin(); !begun) return begun;
  auto tried = attempt(&faults);
  if (!tried) return tried.error();
  const ExecutionRecord& record = tried->result.record;
  if (faults.empty()) {
    state_.evidence.see_services_without_agent(record);
    state_.evidence.see_calls_without_end(record);
  }
  stopped_ = tried->result.stopped;
  TestReport& report = state_.report;
  report.reference = record.rpcs;
  report.reference_seconds = tried->result.seconds;
  report.counts.executed = 1;
  report.finished = !stopped_;
  const Execution execution = judge(faults, tried.value());
  if (is_failure(execution.verdict)) {
    state_.findings.add(execution);
  } else if (execution.verdict != Verdict::kPassed) {
    report.skipped.push_back({"execution " + to_line(faults), execution.detail});
  }
  if (!record.rpcs.empty()) return {};
  const std::string test = "test '" + state_.test.name + "'";
  if (execution.verdict == Verdict::kFailed)
    return Error{test + " failed (" + execution.detail + ") before any RPC was seen" +
                 quoted_output(execution.output)};
  return Error{"no RPC was seen in " + test + state_.evidence.no_rpc_hint()};
}

Execution SingleExecution::judge(const Faults& faults, const Attempt& attempt) {
  const ExecutionResult& result = attempt.result;
  Execution out = state_.describe(faults, attempt);
  if (attempt.judgement.plan_met) state_.evidence.see_refusals(result.record);
  // Without faults, a failed test is a failure even if the record is incomplete: missing an RPC
  // makes no test fail.
  if (faults.empty() && is_inconclusive(out.verdict) && result.exit && !result.exit->success()) {
    out.verdict = Verdict::kFailed;
    out.detail = to_text(*result.exit) + "; not all of it was seen: " + out.detail;
  }
  if (is_failure(out.verdict)) out.output = with_service_logs(attempt.output, result);
  return out;
}

Exploration SingleExecution::run(const Faults& recorded) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const Result<void> done = work(recorded);
  finish_report(&state_, {stopped_, !done.ok()});
  executor_.tell(&state_.report);
  state_.report.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  Exploration out;
  out.report = std::move(state_.report);
  if (!done.ok()) out.error = done.error();
  out.stopped = stopped_;
  return out;
}

}  // namespace

Exploration run_single_execution(SessionContext* session, Lane* lane, const TestConfig& test,
                                 const std::vector<InjectedFault>& recorded) {
  return SingleExecution(session, lane, test).run(recorded);
}

}  // namespace filibuster
