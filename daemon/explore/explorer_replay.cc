// One execution with given faults (a replay) or with none (a trace). A replay also finds its RPCs in a
// program that was edited.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/explore/explorer.h"
#include "daemon/explore/stable_identities.h"
#include "daemon/report/finding_text.h"
#include "daemon/retries/answer_templates.h"

namespace filibuster {
namespace {

using Clock = std::chrono::steady_clock;

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

}  // namespace

// The same faults, at the RPCs that have these stable identities in the program as it is now. An RPC that
// is made only under other faults of the list is looked for once these are injected. nullopt: an RPC is
// not there, or cannot be told from others.
Result<std::optional<std::vector<InjectedFault>>> Explorer::find_again(
    const std::vector<InjectedFault>& faults) {
  using Found = std::optional<std::vector<InjectedFault>>;
  std::vector<InjectedFault> found, left = faults;
  while (!left.empty()) {
    const auto plan = plan_for(found);
    if (!plan) return plan.error();
    const auto tried = attempt(plan.value());
    if (!tried) return tried.error();
    if (tried->result.stopped || !tried->judgement.plan_met) return Found();
    const StableIdentities identities(tried->result.record, config_.nondeterminism);
    const RpcsById rpcs = rpcs_by_id(tried->result.record);
    std::vector<InjectedFault> missing;
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
  std::vector<InjectedFault> out;
  for (const InjectedFault& fault : faults) {
    out.push_back(*std::find_if(found.begin(), found.end(), [&](const InjectedFault& one) {
      return one.stable.identity == fault.stable.identity && one.identity() == fault.identity();
    }));
  }
  return Found(std::move(out));
}

void Explorer::tell_where(const std::vector<InjectedFault>& then,
                          const std::vector<InjectedFault>& now) {
  std::string text =
      "the program is not as it was when this was found; the same calls were found in it:";
  for (size_t i = 0; i < now.size(); ++i) {
    text += "\n  " + call_text(now[i], " ") + ", at " +
            (now[i].call_site.empty() ? "a call site that is not known" : now[i].call_site);
    if (then[i].call_site != now[i].call_site) text += ", then at " + then[i].call_site;
  }
  warn(text);
}

Result<std::vector<PlannedRpcFault>> Explorer::plan_for(
    const std::vector<InjectedFault>& faults) const {
  std::vector<PlannedRpcFault> plan;
  for (const InjectedFault& fault : faults) {
    // The text of a fault leaves out body and headers, message and details: these are taken from the
    // configuration. A counterexample from before faults had keys has the text only.
    std::optional<FaultSpec> spec;
    if (!fault.answer.empty()) {
      // Of `filibuster suite`: the service's own error document.
      auto parsed = parse_fault(fault.fault);
      if (!parsed) return parsed.error();
      spec = retries::attempts_as_template_says(parsed.value(), fault.answer);
    }
    // A policy of the configuration may have an answer of its own.
    for (const PolicyConfig& policy : config_.retries.policies) {
      if (!spec && !fault.key.empty() && fault_key(policy.attempts) == fault.key)
        spec = policy.attempts;
    }
    for (const FaultRule& rule : config_.faults) {
      for (const FaultSpec& candidate : rule.inject) {
        const bool same = fault.key.empty() ? to_text(candidate) == fault.fault
                                            : fault_key(candidate) == fault.key;
        if (!spec && same) spec = candidate;
      }
    }
    if (!spec && !fault.key.empty()) {
      return Error{"the configuration has no fault " + fault_text(fault) + " with the " +
                   std::string(fault.fault.starts_with("grpc")    ? "message and details"
                               : fault.fault.starts_with("redis") ? "message"
                                                                  : "body and headers") +
                   " of this counterexample (" + fault.key + ")"};
    }
    if (!spec) {
      auto parsed = parse_fault(fault.fault);
      if (!parsed) return parsed.error();
      spec = std::move(parsed).value();
    }
    plan.push_back(plan_fault(fault, *spec));
  }
  return plan;
}

Exploration Explorer::run_once(const std::vector<InjectedFault>& recorded) {
  const auto began = Clock::now();
  const auto work = [&]() -> Result<void> {
    session_.sink({{"type", "session"}, {"test", test_.name}, {"resumed", false}});
    if (auto made = make_run(); !made) return made;
    std::vector<InjectedFault> faults = recorded;
    const auto plan = plan_for(faults);
    if (!plan) return plan.error();
    auto tried = attempt(plan.value());
    if (!tried) return tried.error();
    if (!faults.empty() && !tried->judgement.plan_met && !tried->result.stopped) {
      auto again = find_again(faults);
      if (!again) return again.error();
      if (again.value()) {
        tell_where(faults, *again.value());
        faults = std::move(*again.value());
        const auto moved = plan_for(faults);
        if (!moved) return moved.error();
        tried = attempt(moved.value());
        if (!tried) return tried.error();
      }
    }
    if (faults.empty()) {
      warn_of_services_without_agent(tried->result.record);
      note_calls_without_end(tried->result.record);
    }
    exploration_.stopped = tried->result.stopped;
    TestReport& report = exploration_.report;
    report.reference = tried->result.record.rpcs;
    report.reference_seconds = tried->result.seconds;
    report.counts.executed = 1;
    report.finished = !exploration_.stopped;
    Execution execution;
    execution.test = test_.name;
    execution.number = tried->result.record.execution;
    execution.faults = faults;
    note_delivery(tried->result.record, &execution.faults);
    if (tried->judgement.plan_met) evidence_.see_refusals(tried->result.record);
    execution.verdict = tried->judgement.verdict;
    execution.detail = tried->judgement.detail;
    execution.seconds = tried->result.seconds;
    // Without faults, a failed test is a failure even if the record is incomplete: missing an RPC
    // makes no test fail.
    const auto& exit = tried->result.exit;
    if (faults.empty() && is_inconclusive(execution.verdict) && exit && !exit->success()) {
      execution.verdict = Verdict::kFailed;
      execution.detail = to_text(*exit) + "; not all of it was seen: " + execution.detail;
    }
    if (is_failure(execution.verdict)) {
      execution.output = with_service_logs(tried->output, tried->result);
      findings_.add(execution);
    } else if (execution.verdict != Verdict::kPassed) {
      report.skipped.push_back({"execution " + to_line(faults), execution.detail});
    }
    if (report.reference.empty()) {
      const std::string test = "test '" + test_.name + "'";
      if (execution.verdict == Verdict::kFailed) {
        return Error{test + " failed (" + execution.detail + ") before any RPC was seen" +
                     quoted_output(execution.output)};
      }
      return Error{"no RPC was seen in " + test + evidence_.no_rpc_hint()};
    }
    return {};
  }();
  if (!work.ok()) exploration_.error = work.error();
  const search::SearchCounts counts = exploration_.report.counts;
  finish_report();
  exploration_.report.counts = counts;
  exploration_.report.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return std::move(exploration_);
}

}  // namespace filibuster
