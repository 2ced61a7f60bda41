#include "preload/rpc/consult.h"

#include "core/fault/fault.h"
#include "preload/rpc/plan.h"

namespace filibuster::preload {
namespace {

// The plan belongs to the execution that runs now: it is not for what is late, nor for what began in the one before.
bool plan_is_of(const LaneMemory* lane, const OutgoingCall& call) {
  return lane->execution.load(std::memory_order_acquire) == call.execution &&
         lane->state.load(std::memory_order_acquire) ==
             static_cast<uint32_t>(LaneState::kExecuting);
}

void plan_is_unreadable(Attachment* a) {
  report_note(incomplete_text(Incomplete::kPlan));
  a->lane->lost(Incomplete::kPlan);
}

// `call->plan` is what the RPC gets.
void take_fault(const LaneMemory* lane, OutgoingCall* call) {
  if (!lease_fresh(lane, now_ns())) {
    report_fault(*call, FaultHow::kLeaseExpired, "the daemon's lease is older than 1 s");
    return;
  }
  if (static_cast<FaultKind>(call->plan.kind) == FaultKind::kTls) {
    report_fault(*call, FaultHow::kNotInjected, kOpenedNoConnection);
    return;
  }
  call->faulted = true;
}

// The RPC is an attempt of a call for which a sequence is planned.
void take_attempt(Attachment* a, OutgoingCall* call) {
  AttemptOutcome outcome = attempt_outcome(a->lane, call->attempt);
  if (!outcome.readable) return plan_is_unreadable(a);
  call->plan = outcome.entry;
  if (static_cast<FaultKind>(call->plan.kind) != FaultKind::kNone) return take_fault(a->lane, call);
  report_fault(*call, FaultHow::kAttemptPasses, "");
}

// A fault may be armed for any call of this edge, also for one whose cause is not known: it is not told apart from others.
void take_arm(Attachment* a, OutgoingCall* call, const EdgeView& edge) {
  if (a->lane->arms_planned.load(std::memory_order_relaxed) == 0 || !plan_is_of(a->lane, *call))
    return;
  const std::array<Hash128, kEdgesOfCall> edges = edges_of(edge);
  switch (take_armed(a->lane, edges, call->execution, &call->plan)) {
    case PlanLookup::kAbsent:
      return;
    case PlanLookup::kUnreadable:
      return plan_is_unreadable(a);
    case PlanLookup::kPlanned:
      return take_fault(a->lane, call);
  }
}

}  // namespace

void consult_plan(Attachment* a, OutgoingCall* call, const AttemptIdentity& identity,
                  const EdgeView& edge) {
  LaneMemory* lane = a->lane;
  if (lane->plan_count == 0) return;
  if (sequences_are_planned(lane) && plan_is_of(lane, *call)) {
    call->attempt = further_attempt(lane, call->execution, identity);
    if (call->attempt.group != 0) return take_attempt(a, call);
  }
  switch (find_planned(lane, call->index, &call->plan)) {
    case PlanLookup::kAbsent:
      return take_arm(a, call, edge);
    case PlanLookup::kUnreadable:
      return plan_is_unreadable(a);
    case PlanLookup::kPlanned:
      break;
  }
  if (!plan_is_of(lane, *call)) return;
  if (static_cast<FaultKind>(call->plan.kind) != FaultKind::kAttempts)
    return take_fault(lane, call);
  call->attempt = first_attempt(lane, call->plan, call->execution, identity);
  if (call->attempt.group != 0) return take_attempt(a, call);
  report_fault(*call, FaultHow::kNotInjected,
               "its sequence has begun at another RPC that has its index");
}

}  // namespace filibuster::preload
