// When a request is known well enough: its RPC is formed, and our field planned into its bytes.
#include <algorithm>
#include <cstring>

#include "preload/protocols/http1/http1.h"
#include "preload/protocols/http2/http2.h"
#include "preload/rpc/fields.h"
#include "preload/stream/kept.h"
#include "preload/stream/tape.h"

namespace filibuster::preload {
namespace {

// Takes the helper's field out of the head, with the end of the line before it. (The edit has to leave a byte.)
bool remove_field(Connection& c, uint64_t value_at, size_t value_size) {
  const uint64_t line = value_at - kHeaderName.size() - std::string_view(": ").size();
  return c.wire.edits.splice(
      line - 1, value_at + value_size + std::string_view("\r\n").size() - (line - 1), "\n");
}

void add_edits(Connection& c, Exchange* x) {
  Http1& h = http1_of(c);
  const OutgoingCall& call = x->call;
  const uint64_t start = h.message_start;
  const uint64_t sent = c.wire.edits.position();
  const size_t carried = h.head.filibuster.size();
  if (!call.overwrite_header && !call.insert_header && carried != kRuntimeValueSize) return;
  if (!take_edit_room(c.wire)) return report_note("there was no memory to mark a request");
  if (!call.overwrite_header && carried == kRuntimeValueSize) {
    // The helper's value is for this library only.
    if (!remove_field(c, start + h.head.filibuster_offset, carried))
      report_note("a field of a runtime's helper left the application");
    return;
  }
  if (call.overwrite_header) {
    // A helper's value is longer than ours: blanks follow.
    char value[kRuntimeValueSize];
    std::memset(value, ' ', sizeof value);
    std::memcpy(value, call.header_line + kHeaderName.size() + 2, kHeaderValueSize);
    if (carried > sizeof value || carried < kHeaderValueSize ||
        !c.wire.edits.replace(start + h.head.filibuster_offset, {value, carried})) {
      report_note("a forwarded correlation field could not be replaced");
    }
    return;
  }
  const std::string_view line(call.header_line, kHeaderLineSize);
  uint64_t at = start + h.head.after_start_line;
  // If a part of the head went out before it was complete, our field goes before the empty line, the
  // last place that is left. It goes there, too, when it overrules another field of this name, because
  // the receiver takes the last one.
  if (sent > at || carried != 0) at = start + h.head.head_size - 2;
  if (!c.wire.edits.insert(at, line)) {
    report_note("a request head went out in pieces before it was complete: not marked");
  }
}

}  // namespace

// The fields of a decided request belong to its exchange. Only those of an undecided one are freed here.
void drop_fields(Connection& c) {
  Http1& h = http1_of(c);
  end_fields(h.fields);
  h.fields = nullptr;
  drop_origin(h.origin);
  h.origin = nullptr;
}

namespace {

// `request` is its head, and outlives the result.
OutgoingInfo what_its_head_says(Connection& c, const RequestHead& request) {
  Http1& h = http1_of(c);
  find_target_of(c);
  OutgoingInfo info;
  info.head = &request;
  info.target = c.target;
  info.peer = c.peer_name();
  info.fields = h.fields;
  return info;
}

}  // namespace

bool note_maker(Connection& c) {
  Http1& h = http1_of(c);
  if (h.origin != nullptr) return true;
  const RequestHead request = request_head(h.head);
  return note_origin(what_its_head_says(c, request), &h.origin);
}

void decide(Connection& c, bool body_complete, Hash128 body) {
  Http1& h = http1_of(c);
  h.decided = true;
  Exchange* x = make_exchange();
  if (x == nullptr || h.exchanges.size() == kMaxOpenExchanges) {
    if (x != nullptr) {
      finish_half(c, x, kRequestHalf);
      finish_half(c, x, kResponseHalf);
    }
    drop_fields(c);
    give_up(c, NotInterposedReason::kTableFull);
    return;
  }
  x->fields = h.fields;
  x->method_size = static_cast<uint8_t>(std::min(h.head.method.size(), sizeof x->method));
  std::memcpy(x->method, h.head.method.data(), x->method_size);
  x->head_request = h.head.method == "HEAD";
  x->request_start = h.message_start;
  const RequestHead request = request_head(h.head);
  OutgoingInfo info = what_its_head_says(c, request);
  info.body_complete = body_complete;
  info.body = body;
  info.origin = h.origin;
  info.body_sample = {h.sample, h.sample_size};
  info.opens_connection = c.is_opened_now();
  if (info.opens_connection) info.connect = c.connect.name;
  info.encrypted = c.transport.load() != nullptr;
  outgoing_begin(info, &x->call);
  drop_origin(h.origin);
  h.origin = nullptr;
  ++c.requests;
  if (taping() != 0) place_rpc(c, x->call, c.requests);
  h.current = x;
  h.exchanges.push(x);
  add_edits(c, x);
  if (c.ended_for.load(std::memory_order_relaxed) != 0) note_request_on_ended(c, x->call);
  if (!x->call.active || !x->call.faulted) return;
  if (h.fault == nullptr) {
    h.fault = x;
  } else {
    report_fault(x->call, FaultHow::kNotInjected, "pipelined behind another faulted request");
  }
}

void client_request_head(Connection& c, const http1::MessageHead& head, size_t end) {
  Http1& h = http1_of(c);
  if (!c.state.is_followed()) return;
  h.head = head;
  note_upgrade(http1_of(c), head);
  h.message_start = h.feed_base + end - head.head_size;
  h.sample_size = 0;
  h.decided = false;
  drop_fields(c);  // left by a request that never became whole
  find_target_of(c);
  if ((c.target.flags & (kTargetNever | kTargetIgnored)) == 0) {
    const RequestHead request = request_head(head);
    h.fields =
        begin_fields(own_service(), target_service(c.target, request, c.peer_name()), request);
  }
  const bool holdable =
      !head.expect_continue && !head.chunked &&
      (!head.has_content_length || (head.content_length <= lane_settings().max_held_body &&
                                    head.content_length + head.head_size <= kHoldCapacity));
  if (!holdable) decide(c, false, Hash128{});
}

void client_request_body(Connection& c, const char* data, size_t size) {
  Http1& h = http1_of(c);
  if (h.fields != nullptr) request_piece(h.fields, data, size);
  if (h.sample_size == kBodySample) return;
  const size_t take = std::min(size, kBodySample - h.sample_size);
  std::memcpy(h.sample + h.sample_size, data, take);
  h.sample_size = static_cast<uint16_t>(h.sample_size + take);
}

void client_request_complete(Connection& c, size_t end, Hash128 body, uint64_t size) {
  Http1& h = http1_of(c);
  const bool was_decided = h.decided;
  if (!was_decided && !c.state.is_followed()) return;
  if (h.fields != nullptr) body = request_whole(h.fields, body, size);
  if (!was_decided) decide(c, true, body);
  Exchange* x = h.current;
  h.fields = nullptr;  // they belong to the exchange now
  h.current = nullptr;
  h.decided = false;
  h.message_start = h.feed_base + end;
  c.wire.flushed_to = 0;
  if (x == nullptr) return;
  x->request_end = h.feed_base + end;
  if (was_decided && x->call.active) outgoing_body_complete(&x->call, body);
  if (x->fields != nullptr && x->call.active)
    report_request_fields(x->call.rpc, x->call.generation, x->call.execution, *x->fields);
  // An exchange with a fault stays open. The injection closes it, or whoever learns that the fault
  // cannot be injected.
  if (x != h.fault) finish_half(c, x, kRequestHalf);
}

}  // namespace filibuster::preload
