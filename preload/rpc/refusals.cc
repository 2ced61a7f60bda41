// Refusals of RPCs whose clients keep connections: which connections are to be ended before the RPC, and
// what is reported when an RPC was reset instead of refused.
#include "core/index/execution_index.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/connects.h"
#include "preload/rpc/counters.h"
#include "preload/rpc/plan.h"
#include "preload/runtimes/jvm/stack.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

// The refusal of this thread's last request, if it was injected as a reset.
struct LastReset {
  uint64_t rpc = 0;  // 0: none
  uint64_t generation = 0;
  uint32_t execution = 0;
  PlanEntry plan{};
};
constinit thread_local LastReset t_last_reset __attribute__((tls_model("initial-exec")));

uint64_t client_key(std::string_view service) {
  static constexpr uint64_t kDomain = 0x6b657074;  // "kept": the key is never that of a call site
  return fold_key(combine(combine(hash_text(own_service()), hash_text(service)), kDomain));
}

}  // namespace

bool refusal_follows(Hash128 parent_path, uint32_t execution, PlanEntry* entry) {
  const Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || a->lane->connects_planned.load(std::memory_order_relaxed) == 0) return false;
  return execution == current_execution() && lease_fresh(a->lane, now_ns()) &&
         find_refusal_to_come(a->lane, parent_path, execution, entry) == PlanLookup::kPlanned &&
         entry->reset_expected == 0;
}

bool uses_ended_connections(std::string_view service) {
  // The attached process learns of the end when its proxy passes it on, and may have sent a request by then.
  if (identity().is_proxy) return true;
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  return a == nullptr ||
         (note_site(a->lane, client_key(service), {}) & kSiteUsesEndedConnections) != 0;
}

void report_ended_connection_used(const OutgoingCall& call, std::string_view service,
                                  uint32_t plan_entry, uint32_t execution) {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || !a->issued(call.rpc, call.generation)) return;
  note_site(a->lane, client_key(service), {kSiteUsesEndedConnections, execution, false});
  if (call.execution != execution) {
    report_note("a connection that was ended in an earlier execution was used again");
    return a->lane->lost(Incomplete::kEndedConnection);
  }
  FaultFired event;
  event.rpc = call.rpc;
  event.plan_entry = plan_entry;
  event.how = static_cast<uint8_t>(FaultHow::kHitAnother);
  event.detail = "the connection that was ended for it was used by another RPC";
  emit(a, EventType::kFaultFired, call.execution, now_ns(), event);
}

void report_ended_connection_used(std::string_view service) {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || !own_process()) return;
  note_site(a->lane, client_key(service), {kSiteUsesEndedConnections, 0, false});
  report_note("a connection that was ended for a refusal was used between executions");
  a->lane->lost(Incomplete::kEndedConnection);
}

void outgoing_refused_as_reset(const OutgoingCall& call) {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || !a->issued(call.rpc, call.generation)) return;
  if (call.plan.reset_expected == 0) stop_counting(a, call.execution, call.plan);
  t_last_reset = {call.rpc, call.generation, call.execution, call.plan};
}

void forget_last_reset() {
  t_last_reset.rpc = 0;
}

bool refuse_second_attempt(Attachment* a, uint32_t execution, Hash128 parent_path, Hash128 service,
                           PlanEntry* entry) {
  LastReset& last = t_last_reset;
  if (last.rpc == 0 || last.execution != execution || !a->issued(last.rpc, last.generation) ||
      call_place(parent_path, service, Hash128{}) != last.plan.service_place ||
      !java_client_tries_again())
    return false;
  *entry = last.plan;
  FaultFired event;
  event.rpc = last.rpc;
  event.plan_entry = last.plan.id;
  event.how = static_cast<uint8_t>(FaultHow::kRefusedAfterAll);
  event.detail = "its kept connection was reset, and the second attempt of its client refused";
  emit(a, EventType::kFaultFired, execution, now_ns(), event);
  last.rpc = 0;
  if (entry->reset_expected != 0) {
    stop_counting(a, execution, *entry);
  } else {
    count_on(a->lane, execution_key(entry->place, execution));
    count_on(a->lane, execution_key(entry->service_place, execution));
  }
  return true;
}

}  // namespace filibuster::preload
