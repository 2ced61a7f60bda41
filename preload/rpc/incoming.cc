// Incoming requests: what they were caused by (their header), and what they cause (their path).
#include <cstring>

#include "core/index/execution_index.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/counters.h"
#include "preload/rpc/fields.h"
#include "preload/rpc/program_cause.h"
#include "preload/runtimes/runtimes.h"
#include "preload/session/state.h"

namespace filibuster::preload {

constinit IncomingTable g_incoming;
constinit std::atomic<uint32_t> g_incoming_lost_in{0};
constinit std::atomic<bool> g_incoming_given_up{false};

namespace {

// What is kept of an entry whose body is still coming: its payload is formed from the query and the body.
struct PendingEntry {
  Hash128 query;
  RequestFields* fields;  // nullptr: nothing is masked
};
PendingEntry g_pending[IncomingTable::kSlots];  // by the slot of the entry

PendingEntry& pending_of(const Incoming* incoming) {
  return g_pending[g_incoming.slot_of(incoming)];
}

void drop_pending_fields(const Incoming* incoming) {
  if (!incoming->entry || !incoming->preliminary) return;
  end_fields(pending_of(incoming).fields);
  pending_of(incoming).fields = nullptr;
}

// `incoming` ends without its answer: its client has given up, or its connection is not followed any more.
void note_given_up(const Incoming& incoming) {
  g_incoming_given_up.store(true, std::memory_order_release);
  // The execution is the one that runs now: an older request may be given up in it.
  if (const Attachment* a = g_attachment.load(std::memory_order_acquire); a != nullptr)
    g_incoming.note_given_up(incoming, a->lane->session,
                             a->lane->execution.load(std::memory_order_acquire));
}

// A caller without an agent counts as the test (caller_of in daemon/agents/caller.h).
constexpr std::string_view kTestCaller = "test";

// Nothing is preloaded into the test, or nothing can be. So the index is formed here, under the path [].
bool begin_entry(Attachment* a, uint32_t execution, uint64_t now, const RequestHead& head,
                 Incoming* incoming) {
  const Identity& id = identity();
  const uint32_t parts = a->lane->index_parts;
  const bool preliminary = head.has_body;
  RpcIssued event;
  event.service = id.service_name();
  event.method = head.method;
  event.target = head.target;
  RequestFields* fields = begin_fields(kTestCaller, event.service, head);
  incoming->http_signature = fields != nullptr
                                 ? masked_signature(*fields)
                                 : http_signature_hash(event.service, head.method, head.target);
  const Hash128 query =
      fields != nullptr ? masked_query(*fields) : hash_text(split_target(head.target).query);
  if (!preliminary) {
    event.payload = http_payload_hash(query, hash_bytes("", 0));
    end_fields(fields);
    fields = nullptr;
  }
  event.signature = invocation_signature(incoming->http_signature, event.payload, Hash128{}, parts);
  event.count = count_invocation(
      a->lane, execution_key(counter_key(Hash128{}, event.signature, parts), execution));
  if (event.count == 0) {
    end_fields(fields);
    return false;
  }
  event.index = extend_path(Hash128{}, event.signature, event.count, parts);
  event.cause = Cause::kEntry;
  event.flags = kRpcEntry;
  if (preliminary) event.flags |= kRpcPreliminary;
  if (head.target_truncated) event.flags |= kRpcPayloadTruncated;
  event.flags |= protocol_flags(head);
  event.thread = thread_id();
  event.rpc = incoming->rpc = a->next_rpc();

  incoming->entry = true;
  incoming->preliminary = preliminary;
  incoming->paths[0] = event.index;
  incoming->count = event.count;
  if (preliminary) pending_of(incoming) = {query, fields};
  emit_issued(a, execution, now, event);
  return true;
}

// Reads the request's own header. False: it is not one of this lane and this session.
bool begin_with_header(Attachment* a, uint32_t current, std::string_view value,
                       Incoming* incoming) {
  RpcContext context;
  if (!decode_header_value(value, &context) || context.session != a->lane->session ||
      context.lane != static_cast<uint16_t>(a->lane->lane) || context.execution > current) {
    a->lane->damaged_fields.fetch_add(1, std::memory_order_relaxed);
    report_note("a request carried a forged or damaged x-filibuster field: ignored");
    return false;
  }
  incoming->rpc = context.rpc;
  incoming->execution = context.execution;
  // A request of an older execution is still the cause of what follows. That gets no fault of this one.
  incoming->late = context.execution != current;
  incoming->paths[0] = context.path;
  return true;
}

}  // namespace

Incoming* incoming_begin(const IncomingInfo& info) {
  uint32_t execution = 0;
  uint64_t now = 0;
  Attachment* a = attach_executing(&execution, &now);
  if (a == nullptr) return nullptr;
  Incoming* incoming = g_incoming.claim();
  if (incoming == nullptr) {
    // Without it 'the only active request' cannot be told in this execution.
    g_incoming_lost_in.store(execution, std::memory_order_release);
    a->lane->lost(Incomplete::kIncoming);
    report_not_interposed(NotInterposedReason::kTableFull, false, {}, identity().service_name());
    return nullptr;
  }
  incoming->generation = a->generation;
  incoming->agent = a->agent;
  incoming->execution = execution;
  incoming->multiplexed = info.multiplexed || identity().is_proxy;
  const std::string_view header = info.head->filibuster;
  if ((header.empty() || !begin_with_header(a, execution, header, incoming)) &&
      !begin_entry(a, execution, now, *info.head, incoming)) {
    g_incoming.abandon(incoming);
    g_incoming_lost_in.store(execution, std::memory_order_release);
    report_note("the table of invocation counters is full: requests passed unseen");
    return nullptr;
  }
  g_incoming.open(incoming, &t_state.requests);
  forget_program_cause();
  tell_runtimes({a->lane->session, static_cast<uint16_t>(a->lane->lane), incoming->execution,
                 incoming->rpc, incoming->paths[0]},
                info.head->http2);

  RpcReceived event;
  event.rpc = incoming->rpc;
  event.thread = thread_id();
  if (incoming->entry) event.flags |= kRpcEntry;
  if (incoming->late) event.flags |= kRpcLate;
  emit(a, EventType::kRpcReceived, incoming->execution, now, event);
  return incoming;
}

bool incoming_path(const Incoming* incoming, Hash128* path, uint32_t* execution) {
  if (incoming == nullptr) return false;
  *path = incoming->paths[incoming->path_version.load(std::memory_order_acquire)];
  *execution = incoming->execution;
  return true;
}

bool incoming_needs_body(const Incoming* incoming) {
  return incoming != nullptr && incoming->entry && incoming->preliminary;
}

void incoming_body_piece(Incoming* incoming, const char* data, size_t size) {
  if (!incoming_needs_body(incoming)) return;
  RequestFields* fields = pending_of(incoming).fields;
  if (fields != nullptr) request_piece(fields, data, size);
}

void incoming_body_unseen(Incoming* incoming) {
  if (!incoming_needs_body(incoming)) return;
  RequestFields* fields = pending_of(incoming).fields;
  if (fields != nullptr) request_unseen(fields);
}

void incoming_body_complete(Incoming* incoming, Hash128 body, uint64_t size) {
  if (!incoming_needs_body(incoming)) return;
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  if (a == nullptr || !a->issued(incoming->rpc, incoming->generation)) return;
  const uint32_t parts = a->lane->index_parts;
  const PendingEntry pending = pending_of(incoming);
  if (pending.fields != nullptr) {
    body = request_whole(pending.fields, body, size);
    report_request_fields(incoming->rpc, incoming->generation, incoming->execution,
                          *pending.fields);
  }
  drop_pending_fields(incoming);
  incoming->preliminary = false;
  RpcFinalized event;
  event.rpc = incoming->rpc;
  event.payload = http_payload_hash(pending.query, body);
  event.signature = invocation_signature(incoming->http_signature, event.payload, Hash128{}, parts);
  event.index = extend_path(Hash128{}, event.signature, incoming->count, parts);
  incoming->paths[1] = event.index;
  incoming->path_version.store(1, std::memory_order_release);
  emit(a, EventType::kRpcFinalized, incoming->execution, now_ns(), event);
}

void incoming_end(Incoming* incoming, uint16_t status, uint8_t grpc_status) {
  if (incoming == nullptr) return;
  if (status == 0) note_given_up(*incoming);
  drop_pending_fields(incoming);
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  // A forked child closes its copies of the connections; the request is its parent's to end.
  if (a != nullptr && incoming->agent == a->agent && incoming->generation == a->generation) {
    IncomingFinished event;
    event.rpc = incoming->rpc;
    event.status = status;
    event.grpc_status = grpc_status;
    const uint32_t execution = incoming->execution;
    g_incoming.close(incoming);
    emit(a, EventType::kIncomingFinished, execution, now_ns(), event);
    return;
  }
  g_incoming.close(incoming);
}

}  // namespace filibuster::preload
