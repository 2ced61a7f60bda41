#include "preload/stream/sender.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/inject/inject.h"
#include "preload/os/raw_syscall.h"
#include "preload/session/state.h"
#include "preload/stream/delivery.h"
#include "preload/stream/holds.h"
#include "preload/stream/recognition.h"
#include "preload/stream/tape.h"

namespace filibuster::preload {

void update_debt(Connection& c) {
  Wire& w = c.wire;
  // A connection that is given up keeps it: a send that a signal handler has interrupted may go on with its bytes.
  if (!w.edits.has_edits() && c.state.is_followed()) give_back_edit_room(w);
  if (c.holding.load(std::memory_order_relaxed) != (w.held_size != 0))
    c.holding.store(w.held_size != 0);
  const Followed* protocol = c.protocol();
  const bool owes = w.held_size != 0 || w.edits.has_edits() || c.aside.load() >= 0 ||
                    (protocol != nullptr && protocol->owes());
  // `debt` is written by the owner of the request flow, or by whoever closes the last descriptor.
  if (c.debt.load(std::memory_order_relaxed) != owes && c.debt.exchange(owes) != owes) {
    if (owes) {
      g_debts.fetch_add(1, std::memory_order_relaxed);
    } else {
      g_debts.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  if (!owes && c.state.is_settled()) {
    c.state.change(ConnectionState::Event::kClear);
  }
}

namespace {

// Checks that the bytes which were seen ahead of their sending are those that are offered now. If not, what was
// read of them was never sent, and the connection is given up.
void check_came_back(Connection& c, const Offer& offer) {
  Wire& w = c.wire;
  const size_t ahead = static_cast<size_t>(w.fed - w.accepted);
  if (ahead == 0) return;
  char again[sizeof w.ahead];
  const size_t size =
      std::min<size_t>({w.ahead_size, ahead, static_cast<size_t>(offer.end - offer.base)});
  offer.pieces.copy(0, again, size);
  if (std::memcmp(again, w.ahead, size) == 0) return;
  w.edits.drop_from(w.accepted);
  w.fed = w.accepted;
  if (c.last_error != 0) {
    give_up_silently(c);  // the socket was broken when it refused them
  } else {
    give_up(c, NotInterposedReason::kMidStream);
  }
  if (Followed* protocol = c.protocol()) protocol->forget_ahead(c);
}

// Shows the protocol the offered bytes that it has not seen yet.
void show(Connection& c, int fd, const Offer& offer) {
  Wire& w = c.wire;
  check_came_back(c, offer);
  const uint64_t from = w.fed;
  w.fed = std::max(w.fed, offer.end);
  if (!c.state.is_followed() || from >= offer.end) return;
  Followed* protocol = c.protocol();
  const Tapped tapped{fd, protocol == nullptr};
  if (protocol == nullptr) {
    const size_t size = static_cast<size_t>(offer.end - offer.base);
    protocol = recognise(c, Traffic::kRequests, offer.pieces,
                         static_cast<size_t>(from - offer.base), size);
    if (protocol == nullptr) return;
  }
  // The kept bytes come first, also if the other direction has told the protocol.
  if (has_kept(c, Traffic::kRequests)) {
    const KeptBytes kept = take_kept(c, Traffic::kRequests);
    const iovec before{const_cast<char*>(kept.bytes), kept.size};
    if (taping_bytes() != 0) tape_bytes(c, tapped, Traffic::kRequests, before, 0, kept.size);
    protocol->offered(c, {before, from - kept.size, from}, from - kept.size);
  }
  if (!c.state.is_followed()) return;
  if (taping_bytes() != 0)
    tape_bytes(c, tapped, Traffic::kRequests, offer.pieces, static_cast<size_t>(from - offer.base),
               static_cast<size_t>(offer.end - from));
  protocol->offered(c, offer, from);
}

// Remembers the first bytes that were seen and not accepted.
void remember_ahead(Connection& c, Pieces pieces, size_t offered, size_t taken) {
  Wire& w = c.wire;
  if (w.fed <= w.accepted) return;
  w.ahead_size = static_cast<uint8_t>(std::min(offered - taken, sizeof w.ahead));
  pieces.copy(taken, w.ahead, w.ahead_size);
}

// No byte leaves before the protocol is known. All bytes may leave once none is followed any more.
Released release(Connection& c, int fd, const Offer& offer, Sending sending) {
  Followed* protocol = c.protocol();
  if (protocol != nullptr) return protocol->release(c, fd, offer, sending);
  const bool undecided = sending == Sending::kOffered && c.state.is_followed();
  return {undecided ? c.wire.edits.position() : offer.end, {}};
}

// The descriptor that takes the bytes. While a pair with our answer stands in its place, it is the real one.
int real_descriptor(const Connection& c, int fd) {
  const int aside = c.aside.load();
  return aside >= 0 ? aside : fd;
}

// Sends what may leave. Returns 0 or the errno that stopped it; `*released` is what came last.
int push(Connection& c, int fd, const Offer& offer, int flags, Sending sending,
         Released* released) {
  for (;;) {
    *released = release(c, fd, offer, sending);
    if (released->then == Released::Then::kSwallow) return 0;
    const int stopped =
        transmit(c.wire, real_descriptor(c, fd), offer.pieces, offer.base, released->limit, flags);
    if (stopped != 0 || c.wire.edits.position() < released->limit) return stopped;
    if (released->then == Released::Then::kHold) return 0;
  }
}

// If another thread is inside, it is only waited for if we hold bytes, because these must come first.
enum class Entry : uint8_t { kOwned, kOvertake, kBusy };
Entry acquire_to_send(Connection& c) {
  if (enter_requests(c)) return Entry::kOwned;
  const uint64_t deadline = now_ns() + kFlushWaitNs;
  for (;;) {
    const Followed* protocol = c.protocol();
    const bool ours =
        c.debt.load() || c.ending.load() || (protocol != nullptr && protocol->sends_in_turn());
    raw_syscall(SYS_sched_yield);
    if (c.request_flow.acquire()) return Entry::kOwned;
    if (!ours) break;
    if (now_ns() > deadline) return Entry::kBusy;
  }
  give_up(c, NotInterposedReason::kMidStream);
  return Entry::kOvertake;
}

bool hold_rest(Connection& c, int fd, const Offer& offer, uint64_t limit) {
  Followed* protocol = c.protocol();
  Wire& w = c.wire;
  if (protocol != nullptr && !protocol->may_hold(c)) return false;
  if (w.transport != nullptr && !w.transport->may_hold()) return false;
  if (!watch_hold(c, fd) ||
      !hold(w, offer.pieces, offer.base, std::max(limit, offer.base), offer.end))
    return false;
  w.accepted = offer.end;
  remember_hold(c, fd);
  hold_patiently(protocol == nullptr ? kPatienceMs : protocol->patience_ms(c));
  update_debt(c);
  return true;
}

IoResult send_owned(Connection& c, int fd, Pieces pieces, size_t offered, int flags) {
  Wire& w = c.wire;
  if (c.state.is_replaced()) {
    // A fault has fired before the whole request was written, so the rest of the request is dropped.
    if (Followed* protocol = c.protocol()) protocol->swallowed(c);
    return {swallows_writes(fd) ? static_cast<ssize_t>(offered) : kNotHandled, 0};
  }
  const Offer offer{pieces, w.accepted, w.accepted + offered};
  show(c, fd, offer);
  Followed* protocol = c.protocol();
  if (!c.state.is_followed() && w.held_size == 0 && !w.edits.has_edits() && c.aside.load() < 0 &&
      (protocol == nullptr || (!protocol->cannot_be_left() && !protocol->waits_for_its_fault(c)))) {
    w.edits.reset();
    return {kNotHandled, 0};
  }
  Released released;
  int stopped = push(c, fd, offer, flags, Sending::kOffered, &released);
  const auto stays = [&] {
    return stopped == 0 && released.then != Released::Then::kSwallow &&
           w.edits.position() >= released.limit && released.limit < offer.end;
  };
  for (int times = 1; stays(); ++times) {
    if (hold_rest(c, fd, offer, released.limit)) return {static_cast<ssize_t>(offered), 0};
    if (protocol == nullptr) {
      give_up(c, NotInterposedReason::kUnknownProtocol);
    } else if (!protocol->press(c, times)) {
      break;
    }
    stopped = push(c, fd, offer, flags, Sending::kOffered, &released);
  }
  if (released.then == Released::Then::kSwallow) return {static_cast<ssize_t>(offered), 0};
  w.accepted = std::max(offer.base, w.edits.position());
  const auto taken = static_cast<size_t>(w.accepted - offer.base);
  remember_ahead(c, pieces, offered, taken);
  if (protocol != nullptr) protocol->sent(c, fd);
  update_debt(c);
  if (taken != 0) return {static_cast<ssize_t>(taken), 0};
  if (stopped != EAGAIN && stopped != EINTR && stopped != 0) c.last_error = stopped;
  return {-1, stopped != 0 ? stopped : EAGAIN};
}

}  // namespace

IoResult send_offered(Connection& c, int fd, Pieces pieces, int flags) {
  const size_t offered = pieces.size();
  if (offered == 0) return {kNotHandled, 0};
  switch (acquire_to_send(c)) {
    case Entry::kOwned:
      break;
    case Entry::kOvertake:
      return {kNotHandled, 0};
    case Entry::kBusy:
      return {-1, EAGAIN};
  }
  const IoResult result = send_owned(c, fd, pieces, offered, flags);
  c.request_flow.release();
  settle(c);
  go_on(c, fd);  // a reader may have left this to us
  return result;
}

bool enter_requests(Connection& c) {
  if (c.request_flow.acquire()) return true;
  uint32_t thread = c.sending.load();
  if (thread == 0) return false;
  const bool gone = raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), thread, 0) == -ESRCH;
  if ((!gone && thread != thread_id()) || !c.sending.compare_exchange_strong(thread, 0))
    return false;
  Wire& w = c.wire;
  // This runs in a signal handler. The send that it has interrupted goes on with the held bytes afterwards.
  if (!gone) {
    w.abandoned.store(w.held);
    w.held = nullptr;
  }
  release_hold(w);
  w.edits.reset();
  w.fed = w.accepted;
  give_up(c, NotInterposedReason::kMidStream);
  return true;
}

WaitingSend begin_waiting_send(Connection& c, Pieces pieces, OnTheWire* out) {
  if (!enter_requests(c)) return WaitingSend::kBusy;
  Wire& w = c.wire;
  // If another thread has sent meanwhile, nobody knows how much may go out.
  const bool still = w.stopped_by == thread_id() && !c.state.is_replaced() && c.aside.load() < 0;
  if (still) {
    lay_out(w, pieces, w.accepted, std::min(w.stopped_at, w.accepted + pieces.size()), out);
  }
  if (!still || out->bytes == 0) {
    c.request_flow.release();
    return WaitingSend::kNothing;
  }
  c.sending.store(thread_id());
  return WaitingSend::kReady;
}

namespace {

// How many of the bytes that went out are the application's own, neither held before nor ours.
size_t of_the_application(const OnTheWire& out, size_t sent, Pieces pieces) {
  size_t taken = 0;
  Pieces(out.vectors, out.count).each(0, sent, [&](const char* at, size_t size) {
    taken += std::any_of(pieces.begin(), pieces.end(),
                         [&](const iovec& piece) {
                           const auto* from = static_cast<const char*>(piece.iov_base);
                           return at >= from && at < from + piece.iov_len;
                         })
                 ? size
                 : 0;
    return true;
  });
  return taken;
}

}  // namespace

size_t end_waiting_send(Connection& c, int fd, Pieces pieces, const OnTheWire& out, IoResult sent) {
  uint32_t self = thread_id();
  const size_t bytes = sent.size < 0 ? 0 : static_cast<size_t>(sent.size);
  Wire& w = c.wire;
  if (!c.sending.compare_exchange_strong(self, 0)) {
    // A signal handler has sent on this connection meanwhile, and took the flow for abandoned.
    give_back(w.abandoned.exchange(nullptr));
    return of_the_application(out, bytes, pieces);
  }
  if (sent.size < 0 && sent.error != EAGAIN && sent.error != EINTR) c.last_error = sent.error;
  note_sent(w, bytes);
  const uint64_t before = w.accepted;
  w.accepted = std::max(before, w.edits.position());
  const auto taken = static_cast<size_t>(w.accepted - before);
  remember_ahead(c, pieces, pieces.size(), taken);
  if (Followed* protocol = c.protocol()) protocol->sent(c, fd);
  update_debt(c);
  c.request_flow.release();
  settle(c);
  go_on(c, fd);
  return taken;
}

namespace {

// `stopped`: the errno that ended the connection, or 0.
void after_flush(Connection& c, int stopped) {
  Wire& w = c.wire;
  if (stopped != 0) {
    c.deferred_error.store(stopped);
    c.last_error = stopped;
    release_hold(w);
    w.edits.reset();
    give_up_silently(c);
  }
  w.flushed_to = w.edits.position();
}

// Sends held bytes as far as the protocol releases them. Returns 0 or the errno that stopped it.
int push_held(Connection& c, int fd, Sending sending, bool closing, Released* released) {
  const Offer nothing{{}, c.wire.accepted, c.wire.accepted};
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  const int stopped = push(c, fd, nothing, kFlags, sending, released);
  Followed* protocol = c.protocol();
  if (stopped != 0 || released->then == Released::Then::kSwallow || protocol == nullptr)
    return stopped;
  const uint64_t limit = protocol->flush_limit(c, released->limit, closing);
  return limit <= released->limit
             ? 0
             : transmit(c.wire, real_descriptor(c, fd), {}, nothing.base, limit, kFlags);
}

}  // namespace

bool flush(Connection& c, int fd, bool closing) {
  Wire& w = c.wire;
  if (!c.debt.load()) return true;
  if (!enter_requests(c)) return false;  // the owner of the flow sends them
  bool clean = true;
  if (w.held_size != 0) {
    Followed* protocol = c.protocol();
    if (protocol != nullptr) protocol->decide_held(c);
    Released released;
    const uint64_t deadline = now_ns() + kFlushWaitNs;
    int stopped;
    for (;;) {
      stopped = push_held(c, fd, Sending::kFlushed, closing, &released);
      if (stopped == EINTR) continue;
      if (stopped != EAGAIN) break;
      // A blocking descriptor would have blocked in the application's own send.
      if (is_nonblocking(fd) && now_ns() > deadline) break;
      wait_writable(real_descriptor(c, fd), 100);
    }
    if (released.then != Released::Then::kSwallow) {
      after_flush(c, stopped == EAGAIN ? 0 : stopped);
      if (w.transport != nullptr) w.transport->flushed(fd);
      if (protocol != nullptr) protocol->sent(c, fd);
      clean = w.held_size == 0;
    }
  }
  update_debt(c);
  c.request_flow.release();
  settle(c);
  if (c.aside.load() >= 0) go_on(c, fd);  // a reader may have found us inside
  return clean;
}

namespace {

// Uses a copy of the descriptor, because the application may close the number meanwhile, and it may name
// another file then.
bool send_held_by_copy(Connection& c, int fd) {
  const long made = duplicate_high(fd);
  if (made < 0) return made == -EBADF;
  const int copy = static_cast<int>(made);
  bool done = true;
  if (socket_cookie(copy) == c.cookie) {
    Released released;
    const int stopped = push_held(c, copy, Sending::kAside, false, &released);
    done = stopped != EAGAIN && stopped != EINTR;
    if (c.wire.transport != nullptr) c.wire.transport->flushed(copy);
    after_flush(c, done ? stopped : 0);
  }
  release_descriptor(copy);
  return done;
}

}  // namespace

bool send_held(Connection& c, int fd) {
  Transport* const transport = c.transport.load();
  if (transport != nullptr && !transport->enter()) return false;
  if (!enter_requests(c)) {
    if (transport != nullptr) transport->leave();
    return false;
  }
  bool done = true;
  if (c.wire.held_size != 0 && !c.state.is_replaced()) {
    // The session in which these bytes were held is over, so there is nothing to decide.
    if (c.generation != session_generation()) give_up_silently(c);
    Followed* protocol = c.protocol();
    if (protocol != nullptr) protocol->decide_held(c);
    if (protocol == nullptr || !protocol->waits_for_its_fault(c)) done = send_held_by_copy(c, fd);
  }
  update_debt(c);
  if (transport != nullptr) transport->leave();
  c.request_flow.release();
  settle(c);
  return done;
}

void skip_sent(Connection& c, uint64_t size) {
  if (!c.state.is_followed()) return;
  if (!c.request_flow.acquire()) {
    give_up(c, NotInterposedReason::kSpliced);
    return;
  }
  Wire& w = c.wire;
  Followed* protocol = c.protocol();
  if (!w.is_still() || protocol == nullptr || !protocol->skipped(c, size))
    give_up(c, NotInterposedReason::kSpliced);
  if (w.is_still()) {
    w.edits.advance(size);
    w.accepted += size;
    w.fed = w.accepted;
  }
  if (taping() != 0 && c.state.is_followed()) tape_gap(c, Traffic::kRequests, size);
  c.request_flow.release();
  settle(c);
}

void forget_holds(Connection& c) {
  release_hold(c.wire);
  c.wire.edits.reset();
  if (c.debt.exchange(false)) g_debts.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace filibuster::preload
