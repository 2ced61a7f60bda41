// The bytes of an HTTP/2 client on their way to the wire: they are parsed, their streams are decided, and each
// header block leaves with our field in it. All functions are called by the owner of the request flow.
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "core/fault/fault.h"
#include "core/protocol/relay.h"
#include "preload/protocols/http2/http2_connection.h"
#include "preload/stream/holds.h"
#include "preload/stream/tape.h"

namespace filibuster::preload {
namespace {

using http2::Direction;

// --- decisions -----------------------------------------------------------------------------------

OutgoingInfo what_its_head_says(const Connection& c, const StreamCall& x) {
  OutgoingInfo info;
  info.head = &x.head;
  info.target = c.target;
  info.peer = c.peer_name();
  info.fields = x.fields;
  return info;
}

void decide_stream(Connection& c, Http2Connection& h, StreamCall* x) {
  x->head.body_size = std::max(x->head.body_size, x->body_size);
  OutgoingInfo info = what_its_head_says(c, *x);
  info.body_complete = x->body_complete;
  info.body = x->body;
  info.origin = x->origin;
  info.body_sample = request_sample(*x);
  info.opens_connection = c.requests == 0;
  if (info.opens_connection) info.connect = c.connect.name;
  info.encrypted = c.transport.load() != nullptr;
  outgoing_begin(info, &x->call);
  if (taping() != 0) place_rpc(c, x->call, x->stream);
  drop_origin(x->origin);
  x->origin = nullptr;
  ++c.requests;
  // The relay of an earlier session has ended this connection. Its client has not heard of that yet, and
  // will try the request again.
  if (h.converted && c.generation != session_generation())
    report_unseen_requests(1, c.peer_name(), c.target.name());
  if (!h.lock.acquire()) {
    give_up(c, NotInterposedReason::kHttp2);
    return;
  }
  after_decision(x);
  h.lock.release();
}

// Decides the streams whose payload is known, and those that may not be held for it. `all`: decides the
// others, too. The lock must not be held, because reading a call stack may take a lock of the runtime.
void decide_streams(Connection& c, Http2Connection& h, bool all) {
  for (uint64_t i = h.first_block; i != h.end_block; ++i) {
    if (!c.state.is_followed()) return;
    StreamCall* x = h.block(i).call;
    if (x == nullptr || x->decided) continue;
    if (all || x->ready || !x->waits_for_body) decide_stream(c, h, x);
  }
}

// Notes who makes the undecided requests, because they will be held, and another thread may decide them.
// A request for which there is no room is decided now.
void note_makers(Connection& c, Http2Connection& h) {
  for (uint64_t i = h.first_block; i != h.end_block; ++i) {
    StreamCall* x = h.block(i).call;
    if (x == nullptr || x->decided || x->origin != nullptr) continue;
    if (!note_origin(what_its_head_says(c, *x), &x->origin)) decide_stream(c, h, x);
  }
}

bool waits_for_another_thread(Http2Connection& h) {
  for (uint64_t i = h.first_block; i != h.end_block; ++i) {
    const StreamCall* x = h.block(i).call;
    if (x != nullptr && !x->decided && x->body_follows) return true;
  }
  return false;
}

// --- what is ours in a block ---------------------------------------------------------------------

enum class Edited : uint8_t { kYes, kNoRoom, kImpossible };

char byte_at(const Wire& w, const Offer& offer, uint64_t position) {
  if (w.held != nullptr && position >= w.held_base && position < w.held_base + w.held_size) {
    return w.held->bytes[position - w.held_base];
  }
  char byte = 0;
  offer.pieces.copy(static_cast<size_t>(position - offer.base), &byte, 1);
  return byte;
}

std::string_view value_of(const OutgoingCall& call) {
  return {call.header_line + kHeaderName.size() + 2, kHeaderValueSize};
}

bool marks(const StreamCall* x) {
  return x != nullptr && (x->call.insert_header || x->call.overwrite_header);
}

bool carries_runtime_value(const StreamCall* x) {
  RuntimeField::Body body;
  return x != nullptr && is_runtime_value(x->head.filibuster, &body);
}

// Puts our field at the end of the block that the application wrote. The field goes out with the byte
// before it: as long as a part of the field is missing, the application is told that this byte was not sent,
// and comes back with it.
Edited insert_field(Connection& c, Http2Connection& h, const KeptBlock& kept, const Offer& offer) {
  EditedStream& wire = c.wire.edits;
  const StreamCall& x = *kept.call;
  http2::Insertion plan;
  if (kept.block.last_start < wire.position() ||
      !http2::plan_insertion(kept.block, x.list_size, h.view.settings_for(Direction::kRequests),
                             kHeaderName, value_of(x.call), &plan)) {
    report_note("a request over HTTP/2 could not be marked: its header list is as long as allowed");
    return Edited::kYes;
  }
  char field[1 + http2::kMaxInsertion];
  field[0] = byte_at(c.wire, offer, plan.insert_at - 1);
  std::memcpy(field + 1, plan.insert_bytes, plan.insert_size);
  if (wire.replace(plan.replace_at, plan.replacement()) &&
      wire.splice(plan.insert_at - 1, 1, {field, 1 + plan.insert_size})) {
    return Edited::kYes;
  }
  wire.drop_from(plan.replace_at);
  return Edited::kNoRoom;
}

void write_stream_order(const StreamCall& x, http2::Output& out) {
  StreamOrder order;
  if (x.head.is_grpc()) order.flags |= kOrderGrpc;
  if (x.head_request) order.flags |= kOrderHead;
  order.rpc = x.call.rpc;
  order.execution = x.call.execution;
  order.plan_entry = x.call.plan.id;
  char* to = out.reserve(kOrderFrameSize);
  if (to != nullptr) write_order(x.stream, order, to);
}

// Writes the block anew as literals, which do not depend on the table of the application's encoder.
Edited rewrite(Connection& c, Http2Connection& h, const KeptBlock& kept) {
  EditedStream& wire = c.wire.edits;
  StreamCall* x = kept.call;
  if (wire.has_edits()) return Edited::kNoRoom;
  if (!kept.whole || kept.block.start < wire.position()) return Edited::kImpossible;
  http2::Output frames(h.rewrite->frames, sizeof h.rewrite->frames);
  const bool faulted = x != nullptr && x->call.faulted;
  if (faulted && !x->ended) write_stream_order(*x, frames);
  h.rewriter.begin();
  h.rewriter.add_literals({h.literals + kept.literals, kept.literals_size});
  if (marks(x)) h.rewriter.add({kHeaderName, value_of(x->call), false});
  if (!h.rewriter.write(kept.block, h.view.settings_for(Direction::kRequests).max_frame_size,
                        frames) ||
      !wire.splice(kept.block.start, kept.block.end - kept.block.start, frames.view())) {
    return Edited::kImpossible;
  }
  if (faulted && x->call.active) {
    x->ordered = !x->ended;
    if (x->ordered && static_cast<FaultKind>(x->call.plan.kind) == FaultKind::kRefused)
      outgoing_refused_as_reset(x->call);
    report_fault(
        x->call, x->ordered ? FaultHow::kInjected : FaultHow::kNotInjected,
        x->ordered ? "in a stream of an HTTP/2 connection" : "given up by its caller first");
    x->call.faulted = false;
  }
  return Edited::kYes;
}

Edited edit_block(Connection& c, Http2Connection& h, const KeptBlock& kept, const Offer& offer) {
  const bool mark = marks(kept.call);
  if (!h.rewriting && !mark && carries_runtime_value(kept.call)) {
    // Where no field of ours may go, the helper's field can only be kept away by writing this block, and
    // every later one, anew.
    if (c.wire.edits.has_edits()) return Edited::kNoRoom;
    if (!begin_rewriting(c, h)) report_note("a field of a runtime's helper left the application");
  }
  if (h.rewriting) return rewrite(c, h, kept);
  return mark ? insert_field(c, h, kept, offer) : Edited::kYes;
}

// --- the wire ------------------------------------------------------------------------------------

// How far the blocks let bytes leave. `fault`: the first block has a planned fault, for which the
// connection must be converted.
struct Blocks {
  uint64_t limit = 0;
  bool more = false, fault = false;
};

// Releases the blocks that may leave, in their order.
Blocks release_blocks(Connection& c, Http2Connection& h, const Offer& offer) {
  if (!h.lock.acquire()) {
    give_up(c, NotInterposedReason::kHttp2);
    return {offer.end};
  }
  const bool given_up = !c.state.is_followed();
  Blocks out;
  out.limit = given_up
                  ? offer.end
                  : std::min(offer.end, h.origin + h.view.parser(Direction::kRequests).hold_from());
  if (given_up && !h.rewriting) h.drop_blocks();
  while (KeptBlock* kept = h.front()) {
    if (kept->block.start >= out.limit) break;
    const StreamCall* x = kept->call;
    const bool decided = x == nullptr || x->decided || given_up;
    // This call offered only a part of the block.
    if (!decided || kept->block.end > offer.end) {
      out.limit = kept->block.start;
      break;
    }
    if (x != nullptr && x->call.active && x->call.faulted && !h.converted) {
      out = {kept->block.start, false, true};
      break;
    }
    const Edited edited = edit_block(c, h, *kept, offer);
    if (edited == Edited::kNoRoom) {
      out = {kept->block.start, true};
      break;
    }
    if (edited == Edited::kImpossible) {
      report_note("a header block could not be written anew: its connection goes on without us");
      give_up(c, NotInterposedReason::kHttp2);
      h.rewriting = false;
      h.drop_blocks();
      out.limit = offer.end;
      break;
    }
    h.last_released = std::max(h.last_released, kept->block.stream);
    h.drop_front();
  }
  h.lock.release();
  return out;
}

}  // namespace

void Http2Connection::offered(Connection& c, const Offer& offer, uint64_t from) {
  if (!wire_ready) {
    c.wire.edits.use(edits, kMaxWireEdits, edit_bytes, sizeof edit_bytes);
    wire_ready = true;
  }
  feed_http2(c, *this, Direction::kRequests, offer.pieces, static_cast<size_t>(from - offer.base),
             static_cast<size_t>(offer.end - from));
  decide_streams(c, *this, false);
  note_makers(c, *this);
}

Released Http2Connection::release(Connection& c, int fd, const Offer& offer, Sending sending) {
  for (;;) {
    const Blocks blocks = release_blocks(c, *this, offer);
    if (blocks.more) return {blocks.limit, Released::Then::kMore};
    if (!blocks.fault) return {blocks.limit, Released::Then::kHold};
    // A fault is placed when the wire stands at the start of the block.
    if (c.wire.edits.position() < blocks.limit) return {blocks.limit, Released::Then::kMore};
    if (sending == Sending::kAside) return {blocks.limit, Released::Then::kHold};
    begin_fault(c, *this, fd);
  }
}

int Http2Connection::patience_ms(Connection&) {
  return waits_for_another_thread(*this) ? kPatienceWherePromisedMs : 0;
}

bool Http2Connection::press(Connection& c, int times) {
  if (times == 1) {
    decide_streams(c, *this, true);
  } else if (times == 2) {
    report_note("more of an HTTP/2 connection had to be held than there is room for");
    give_up(c, NotInterposedReason::kHttp2);
  }
  return times <= 2;
}

void Http2Connection::decide_held(Connection& c) {
  decide_streams(c, *this, true);
}

uint64_t Http2Connection::flush_limit(Connection& c, uint64_t released, bool closing) {
  return closing ? c.wire.accepted : released;
}

void Http2Connection::forget_ahead(Connection&) {
  rewriting = false;
  drop_http2_blocks(*this);
}

bool Http2Connection::skipped(Connection&, uint64_t size) {
  if (!lock.acquire()) return false;
  end_request_samples(*this);
  const http2::Error error = view.skip_data(Direction::kRequests, size);
  lock.release();
  return error == http2::Error::kNone;
}

}  // namespace filibuster::preload
