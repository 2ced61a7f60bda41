// Connects: the place where 'connection refused' is injected, when an earlier execution has shown
// which RPC opens which connection.
#include "preload/rpc/connects.h"

#include <netinet/in.h>

#include <cerrno>
#include <cstring>

#include "core/fault/fault.h"
#include "core/index/execution_index.h"
#include "preload/os/address.h"
#include "preload/os/own_stack.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/connect_groups.h"
#include "preload/rpc/counters.h"
#include "preload/rpc/plan.h"
#include "preload/runtimes/stack.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

constinit ConnectGroups g_groups;

// Emits the beginning of the RPC of `entry`, whose request is never sent.
void emit_unsent(Attachment* a, uint32_t execution, const CauseOf& cause, const PlanEntry& entry,
                 RpcIssued event, uint16_t flags) {
  const uint64_t now = now_ns();
  event.parent_rpc = cause.rpc;
  event.cause = cause.cause;
  event.index = entry.index;
  event.parent_path = entry.parent_path;
  event.signature = entry.signature;
  event.count = entry.count;
  event.connect_key = entry.connect_key;
  event.flags = flags | kRpcOpensConnection;
  event.thread = thread_id();
  emit_issued(a, execution, now, event);
}

// Emits all events of an RPC that never gets a connection: issued, faulted, finished.
void emit_refused(Attachment* a, uint32_t execution, const CauseOf& cause, const PlanEntry& entry,
                  const RpcIssued& event) {
  emit_unsent(a, execution, cause, entry, event, kRpcRefusedAtConnect);
  const uint64_t now = now_ns();
  FaultFired fired;
  fired.rpc = event.rpc;
  fired.plan_entry = entry.id;
  fired.how = static_cast<uint8_t>(FaultHow::kInjected);
  fired.detail = "refused at connect";
  emit(a, EventType::kFaultFired, execution, now, fired);

  RpcFinished finished;
  finished.rpc = event.rpc;
  finished.outcome = RpcOutcome::kRefused;
  finished.injected = 1;
  finished.error = ECONNREFUSED;
  emit(a, EventType::kRpcFinished, execution, now, finished);
}

// Would the RPC of `entry` be the next of its signature under its parent? If not, this connection
// belongs to another RPC than the planned one, and nothing is refused here; a fault of that RPC is
// then injected when its request comes.
bool is_next_of_its_kind(Attachment* a, uint32_t execution, const CauseOf& cause,
                         const PlanEntry& entry) {
  const uint32_t parts = a->lane->index_parts;
  const uint64_t key =
      execution_key(counter_key(cause.counted_path, entry.signature, parts), execution);
  if ((parts & kIndexCount) != 0 && counted_so_far(a->lane, key) + 1 != entry.count) return false;
  if (count_invocation(a->lane, key) == 0) return false;
  count_call(a, execution, entry.place, entry.service_place);
  if (entry.reset_expected != 0) stop_counting(a, execution, entry);
  return true;
}

bool is_refusal(int error) {
  return error != 0 && error != EINPROGRESS && error != EAGAIN && error != EINTR &&
         error != EALREADY && error != EISCONN;
}

}  // namespace

void connects_after_fork() {
  g_groups.after_fork();
}

void count_call(Attachment* a, uint32_t execution, Hash128 place, Hash128 service_place) {
  count_invocation(a->lane, execution_key(place, execution));
  if (service_place != place) count_invocation(a->lane, execution_key(service_place, execution));
}

void stop_counting(Attachment* a, uint32_t execution, const PlanEntry& entry) {
  count_beyond(a->lane, execution_key(entry.place, execution));
  count_beyond(a->lane, execution_key(entry.service_place, execution));
}

void connect_carries_request(uint64_t group) {
  if (group == 0) return;
  ConnectGroups::Lock lock(&g_groups);
  if (!lock) return;
  if (ConnectGroup* found = g_groups.find(group)) found->carried_request = true;
}

ConnectDecision connect_begin(const sockaddr* address, socklen_t size) {
  ConnectDecision decision;
  uint32_t execution = 0;
  uint64_t now = 0;
  Attachment* a = attach_executing(&execution, &now);
  if (a == nullptr) return decision;
  const TargetInfo target = lookup_target(address, size);
  if ((target.flags & (kTargetNever | kTargetIgnored)) != 0) return decision;
  const Target128 canonical = canonical_address(address, size);
  if (canonical.kind == TargetKind::kEmpty) return decision;

  char peer[128];
  const std::string_view peer_text(peer, write_address(address, size, peer, sizeof peer));
  const std::string_view name =
      target.known && target.service_size > 0 ? target.name() : without_port(peer_text);

  ConnectTry attempt;
  attempt.execution = execution;
  attempt.thread = thread_id();
  // Addresses of a name that the lane does not know are told apart: without the name nothing says
  // that they are one service, and a refusal must not hit another one. Loopback is one machine.
  attempt.target =
      canonical.kind == TargetKind::kLoopback && !target.known ? Hash128{0, 1} : hash_text(name);
  attempt.address = address_identity(address, size);
  attempt.port = canonical.port;

  Scratch scratch(Scratch::Patience::kBounded);
  const CapturedStack stack =
      scratch
          ? stack_of(t_state.task.site, reinterpret_cast<char*>(scratch.data()), Scratch::kSize / 2)
          : CapturedStack{{}, "", 0, true};
  // An event loop connects by other frames of its library when it is late. Such frames name no place.
  const bool by_stack = (a->lane->index_parts & kIndexStack) != 0 && !stack.of_libraries;
  const CauseOf cause = cause_of_thread(a, execution, combine(stack.hash, attempt.target));
  // Nothing is planned for a connect of no known cause, or of an older execution.
  if (cause.cause == Cause::kNone) return decision;
  if (cause.cause != Cause::kEntry && cause.execution != execution) return decision;
  attempt.parent_path = cause.path;

  uint64_t rpc = 0;
  const bool again =
      refuse_second_attempt(a, execution, cause.path, attempt.target, &decision.plan);
  {
    ConnectGroups::Lock lock(&g_groups);
    if (again && !lock) decision.refuse = true;
    if (!lock) return decision;
    if (const ConnectGroup* group = g_groups.join(attempt)) {
      decision.name = {group->place, group->id};
      decision.refuse = group->refused_by_us;
      decision.handshake = group->handshake;
      if (decision.refuse || decision.handshake.active) decision.plan = group->plan;
      return decision;
    }
    ConnectGroup* group = g_groups.add(attempt);
    group->place = call_place(cause.path, attempt.target, by_stack ? stack.hash : Hash128{});
    decision.name = {group->place, group->id};
    if (again) {
      group->refused_by_us = decision.refuse = true;
      group->outcome = ConnectGroup::Outcome::kRefused;
      group->plan = decision.plan;
      return decision;
    }
    PlanEntry& entry = decision.plan;
    if (a->lane->connects_planned.load(std::memory_order_relaxed) == 0 ||
        find_planned_connect(a->lane, group->place, execution, &entry) != PlanLookup::kPlanned ||
        !lease_fresh(a->lane, now_ns()) || !is_next_of_its_kind(a, execution, cause, entry))
      return decision;
    group->plan = entry;
    rpc = a->next_rpc();
    if (static_cast<FaultKind>(entry.kind) == FaultKind::kTls) {
      decision.handshake = {true, Protocol::kHttp, rpc, a->generation, execution};
      group->handshake = decision.handshake;
    } else {
      group->refused_by_us = decision.refuse = true;
      group->outcome = ConnectGroup::Outcome::kRefused;
    }
  }
  on_own_stack([&] {
    RpcIssued event;
    event.rpc = rpc;
    event.service = name;
    event.peer = peer_text;
    event.stack = stack.hash;
    event.stack_text = {stack.text, stack.text_size};
    if (decision.refuse) {
      emit_refused(a, execution, cause, decision.plan, event);
    } else {
      emit_unsent(a, execution, cause, decision.plan, event, kRpcEncrypted);
    }
    return true;
  });
  return decision;
}

namespace {

bool is_ipv6_loopback(const sockaddr* address, socklen_t size) {
  if (address == nullptr || size < sizeof(sockaddr_in6) || address->sa_family != AF_INET6)
    return false;
  sockaddr_in6 six;
  memcpy(&six, address, sizeof six);
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

}  // namespace

void connect_result(const ConnectDecision& decision, const sockaddr* address, socklen_t size,
                    int error) {
  if (decision.refuse) return;
  if (decision.name.group != 0) {
    ConnectGroups::Lock lock(&g_groups);
    ConnectGroup* group = lock ? g_groups.find(decision.name.group) : nullptr;
    if (group != nullptr && is_refusal(error)) group->outcome = ConnectGroup::Outcome::kRefused;
    if (group != nullptr && error == 0) group->outcome = ConnectGroup::Outcome::kConnected;
  }
  if (error != ECONNREFUSED || current_execution() == 0) return;
  const TargetInfo target = lookup_target(address, size);
  if ((target.flags & kTargetInApplication) == 0) return;
  // Clients try the addresses of 'localhost' one after the other, and most services listen at one.
  if (is_ipv6_loopback(address, size)) return;
  char peer[128];
  report_note({"connect refused: ", {peer, write_address(address, size, peer, sizeof peer)}});
}

}  // namespace filibuster::preload
