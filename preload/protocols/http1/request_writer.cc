#include "preload/protocols/http1/request_writer.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/inject/inject.h"
#include "preload/os/raw_syscall.h"
#include "preload/protocols/http1/request_steps.h"
#include "preload/protocols/http1/server_side.h"
#include "preload/protocols/http2/http2.h"
#include "preload/protocols/http2/retirement.h"
#include "preload/rpc/fields.h"
#include "preload/session/state.h"
#include "preload/stream/holds.h"
#include "preload/stream/registry.h"
#include "preload/stream/transmit.h"

namespace filibuster::preload {

void update_debt(Connection& c) {
  const RequestWriter& w = c.writer;
  if (c.holding.load(std::memory_order_relaxed) != (w.held_size != 0))
    c.holding.store(w.held_size != 0);
  const bool owes = w.held_size != 0 || w.wire.has_edits() || must_be_rewritten(c) || owes_retirement(c);
  // Written by the owner of the request flow, or by the last one to close.
  if (c.debt.load(std::memory_order_relaxed) != owes && c.debt.exchange(owes) != owes) {
    if (owes) {
      g_debts.fetch_add(1, std::memory_order_relaxed);
    } else {
      g_debts.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  if (!owes && c.settled.load() && !c.replaced.load()) {
    c.passing.store(true, std::memory_order_relaxed);
  }
}

namespace {

bool undecided(const Connection& c) {
  if (c.given_up.load(std::memory_order_relaxed)) return false;
  if (c.preface_kept != 0 && !c.is_recognized()) return true;
  const http1::ParseState state = c.requests.state();
  return state == http1::ParseState::kHead ||
         (state == http1::ParseState::kBody && !c.writer.decided);
}

}  // namespace

// --- parsing -----------------------------------------------------------------------------------

bool came_back(Connection& c, const iovec* pieces, size_t count, size_t offered) {
  RequestWriter& w = c.writer;
  const size_t ahead = static_cast<size_t>(w.fed - w.accepted);
  if (ahead == 0) return true;
  char again[sizeof w.ahead];
  const size_t size = std::min<size_t>({w.ahead_size, ahead, offered});
  gather(pieces, count, 0, again, size);
  if (std::memcmp(again, w.ahead, size) == 0) return true;
  w.wire.drop_from(w.accepted);
  w.fed = w.accepted;
  if (c.last_error != 0) {
    give_up_silently(c);  // it was broken when it refused them
  } else {
    give_up(c, NotInterposedReason::kMidStream);
  }
  return false;
}

namespace {

// Feeds what the parser has not seen of the bytes offered at position `accepted`.
void parse(Connection& c, const iovec* pieces, size_t count, size_t offered) {
  RequestWriter& w = c.writer;
  const uint64_t end = w.accepted + offered;
  came_back(c, pieces, count, offered);
  if (c.given_up.load(std::memory_order_relaxed)) {
    w.fed = std::max(w.fed, end);
    return;
  }
  if (!c.is_recognized()) {
    recognize_requests(c, pieces, count, static_cast<size_t>(w.fed - w.accepted), offered);
    if (c.http2.load(std::memory_order_acquire) != nullptr) return;  // for send_http2
    if (!c.is_recognized()) {
      w.fed = std::max(w.fed, end);
      return;
    }
  }
  if (c.requests.state() == http1::ParseState::kUpgraded) {
    // A tunnel was asked for. Declined: what follows is not known.
    if (c.exchanges.empty()) give_up(c, NotInterposedReason::kUpgraded);
    w.fed = end;
    return;
  }
  if (w.fed == 0 && c.requests.state() == http1::ParseState::kStart &&
      !looks_like_requests(c, pieces, count, offered)) {
    w.fed = end;
    return;
  }
  uint64_t base = w.accepted;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t piece_end = base + pieces[i].iov_len;
    if (w.fed < piece_end) {
      const size_t skip = static_cast<size_t>(w.fed - base);
      w.feed_base = w.fed;
      if (c.requests.state() == http1::ParseState::kStart) w.message_start = w.fed;
      w.fed = piece_end;
      const http1::ParseState state = c.requests.feed(
          static_cast<const char*>(pieces[i].iov_base) + skip, pieces[i].iov_len - skip);
      if (state == http1::ParseState::kInvalid) give_up(c, NotInterposedReason::kUnknownProtocol);
      if (c.given_up.load(std::memory_order_relaxed) || state == http1::ParseState::kUpgraded) {
        w.fed = end;
        return;
      }
    }
    base = piece_end;
  }
}

// Where another thread is inside, only a debt of ours must be waited for: its bytes come first. (Of
// HTTP/2 it is always ours: a program that writes frames writes them one after the other.)
enum class Entry : uint8_t { kOwned, kOvertake, kBusy };
Entry acquire_to_send(Connection& c) {
  if (enter_requests(c)) return Entry::kOwned;
  const uint64_t deadline = monotonic_ns() + kFlushWaitNs;
  for (;;) {
    const bool ours = c.debt.load() || c.ending.load() ||
                      c.http2.load(std::memory_order_acquire) != nullptr;
    raw_syscall(SYS_sched_yield);
    if (c.request_flow.acquire()) return Entry::kOwned;
    if (!ours) break;
    if (monotonic_ns() > deadline) return Entry::kBusy;
  }
  give_up(c, NotInterposedReason::kMidStream);
  return Entry::kOvertake;
}

bool may_hold(Connection& c, int fd) {
  return (c.requests.state() != http1::ParseState::kBody || note_maker(c)) && watch_hold(c, fd);
}

ssize_t send_owned(Connection& c, int fd, const iovec* pieces, size_t count, size_t offered,
                   int flags, int* error) {
  RequestWriter& w = c.writer;
  if (c.replaced.load()) {
    // The rest of a request whose fault fired early goes nowhere.
    return swallows_writes(fd) ? static_cast<ssize_t>(offered) : kNotHandled;
  }
  if (c.http2.load(std::memory_order_acquire) == nullptr) parse(c, pieces, count, offered);
  if (c.http2.load(std::memory_order_acquire) != nullptr)
    return send_http2(c, fd, pieces, count, offered, flags, error);
  if (try_fault_before(c, fd)) return static_cast<ssize_t>(offered);

  const uint64_t base = w.accepted;
  const uint64_t end = base + offered;
  if (c.given_up.load(std::memory_order_relaxed) && w.held_size == 0 && !w.wire.has_edits()) {
    w.wire.reset();
    return kNotHandled;
  }
  uint64_t limit = undecided(c) ? std::min(end, std::max(w.message_start, w.flushed_to)) : end;
  int stopped = transmit(c, fd, pieces, count, base, limit, flags);
  if (stopped == 0 && w.wire.position() >= limit && limit < end) {
    const uint64_t from = std::max(limit, base);
    if (may_hold(c, fd) && hold(w, pieces, count, base, from, end)) {
      w.accepted = end;
      remember_hold(c, fd);
      hold_patiently();
      update_debt(c);
      return static_cast<ssize_t>(offered);
    }
    // Too much to hold: decide with what is known.
    if (c.requests.state() == http1::ParseState::kBody) {
      decide(c, false, Hash128{});
      if (try_fault_before(c, fd)) return static_cast<ssize_t>(offered);
    } else {
      give_up(c, NotInterposedReason::kUnknownProtocol);
    }
    limit = end;
    stopped = transmit(c, fd, pieces, count, base, limit, flags);
  }
  w.accepted = std::max(base, w.wire.position());
  const uint64_t taken = w.accepted - base;
  if (w.fed > w.accepted) {
    const size_t left = offered - static_cast<size_t>(taken);
    w.ahead_size = static_cast<uint8_t>(std::min(left, sizeof w.ahead));
    gather(pieces, count, static_cast<size_t>(taken), w.ahead, w.ahead_size);
  }
  try_fault_after(c, fd);
  update_debt(c);
  if (taken != 0) return static_cast<ssize_t>(taken);
  *error = stopped != 0 ? stopped : EAGAIN;
  if (stopped != EAGAIN && stopped != EINTR && stopped != 0) c.last_error = stopped;
  return -1;
}

}  // namespace

ssize_t send_requests(Connection& c, int fd, const iovec* pieces, size_t count, int flags,
                      int* error) {
  const size_t offered = total(pieces, count);
  if (offered == 0) return kNotHandled;
  switch (acquire_to_send(c)) {
    case Entry::kOwned:
      break;
    case Entry::kOvertake:
      return kNotHandled;
    case Entry::kBusy:
      *error = EAGAIN;
      return -1;
  }
  const ssize_t result = send_owned(c, fd, pieces, count, offered, flags, error);
  c.request_flow.release();
  settle(c);
  return result;
}

bool enter_requests(Connection& c) {
  if (c.request_flow.acquire()) return true;
  uint32_t thread = c.sending.load();
  if (thread == 0) return false;
  const bool gone = raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), thread, 0) == -ESRCH;
  if ((!gone && thread != thread_id()) || !c.sending.compare_exchange_strong(thread, 0)) return false;
  RequestWriter& w = c.writer;
  // Its call goes on with what is held when the signal handler, which this is, has returned.
  if (!gone) {
    w.abandoned.store(w.held);
    w.held = nullptr;
  }
  release_hold(w);
  w.wire.reset();
  w.fed = w.accepted;
  give_up(c, NotInterposedReason::kMidStream);
  return true;
}

WaitingSend begin_waiting_send(Connection& c, const iovec* pieces, size_t count, OnTheWire* out) {
  if (!enter_requests(c)) return WaitingSend::kBusy;
  RequestWriter& w = c.writer;
  // Where another thread sent meanwhile, what may go out is no longer known.
  const bool still = w.stopped_by == thread_id() && !c.replaced.load();
  if (still) {
    lay_out(w, pieces, count, w.accepted, std::min(w.stopped_at, w.accepted + total(pieces, count)),
            out);
  }
  if (!still || out->bytes == 0) {
    c.request_flow.release();
    return WaitingSend::kNothing;
  }
  c.sending.store(thread_id());
  return WaitingSend::kReady;
}

namespace {

// How many bytes of what went out are the application's, and neither held nor ours.
size_t of_the_application(const OnTheWire& out, size_t sent, const iovec* pieces, size_t count) {
  size_t taken = 0;
  for (size_t i = 0; i < out.count && sent != 0; ++i) {
    const size_t size = std::min(sent, out.vectors[i].iov_len);
    const auto* at = static_cast<const char*>(out.vectors[i].iov_base);
    taken += std::any_of(pieces, pieces + count, [&](const iovec& piece) {
      const auto* from = static_cast<const char*>(piece.iov_base);
      return at >= from && at < from + piece.iov_len;
    }) ? size : 0;
    sent -= size;
  }
  return taken;
}

}  // namespace

size_t end_waiting_send(Connection& c, int fd, const iovec* pieces, size_t count, const OnTheWire& out,
                        ssize_t sent, int error) {
  uint32_t self = thread_id();
  const size_t bytes = sent < 0 ? 0 : static_cast<size_t>(sent);
  RequestWriter& w = c.writer;
  if (!c.sending.compare_exchange_strong(self, 0)) {
    // A signal handler sent on this connection, too, and took the flow for abandoned.
    give_back(w.abandoned.exchange(nullptr));
    return of_the_application(out, bytes, pieces, count);
  }
  if (sent < 0 && error != EAGAIN && error != EINTR) c.last_error = error;
  note_sent(w, bytes);
  const uint64_t before = w.accepted;
  w.accepted = std::max(before, w.wire.position());
  const auto taken = static_cast<size_t>(w.accepted - before);
  if (w.fed > w.accepted) {
    w.ahead_size = static_cast<uint8_t>(std::min(total(pieces, count) - taken, sizeof w.ahead));
    gather(pieces, count, taken, w.ahead, w.ahead_size);
  }
  if (c.http2.load(std::memory_order_acquire) == nullptr) try_fault_after(c, fd);
  update_debt(c);
  c.request_flow.release();
  settle(c);
  return taken;
}

namespace {

// The request that is held is decided with what is known of it.
void decide_held(Connection& c) {
  if (c.http2.load(std::memory_order_acquire) == nullptr && undecided(c) &&
      c.requests.state() == http1::ParseState::kBody)
    decide(c, false, Hash128{});
}

// `stopped`: the errno that ended the connection, or 0.
void after_flush(Connection& c, int stopped) {
  RequestWriter& w = c.writer;
  if (stopped != 0) {
    c.deferred_error.store(stopped);
    c.last_error = stopped;
    release_hold(w);
    w.wire.reset();
    give_up_silently(c);
  }
  w.flushed_to = w.wire.position();
}

}  // namespace

bool flush(Connection& c, int fd, bool closing) {
  RequestWriter& w = c.writer;
  if (!c.debt.load()) return true;
  if (!enter_requests(c)) return false;  // its owner sends it
  bool clean = true;
  if (w.held_size != 0) {
    const bool http2 = c.http2.load(std::memory_order_acquire) != nullptr;
    decide_held(c);
    if (http2 || !try_fault_before(c, fd)) {
      const uint64_t deadline = monotonic_ns() + kFlushWaitNs;
      int stopped;
      for (;;) {
        stopped = http2 ? flush_http2(c, fd, closing ? Http2Flush::kAll : Http2Flush::kWholeFrames)
                        : transmit(c, fd, nullptr, 0, w.accepted, w.accepted,
                                   MSG_DONTWAIT | MSG_NOSIGNAL);
        if (stopped == EINTR) continue;
        if (stopped != EAGAIN) break;
        // A blocking descriptor would have blocked in the application's own send.
        if (is_nonblocking(fd) && monotonic_ns() > deadline) break;
        wait_writable(fd, 100);
      }
      after_flush(c, stopped == EAGAIN ? 0 : stopped);
      if (!http2) try_fault_after(c, fd);
      clean = w.held_size == 0;
    }
  }
  update_debt(c);
  c.request_flow.release();
  settle(c);
  return clean;
}

namespace {

// By a copy of the descriptor: the application may close it meanwhile, and its number be given anew.
bool send_held_by_copy(Connection& c, int fd) {
  RequestWriter& w = c.writer;
  const long made = duplicate_high(fd);
  if (made < 0) return made == -EBADF;
  const int copy = static_cast<int>(made);
  int stopped = 0;
  bool done = true;
  if (socket_cookie(copy) == c.cookie) {
    const bool http2 = c.http2.load(std::memory_order_acquire) != nullptr;
    stopped = http2 ? flush_http2(c, copy, Http2Flush::kUnfaulted)
                    : transmit(c, copy, nullptr, 0, w.accepted, w.accepted,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    done = stopped != EAGAIN && stopped != EINTR;
    after_flush(c, done ? stopped : 0);
  }
  release_descriptor(copy);
  return done;
}

}  // namespace

bool send_held(Connection& c, int fd) {
  if (!enter_requests(c)) return false;
  RequestWriter& w = c.writer;
  bool done = true;
  if (w.held_size != 0 && !c.replaced.load()) {
    // Of a session that is over there is nothing to decide.
    if (c.generation != session_generation()) give_up_silently(c);
    decide_held(c);
    const bool faulted = w.fault != nullptr && w.fault->call.plan.after_effect == 0;
    if (!faulted) done = send_held_by_copy(c, fd);
  }
  update_debt(c);
  c.request_flow.release();
  settle(c);
  return done;
}

void skip_request_body(Connection& c, uint64_t size) {
  if (c.given_up.load(std::memory_order_relaxed)) return;
  if (!c.request_flow.acquire()) {
    give_up(c, NotInterposedReason::kSpliced);
    return;
  }
  RequestWriter& w = c.writer;
  if (c.http2.load(std::memory_order_acquire) != nullptr) {
    skip_http2_body(c, size);
    c.request_flow.release();
    settle(c);
    return;
  }
  if (w.fields != nullptr) request_unseen(w.fields);
  if (w.fed != w.accepted || w.held_size != 0 || w.wire.has_edits()) {
    give_up(c, NotInterposedReason::kSpliced);
  } else {
    w.feed_base = w.fed + size;
    if (c.requests.state() != http1::ParseState::kBody ||
        c.requests.skip_body(size) == http1::ParseState::kInvalid) {
      give_up(c, NotInterposedReason::kSpliced);
    }
    w.wire.advance(size);
    w.accepted += size;
    w.fed = w.accepted;
  }
  c.request_flow.release();
  settle(c);
}

void forget_holds(Connection& c) {
  release_hold(c.writer);
  c.writer.wire.reset();
  if (c.debt.exchange(false)) g_debts.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace filibuster::preload
