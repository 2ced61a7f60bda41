// A client's bytes of HTTP/2 on their way: parsed, decided stream by stream, each header block
// released with what is ours in it. Owner of the request flow.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/fault/fault.h"
#include "core/protocol/relay.h"
#include "preload/protocols/http1/request_steps.h"
#include "preload/protocols/http1/request_writer.h"
#include "preload/protocols/http2/http2.h"
#include "preload/protocols/http2/http2_connection.h"
#include "preload/rpc/fields.h"
#include "preload/stream/holds.h"
#include "preload/stream/registry.h"
#include "preload/stream/transmit.h"

namespace filibuster::preload {
namespace {

using http2::Direction;

// The application's bytes that were not accepted before, at position `base`.
struct Offer {
  const iovec* pieces = nullptr;
  size_t count = 0;
  uint64_t base = 0;
  uint64_t end = 0;
};

// --- decisions
// ------------------------------------------------------------------------------------

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
  info.opens_connection = c.writer.requests == 0;
  if (info.opens_connection) info.connect = c.connect.name;
  outgoing_begin(info, &x->call);
  drop_origin(x->origin);
  x->origin = nullptr;
  ++c.writer.requests;
  // The relay of an earlier session has ended it, of which its client has not heard yet: it will try
  // again.
  if (h.converted && c.generation != session_generation())
    report_unseen_requests(1, c.peer_name(), c.target.name());
  if (!h.lock.acquire()) {
    give_up(c, NotInterposedReason::kHttp2);
    return;
  }
  after_decision(x);
  h.lock.release();
}

// Those whose payload is known, and those for whose payload nothing may be held. `all`: the others,
// too. Not in the lock: a call stack may take the runtime's own.
void decide_streams(Connection& c, Http2Connection& h, bool all) {
  for (uint64_t i = h.first_block; i != h.end_block; ++i) {
    if (c.given_up.load(std::memory_order_relaxed)) return;
    StreamCall* x = h.block(i).call;
    if (x == nullptr || x->decided) continue;
    if (all || x->ready || !x->waits_for_body) decide_stream(c, h, x);
  }
}

// What is not decided yet is to be held: who makes it is known now. Where there is no room for that, it
// is decided.
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

// --- what is ours in a block
// -----------------------------------------------------------------------

enum class Edited : uint8_t { kYes, kNoRoom, kImpossible };

char byte_at(const RequestWriter& w, const Offer& offer, uint64_t position) {
  if (w.held != nullptr && position >= w.held_base && position < w.held_base + w.held_size) {
    return w.held->bytes[position - w.held_base];
  }
  char byte = 0;
  gather(offer.pieces, offer.count, static_cast<size_t>(position - offer.base), &byte, 1);
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

// The field at the end of the block as the application wrote it. It goes out with the byte before
// it: as long as a part of it is missing, the application has a byte to come back for.
Edited insert_field(Connection& c, Http2Connection& h, const KeptBlock& kept, const Offer& offer) {
  EditedStream& wire = c.writer.wire;
  const StreamCall& x = *kept.call;
  http2::Insertion plan;
  if (kept.block.last_start < wire.position() ||
      !http2::plan_insertion(kept.block, x.list_size, h.view.settings_for(Direction::kRequests),
                             kHeaderName, value_of(x.call), &plan)) {
    report_note("a request over HTTP/2 could not be marked: its header list is as long as allowed");
    return Edited::kYes;
  }
  char field[1 + http2::kMaxInsertion];
  field[0] = byte_at(c.writer, offer, plan.insert_at - 1);
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
  if (x.head.grpc) order.flags |= kOrderGrpc;
  if (x.head_request) order.flags |= kOrderHead;
  order.rpc = x.call.rpc;
  order.execution = x.call.execution;
  order.plan_entry = x.call.plan.id;
  char* to = out.reserve(kOrderFrameSize);
  if (to != nullptr) write_order(x.stream, order, to);
}

// The block in other words: literals, whatever the application's encoder has in its table.
Edited rewrite(Connection& c, Http2Connection& h, const KeptBlock& kept) {
  EditedStream& wire = c.writer.wire;
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
    // Where none of our fields may go, the helper's stays away only if the block is written anew,
    // and with it every one after it.
    if (c.writer.wire.has_edits()) return Edited::kNoRoom;
    if (!begin_rewriting(c, h)) report_note("a field of a runtime's helper left the application");
  }
  if (h.rewriting) return rewrite(c, h, kept);
  return mark ? insert_field(c, h, kept, offer) : Edited::kYes;
}

// --- the wire
// -------------------------------------------------------------------------------------

struct Released {
  uint64_t limit = 0;  // of the application's bytes, those before it may leave
  enum class Then : uint8_t { kHold, kMore, kFault } then = Then::kHold;
};

// Lets go of the blocks that may leave, in order.
Released release_blocks(Connection& c, Http2Connection& h, const Offer& offer) {
  using Then = Released::Then;
  if (!h.lock.acquire()) {
    give_up(c, NotInterposedReason::kHttp2);
    return {offer.end, Then::kHold};
  }
  const bool given_up = c.given_up.load(std::memory_order_relaxed);
  Released out;
  out.limit = given_up
                  ? offer.end
                  : std::min(offer.end, h.origin + h.view.parser(Direction::kRequests).hold_from());
  if (given_up && !h.rewriting) h.drop_blocks();
  while (KeptBlock* kept = h.front()) {
    if (kept->block.start >= out.limit) break;
    const StreamCall* x = kept->call;
    const bool decided = x == nullptr || x->decided || given_up;
    // Not all of it was offered this time.
    if (!decided || kept->block.end > offer.end) {
      out.limit = kept->block.start;
      break;
    }
    if (x != nullptr && x->call.active && x->call.faulted && !h.converted) {
      out = {kept->block.start, Then::kFault};
      break;
    }
    const Edited edited = edit_block(c, h, *kept, offer);
    if (edited == Edited::kNoRoom) {
      out = {kept->block.start, Then::kMore};
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

// Sends what may leave. Returns 0 or the errno that stopped it; `*limit` is where it may go no
// further. `faulting`: faults are placed.
int push(Connection& c, Http2Connection& h, int fd, const Offer& offer, int flags,
         uint64_t* limit, bool faulting = true) {
  for (;;) {
    const Released released = release_blocks(c, h, offer);
    *limit = released.limit;
    const int stopped =
        transmit(c, fd, offer.pieces, offer.count, offer.base, released.limit, flags);
    if (stopped != 0 || c.writer.wire.position() < released.limit) return stopped;
    if (released.then == Released::Then::kHold) return 0;
    if (released.then != Released::Then::kFault) continue;
    if (!faulting) return 0;
    begin_fault(c, h, fd);
  }
}

// Feeds what the parser has not seen.
void parse(Connection& c, Http2Connection& h, const Offer& offer) {
  RequestWriter& w = c.writer;
  const bool same =
      came_back(c, offer.pieces, offer.count, static_cast<size_t>(offer.end - offer.base));
  if (!same) {
    h.rewriting = false;
    drop_http2_blocks(c);
  }
  const uint64_t from = w.fed;
  w.fed = std::max(w.fed, offer.end);
  if (c.given_up.load(std::memory_order_relaxed) || from >= offer.end) return;
  feed_http2(c, h, Direction::kRequests, offer.pieces, offer.count,
             static_cast<size_t>(from - offer.base), static_cast<size_t>(offer.end - from));
  decide_streams(c, h, false);
  note_makers(c, h);
}

}  // namespace

ssize_t send_http2(Connection& c, int fd, const iovec* pieces, size_t count, size_t offered,
                   int flags, int* error) {
  RequestWriter& w = c.writer;
  Http2Connection& h = *c.http2.load(std::memory_order_acquire);
  if (!h.wire_ready) {
    w.wire.use(h.edits, kMaxWireEdits, h.edit_bytes, sizeof h.edit_bytes);
    h.wire_ready = true;
  }
  const Offer offer{pieces, count, w.accepted, w.accepted + offered};
  parse(c, h, offer);
  if (c.given_up.load(std::memory_order_relaxed) && !h.rewriting && w.held_size == 0 &&
      !w.wire.has_edits()) {
    w.wire.reset();
    return kNotHandled;
  }
  uint64_t limit = 0;
  int stopped = push(c, h, fd, offer, flags, &limit);
  for (int tries = 0; stopped == 0 && w.wire.position() >= limit && limit < offer.end; ++tries) {
    if (watch_hold(c, fd) &&
        hold(w, pieces, count, offer.base, std::max(limit, offer.base), offer.end)) {
      w.accepted = offer.end;
      remember_hold(c, fd);
      if (waits_for_another_thread(h)) hold_patiently();
      update_debt(c);
      return static_cast<ssize_t>(offered);
    }
    // Too much to hold: decide with what is known, or do without.
    if (tries == 0) {
      decide_streams(c, h, true);
    } else if (tries == 1) {
      report_note("more of an HTTP/2 connection had to be held than there is room for");
      give_up(c, NotInterposedReason::kHttp2);
    } else {
      break;
    }
    stopped = push(c, h, fd, offer, flags, &limit);
  }
  w.accepted = std::max(offer.base, w.wire.position());
  const uint64_t taken = w.accepted - offer.base;
  if (w.fed > w.accepted) {
    const size_t left = offered - static_cast<size_t>(taken);
    w.ahead_size = static_cast<uint8_t>(std::min(left, sizeof w.ahead));
    gather(pieces, count, static_cast<size_t>(taken), w.ahead, w.ahead_size);
  }
  update_debt(c);
  if (taken != 0) return static_cast<ssize_t>(taken);
  *error = stopped != 0 ? stopped : EAGAIN;
  if (stopped != EAGAIN && stopped != EINTR && stopped != 0) c.last_error = stopped;
  return -1;
}

int flush_http2(Connection& c, int fd, Http2Flush how) {
  RequestWriter& w = c.writer;
  Http2Connection& h = *c.http2.load(std::memory_order_acquire);
  decide_streams(c, h, true);
  const Offer nothing{nullptr, 0, w.accepted, w.accepted};
  uint64_t limit = 0;
  const int stopped = push(c, h, fd, nothing, MSG_DONTWAIT | MSG_NOSIGNAL, &limit,
                           how != Http2Flush::kUnfaulted);
  // The peer makes nothing of a part of a frame: it stays with us as long as the rest may come.
  if (stopped != 0 || how != Http2Flush::kAll) return stopped;
  return transmit(c, fd, nullptr, 0, w.accepted, w.accepted, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void skip_http2_body(Connection& c, size_t size) {
  RequestWriter& w = c.writer;
  Http2Connection& h = *c.http2.load(std::memory_order_acquire);
  if (w.fed != w.accepted || w.held_size != 0 || w.wire.has_edits()) {
    give_up(c, NotInterposedReason::kSpliced);
    return;
  }
  if (!h.lock.acquire()) {
    give_up(c, NotInterposedReason::kSpliced);
    return;
  }
  end_request_samples(h);
  const http2::Error error = h.view.skip_data(Direction::kRequests, size);
  h.lock.release();
  if (error != http2::Error::kNone) give_up(c, NotInterposedReason::kSpliced);
  w.wire.advance(size);
  w.accepted += size;
  w.fed = w.accepted;
}

}  // namespace filibuster::preload
