// Outgoing RPCs: parent, execution index, count, plan.
#include <cstring>

#include "core/fault/fault.h"
#include "core/index/execution_index.h"
#include "preload/os/address.h"
#include "preload/os/pool.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/connects.h"
#include "preload/rpc/consult.h"
#include "preload/rpc/counters.h"
#include "preload/rpc/fields.h"
#include "preload/rpc/plan.h"
#include "preload/rpc/program_cause.h"
#include "preload/runtimes/stack.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

enum class Carried : uint8_t { kNothing, kOurs, kSiteOnly, kDamaged };

constexpr size_t kStackText = Scratch::kSize / 2;

}  // namespace

struct RequestOrigin {
  uint32_t execution = 0;  // 0: no execution ran
  uint32_t thread = 0;
  CauseOf cause;
  Carried carried = Carried::kNothing;
  Hash128 http_signature;  // (m, f, a)
  Hash128 stack;
  size_t text_size = 0;
  const char* text = nullptr;
};

namespace {

struct KeptOrigin {
  RequestOrigin origin;
  char text[kStackText];
};
Pool<KeptOrigin, 4, 4096> g_origins;

// Is the context one of this lane and this session, and of no execution to come?
bool is_ours(const Attachment* a, uint32_t current, const RpcContext& context) {
  return context.session == a->lane->session &&
         context.lane == static_cast<uint16_t>(a->lane->lane) && context.execution <= current;
}

CauseOf caused_by(const RpcContext& context, Cause how) {
  CauseOf cause;
  cause.cause = how;
  cause.rpc = context.rpc;
  cause.execution = context.execution;
  cause.path = cause.counted_path = context.path;
  return cause;
}

// The request that this program was started for, if that belongs to the execution that runs now. An older one proves
// nothing: a helper that a request has left behind may work for others since.
bool caused_by_program(const Attachment* a, uint32_t current, CauseOf* cause) {
  RpcContext context;
  if (!program_cause(&context) || !is_ours(a, current, context) || context.execution != current)
    return false;
  *cause = caused_by(context, Cause::kProgram);
  return true;
}

// The cause of what no incoming request of this process causes.
CauseOf caused_from_outside(const Attachment* a, uint32_t current) {
  CauseOf cause;
  if (caused_by_program(a, current, &cause)) return cause;
  cause.background = !identity().is_test;
  if (identity().is_test) cause.cause = Cause::kEntry;
  return cause;
}

// Reads the field that the request carries already. The application or a proxy has forwarded it, or the
// helper of this process's runtime has put it in, which then knows the call site and the thread, too.
Carried carried_cause(const Attachment* a, uint32_t current, std::string_view value, CauseOf* cause,
                      RuntimeField* said) {
  if (value.empty()) return Carried::kNothing;
  RuntimeField field;
  if (decode_runtime_value(value, &field) &&
      (!field.has_cause || is_ours(a, current, field.cause))) {
    *said = field;
    if (!field.cause_known) return Carried::kSiteOnly;
    *cause =
        field.has_cause ? caused_by(field.cause, Cause::kTask) : caused_from_outside(a, current);
    return Carried::kOurs;
  }
  RpcContext context;
  if (!decode_header_value(value, &context) || !is_ours(a, current, context)) {
    a->lane->damaged_fields.fetch_add(1, std::memory_order_relaxed);
    report_note("a request forwarded a forged or damaged x-filibuster field: overruled");
    return Carried::kDamaged;
  }
  *cause = caused_by(context, Cause::kHeader);
  return Carried::kOurs;
}

// The cause among the requests that `thread` has read; else by the rules that need no thread.
CauseOf cause_by_rules(Attachment* a, uint32_t execution, Hash128 site, ThreadRequests* thread) {
  CauseOf started_for;
  if (caused_by_program(a, execution, &started_for)) return started_for;
  CauseQuery query;
  query.thread = thread;
  query.multiplexing = t_state.multiplexing || identity().is_proxy;
  query.is_test = identity().is_test;
  query.requests_lost = g_incoming_lost_in.load(std::memory_order_acquire) == execution;
  query.lane = a->lane;
  query.site = site;
  query.execution = execution;
  query.given_up = g_incoming_given_up.load(std::memory_order_acquire);
  return find_cause(g_incoming, query);
}

// Notes that a site calls while no request is served: then its calls are not caused by a request that
// happens to be served later.
void note_idle_site(Attachment* a, const RequestHead& head) {
  RuntimeField field;
  uint64_t site = 0;
  if (decode_runtime_value(head.filibuster, &field)) site = field.site;
  Scratch scratch;
  if (!scratch || g_incoming.active() != 0) return;
  CapturedStack stack{{}, "", 0, true};
  char* text = reinterpret_cast<char*>(scratch.data());
  if (!site_stack(site, text, kStackText, &stack)) stack = capture_stack(text, kStackText);
  if (stack.hash.is_zero()) return;
  const uint32_t last = a->lane->execution.load(std::memory_order_acquire);
  const bool passing =
      a->lane->plan_count != 0 && g_incoming_given_up.load(std::memory_order_acquire);
  note_site(a->lane, fold_key(stack.hash), {kSiteSeenWithNone, last, passing});
}

// For a request between executions. It may arrive when the next one has begun, to which it does not belong.
void mark_as_outside(const OutgoingInfo& info, OutgoingCall* call) {
  Attachment* a = attach();
  if (a == nullptr || !own_process() || !lease_fresh(a->lane, now_ns())) return;
  note_idle_site(a, *info.head);
  if ((info.target.flags & kTargetInApplication) == 0 || !info.head->filibuster.empty()) return;
  RpcContext context;
  context.session = a->lane->session;
  context.lane = static_cast<uint16_t>(a->lane->lane);
  // The number may be that of an execution that is about to begin. The one before it is over in any case.
  const uint32_t last = a->lane->execution.load(std::memory_order_acquire);
  context.execution = last == 0 ? 0 : last - 1;
  context.rpc = a->next_rpc();
  encode_header_line(context, call->header_line);
  call->insert_header = true;
}

}  // namespace

std::string_view own_service() {
  return identity().service_name();
}

std::string_view target_service(const TargetInfo& target, const RequestHead& head,
                                std::string_view peer) {
  if (target.known && target.service_size > 0) return target.name();
  if (!head.host.empty()) return head.host;
  return target.service_size > 0 ? target.name() : without_port(peer);
}

CauseOf cause_of_thread(Attachment* a, uint32_t execution, Hash128 site) {
  const TaskContext task = current_task();
  if (task.state == TaskContext::State::kNothing) return caused_from_outside(a, execution);
  if (task.state == TaskContext::State::kRequest && is_ours(a, execution, task.cause))
    return caused_by(task.cause, Cause::kTask);
  return cause_by_rules(a, execution, site, &t_state.requests);
}

void report_read_before_fault() {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || !own_process()) return;
  report_note(incomplete_text(Incomplete::kReadBeforeFault));
  a->lane->lost(Incomplete::kReadBeforeFault);
}

namespace {

Hash128 signature_of(const OutgoingInfo& info) {
  if (info.fields != nullptr) return masked_signature(*info.fields);
  const RequestHead& head = *info.head;
  return http_signature_hash(target_service(info.target, head, info.peer), head.method,
                             head.target);
}

// Finds out who makes this request now. `text` has room for kStackText bytes; nullptr: no stack is read.
void find_origin(Attachment* a, uint32_t current, const OutgoingInfo& info, char* text,
                 RequestOrigin* origin) {
  const RequestHead& head = *info.head;
  origin->execution = current;
  origin->thread = thread_id();
  RuntimeField said;
  origin->carried = carried_cause(a, current, head.filibuster, &origin->cause, &said);
  if (said.thread != 0) origin->thread = said.thread;
  CapturedStack stack{{}, "", 0, true};
  if (text != nullptr && !site_stack(said.site, text, kStackText, &stack))
    stack = capture_stack(text, kStackText);
  if (text == nullptr) {
    // Without its stack this RPC has another index than in other executions.
    report_note("too many threads were in the middle of a request: one has no call stack");
    a->lane->lost(Incomplete::kStack);
  }
  if (stack.incomplete) report_note("a call stack could not be read whole");
  origin->stack = stack.hash;
  origin->text = stack.text;
  origin->text_size = stack.text_size;
  origin->http_signature = signature_of(info);
  // The stack alone is the site: a background caller may never request the same path twice.
  const Hash128 call_site = stack.hash.is_zero() ? origin->http_signature : stack.hash;
  if (origin->carried == Carried::kSiteOnly) {
    // The request was made on another thread than this one, so this one proves nothing.
    ThreadRequests none{};
    origin->cause = cause_by_rules(a, current, call_site, &none);
  } else if (origin->carried != Carried::kOurs) {
    origin->cause = cause_of_thread(a, current, call_site);
  }
}

// The call site is the innermost frame alone: a client library or an application that tries again may do so by
// calling itself. Where no stack can be read, the request alone tells.
AttemptIdentity attempt_identity(const RpcIssued& event, const RequestHead& head,
                                 Hash128 http_signature) {
  AttemptIdentity out;
  out.path = event.parent_path;
  out.request = combine(http_signature, event.payload);
  out.site = hash_text(event.stack_text.substr(0, event.stack_text.find('\n')));
  out.request_id = head.request_id;
  out.request_id_with_path = head.request_id_with_path;
  out.was_attempted = head.was_attempted;
  // Without a known cause nothing says that two RPCs belong together.
  if (event.cause == Cause::kNone) out.site = out.request_id = Hash128{};
  return out;
}

bool is_left_alone(const OutgoingInfo& info) {
  return (info.target.flags & (kTargetNever | kTargetIgnored)) != 0;
}

}  // namespace

bool note_origin(const OutgoingInfo& info, const RequestOrigin** origin) {
  *origin = nullptr;
  if (is_left_alone(info) || attach() == nullptr) return true;
  // A runtime's helper has said both: the cause is in the field, and the call site is kept under its number.
  RuntimeField field;
  if (decode_runtime_value(info.head->filibuster, &field) && field.cause_known && field.site != 0)
    return true;
  KeptOrigin* kept = g_origins.take();
  if (kept == nullptr) return false;
  kept->origin = {};
  *origin = &kept->origin;
  uint32_t current = 0;
  uint64_t now = 0;
  Attachment* a = attach_executing(&current, &now);
  if (a != nullptr) find_origin(a, current, info, kept->text, &kept->origin);
  return true;
}

void drop_origin(const RequestOrigin* origin) {
  // The origin is the first member of the KeptOrigin that was taken.
  if (origin != nullptr)
    g_origins.give(reinterpret_cast<KeptOrigin*>(const_cast<RequestOrigin*>(origin)));
}

void outgoing_begin(const OutgoingInfo& info, OutgoingCall* call) {
  // All else is set below, or is read only if one of these is true. (To clear the whole call would be to
  // write half a kilobyte.)
  call->active = call->insert_header = call->overwrite_header = call->faulted = false;
  call->flags = 0;
  call->attempt = {};
  if (is_left_alone(info)) return;
  uint32_t current = 0;
  uint64_t now = 0;
  Attachment* a = attach_executing(&current, &now);
  if (a == nullptr || (info.origin != nullptr && info.origin->execution == 0))
    return mark_as_outside(info, call);
  forget_last_reset();
  LaneMemory* lane = a->lane;
  const uint32_t parts = lane->index_parts;
  const RequestHead& head = *info.head;

  Scratch scratch(Scratch::Patience::kBounded);
  char* const text = reinterpret_cast<char*>(scratch.data());
  RequestOrigin origin;
  if (info.origin != nullptr) {
    origin = *info.origin;
    if (info.sent_together) origin.http_signature = signature_of(info);
  } else {
    find_origin(a, current, info, text, &origin);
  }
  const Carried carried = origin.carried;
  const CauseOf& cause = origin.cause;

  RpcIssued event;
  event.service = target_service(info.target, head, info.peer);
  event.method = head.method;
  event.target = head.target;
  event.peer = info.peer;
  event.stack = origin.stack;
  event.stack_text = {origin.text, origin.text_size};
  event.body = info.body_sample.substr(0, lane->payload_sample);
  event.thread = origin.thread;
  if (event.body.size() < info.body_sample.size() || head.body_size > event.body.size() ||
      head.target_truncated)
    event.flags |= kRpcPayloadTruncated;
  if (!info.body_complete) event.flags |= kRpcPreliminary;
  event.flags |= protocol_flags(head);
  if (cause.after_giving_up) event.flags |= kRpcAfterGivingUp;
  if (cause.background) event.flags |= kRpcBackground;
  if (info.encrypted) event.flags |= kRpcEncrypted;
  event.request_id = head.request_id;
  event.request_id_name = head.request_id_name;
  event.told = head.told;
  if (info.opens_connection) {
    event.flags |= kRpcOpensConnection;
    event.connect_key = info.connect.key;
    connect_carries_request(info.connect.group);
  }
  call->http_signature = origin.http_signature;
  call->query = info.fields != nullptr ? masked_query(*info.fields)
                                       : hash_text(split_target(head.target).query);
  const bool has_parent = cause.cause != Cause::kNone && cause.cause != Cause::kEntry;
  // An RPC belongs to the execution of its cause.
  call->execution = has_parent ? cause.execution : origin.execution;
  const bool late = call->execution != current;
  if (late) event.flags |= kRpcLate;

  if (info.body_complete) event.payload = http_payload_hash(call->query, info.body);
  event.cause = cause.cause;
  event.parent_rpc = cause.rpc;
  event.parent_path = cause.path;
  const bool masked = info.fields != nullptr && stack_is_masked(*info.fields);
  call->stack = masked ? Hash128{} : origin.stack;
  event.signature = invocation_signature(call->http_signature, event.payload, call->stack, parts);
  const Hash128 counter = counter_key(cause.counted_path, event.signature, parts);
  event.count = count_invocation(lane, execution_key(counter, call->execution));
  if (event.count == 0) {
    report_note("the table of invocation counters is full: requests passed unseen");
    return;
  }
  if (lane->connects_planned.load(std::memory_order_relaxed) != 0) {
    const Hash128 service = hash_text(event.service);
    const Hash128 from = (parts & kIndexStack) != 0 ? origin.stack : Hash128{};
    count_call(a, call->execution, call_place(cause.path, service, from),
               call_place(cause.path, service, Hash128{}));
  }
  event.index = extend_path(cause.path, event.signature, event.count, parts);
  event.rpc = a->next_rpc();

  call->active = true;
  call->rpc = event.rpc;
  call->generation = a->generation;
  call->index = event.index;
  call->parent_path = event.parent_path;
  call->signature = event.signature;
  call->count = event.count;
  call->flags = event.flags;
  call->protocol = head.protocol;
  // A field of another width cannot be replaced in place, and a second field would contradict it. In HTTP/2
  // a second field is appended all the same, because there the last one counts.
  const bool replaceable = head.http2 || head.filibuster.size() == kHeaderValueSize ||
                           head.filibuster.size() == kRuntimeValueSize;
  if (carried != Carried::kNothing) {
    // What the helper of this process's runtime put in is for this library, and no service has asked for it.
    const bool wanted = head.filibuster.size() == kRuntimeValueSize
                            ? (info.target.flags & kTargetInApplication) != 0
                            : (info.target.flags & kTargetThirdParty) == 0;
    call->overwrite_header = replaceable && wanted;
  } else {
    call->insert_header = (info.target.flags & kTargetInApplication) != 0;
  }
  // What cannot be replaced is overruled: the receiver takes the last field.
  if (carried == Carried::kDamaged && !replaceable)
    call->insert_header = (info.target.flags & kTargetInApplication) != 0;
  RpcContext context;
  context.session = lane->session;
  context.lane = static_cast<uint16_t>(lane->lane);
  context.execution = call->execution;
  context.rpc = call->rpc;
  context.path = call->index;
  // The protocol of Redis has no place for the field, and what is sealed shows none.
  if (head.protocol != Protocol::kRedis && head.protocol != Protocol::kSealed)
    encode_header_line(context, call->header_line);

  std::span<uint8_t> left;
  const size_t used = info.origin != nullptr ? 0 : origin.text_size;
  if (scratch) left = {scratch.data() + used, Scratch::kSize - used};
  AttemptIdentity identity;
  if (sequences_are_planned(lane)) identity = attempt_identity(event, head, call->http_signature);
  emit_issued(a, call->execution, now, event, left);
  consult_plan(
      a, call, identity,
      {own_service(), event.service, event.method, request_path(event.method, event.target)});
}

void outgoing_body_complete(OutgoingCall* call, Hash128 body) {
  if (!call->active || (call->flags & kRpcPreliminary) == 0) return;
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || !a->issued(call->rpc, call->generation)) return;
  call->flags &= static_cast<uint16_t>(~kRpcPreliminary);
  const uint32_t parts = a->lane->index_parts;
  RpcFinalized event;
  event.rpc = call->rpc;
  event.payload = http_payload_hash(call->query, body);
  event.signature = invocation_signature(call->http_signature, event.payload, call->stack, parts);
  event.index = extend_path(call->parent_path, event.signature, call->count, parts);
  call->signature = event.signature;
  call->index = event.index;
  emit(a, EventType::kRpcFinalized, call->execution, now_ns(), event);
}

void outgoing_body_sample(const OutgoingCall& call, std::string_view sample, bool truncated) {
  if (!call.active) return;
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || !a->issued(call.rpc, call.generation)) return;
  RpcBody event;
  event.rpc = call.rpc;
  event.body = sample.substr(0, a->lane->payload_sample);
  event.truncated = truncated || event.body.size() < sample.size() ? 1 : 0;
  emit(a, EventType::kRpcBody, call.execution, now_ns(), event);
}

void outgoing_end(OpenCall* call, const RpcFinished& finished) {
  if (!call->active) return;
  call->active = false;
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || !a->issued(call->rpc, call->generation)) return;
  RpcFinished event = finished;
  event.rpc = call->rpc;
  if (call->attempt.group != 0)
    attempt_ended(a->lane, call->attempt, call->execution, event.failed(call->protocol));
  event.body_sample = event.body_sample.substr(0, a->lane->payload_sample);
  const uint64_t now = now_ns();
  if (event.body_sample.size() <= 512) {
    emit(a, EventType::kRpcFinished, call->execution, now, event);
    return;
  }
  Scratch scratch;
  const size_t size = scratch ? encode(event, scratch.data(), Scratch::kSize) : 0;
  if (size > 0) {
    write_event(a, EventType::kRpcFinished, call->execution, now, scratch.data(), size);
    return;
  }
  event.body_sample = event.body_sample.substr(0, 512);
  emit(a, EventType::kRpcFinished, call->execution, now, event);
}

size_t plan_blob(const PlanEntry& entry, bool head_request, char* out, size_t capacity) {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  return a != nullptr ? copy_blob(a->lane, entry, head_request, out, capacity) : 0;
}

}  // namespace filibuster::preload
