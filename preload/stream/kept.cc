#include "preload/stream/kept.h"

#include "core/fault/fault.h"
#include "core/index/execution_index.h"
#include "preload/os/raw_syscall.h"
#include "preload/stream/registry.h"

namespace filibuster::preload {
namespace {

void end_if_kept(int fd, Connection& c, const PlanEntry& refusal) {
  const Followed* protocol = c.protocol();
  if (c.role != Role::kClient || !c.state.is_followed() || c.closing.load() ||
      c.state.is_replaced() || c.ended_for.load() != 0 || protocol == nullptr ||
      !protocol->may_be_ended() || !c.target.known || c.generation != session_generation() ||
      c.fork_epoch != g_fork_epoch.load(std::memory_order_relaxed))
    return;
  const Hash128 service = hash_text(c.target.name());
  if (call_place(refusal.parent_path, service, Hash128{}) != refusal.service_place ||
      uses_ended_connections(c.target.name()))
    return;
  c.ending.store(true);
  if (c.request_flow.acquire()) {
    if (c.response_flow.acquire()) {
      // Done through a copy, because the application may close this number meanwhile, and it may name
      // another file then.
      const long copy = c.protocol()->is_idle(c) && c.wire.is_still() ? duplicate_high(fd) : -1;
      if (copy >= 0 && socket_cookie(static_cast<int>(copy)) == c.cookie) {
        c.ended_for.store(refusal.id + 1);
        c.ended_in = current_execution();
        raw_syscall(SYS_shutdown, copy, SHUT_RD);
      }
      if (copy >= 0) release_descriptor(static_cast<int>(copy));
      c.response_flow.release();
    }
    c.request_flow.release();
    settle(c);
  }
  c.ending.store(false);
}

}  // namespace

void end_kept_before_refusal(Hash128 parent_path, uint32_t execution) {
  PlanEntry refusal;
  if (!refusal_follows(parent_path, execution, &refusal)) return;
  each_connection(
      [](int fd, Connection& c, const void* plan) {
        end_if_kept(fd, c, *static_cast<const PlanEntry*>(plan));
      },
      &refusal);
}

void end_kept_before_refusal(const Incoming* incoming) {
  Hash128 path;
  uint32_t execution = 0;
  if (incoming_path(incoming, &path, &execution)) end_kept_before_refusal(path, execution);
}

void note_request_on_ended(Connection& c, const OutgoingCall& call) {
  const uint32_t ended_for = c.ended_for.exchange(0);
  if (ended_for == 0) return;
  if (!call.active) return report_ended_connection_used(c.target.name());
  const bool meant = call.faulted && call.plan.id + 1 == ended_for &&
                     static_cast<FaultKind>(call.plan.kind) == FaultKind::kRefused;
  if (!meant) report_ended_connection_used(call, c.target.name(), ended_for - 1, c.ended_in);
}

}  // namespace filibuster::preload
