// RPCs that come in some executions only (variability.h): executions that wait for them, and those that are left out.
#include <algorithm>

#include "daemon/explore/explorer.h"

namespace filibuster {
namespace {

// So many executions without faults tell what never comes again from what comes and goes.
constexpr size_t kToTellApart = 4;

}  // namespace

// Adds reference executions where something comes in some of them only. False: stopped.
Result<bool> Explorer::tell_apart(const Nondeterminism& found, std::vector<ExecutionResult>* runs) {
  const bool any = std::any_of(found.variations.begin(), found.variations.end(),
                               [](const Variation& variation) { return variation.comes_and_goes; });
  if (!any || runs->size() >= kToTellApart) return true;
  return repeat_reference(kToTellApart, runs);
}

void Explorer::note_appearances(const ExecutionRecord& record) {
  for (const std::string& call : varies_.see(record)) evidence_.comes_again(call);
}

// Runs the job until what comes in some executions only has come. `*attempt` is the last of them.
Result<void> Explorer::wait_for_what_comes(const Dispatcher::Job& job, Attempt* attempt) {
  while (attempt->judgement.verdict == Verdict::kPlanNotMet && !attempt->result.stopped) {
    const InjectedFault* missing = varies_.did_not_come(job, attempt->result.record);
    if (missing == nullptr) return {};
    note_appearances(attempt->result.record);
    // Each of its executions was without it.
    if (varies_.misses(*missing, static_cast<uint32_t>(attempt->number))) return {};
    auto again = this->attempt(job.plan);
    if (!again) return again.error();
    *attempt = std::move(again).value();
  }
  return {};
}

Result<void> Explorer::leave_out(const Dispatcher::Job& job, const InjectedFault& missing) {
  const std::string call = describe_rpc(as_record(missing), varies_.masks());
  evidence_.did_not_come(call);
  if (auto kept = varies_.keep_appearances(); !kept) return kept;
  return dispatcher_->leave_out(job.execution.id, "it did not come");
}

// What was counted over all executions takes the place of what the first ones have said.
void Explorer::tell_appearances() {
  TestReport& report = exploration_.report;
  varies_.tell(&report);
  for (const auto& [call, reason] : evidence_.left_out()) {
    if (const std::string text = varies_.appearance_text(call); !text.empty())
      evidence_.leave_out(call, text);
  }
  for (auto& [call, reason] : report.rpcs.untested) {
    const std::string text = varies_.appearance_text(call);
    if (text.empty()) continue;
    reason = text;
    evidence_.leave_out(call, text);
  }
}

}  // namespace filibuster
