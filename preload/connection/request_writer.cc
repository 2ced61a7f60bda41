#include "preload/connection/request_writer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/agent/fields.h"
#include "preload/agent/raw_syscall.h"
#include "preload/connection/http2/http2.h"
#include "preload/connection/http2/retirement.h"
#include "preload/connection/request_steps.h"
#include "preload/connection/server_side.h"
#include "preload/connection/transmit.h"
#include "preload/inject/inject.h"

namespace filibuster::preload {

constinit thread_local uint32_t t_holds __attribute__((tls_model("initial-exec"))) = 0;

void update_debt(Connection& c) {
  const RequestWriter& w = c.writer;
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

constexpr uint64_t kPatienceNs = 20'000'000;
constinit thread_local uint64_t t_patient_until __attribute__((tls_model("initial-exec"))) = 0;

// What this thread holds. A thread that holds more than this flushes the oldest first.
constexpr uint32_t kMaxHolds = 8;
struct Hold {
  Connection* connection;
  uint64_t serial;
  int fd;
};
thread_local Hold t_held[kMaxHolds] __attribute__((tls_model("initial-exec")));

bool undecided(const Connection& c) {
  if (c.given_up.load(std::memory_order_relaxed)) return false;
  if (c.preface_kept != 0 && !c.is_recognized()) return true;
  const http1::ParseState state = c.requests.state();
  return state == http1::ParseState::kHead ||
         (state == http1::ParseState::kBody && !c.writer.decided);
}

}  // namespace

void remember_hold(Connection& c, int fd) {
  for (uint32_t i = 0; i < t_holds; ++i) {
    if (t_held[i].connection == &c && t_held[i].serial == c.serial) return;
  }
  if (t_holds == kMaxHolds) flush_holds_of_thread();
  t_held[t_holds++] = {&c, c.serial, fd};
}

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
  if (c.request_flow.acquire()) return Entry::kOwned;
  const uint64_t deadline = monotonic_ns() + kFlushWaitNs;
  for (;;) {
    const bool ours = c.debt.load() || c.http2.load(std::memory_order_acquire) != nullptr;
    raw_syscall(SYS_sched_yield);
    if (c.request_flow.acquire()) return Entry::kOwned;
    if (!ours) break;
    if (monotonic_ns() > deadline) return Entry::kBusy;
  }
  give_up(c, NotInterposedReason::kMidStream);
  return Entry::kOvertake;
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
    if (hold(w, pieces, count, base, from, end)) {
      w.accepted = end;
      remember_hold(c, fd);
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

bool flush(Connection& c, int fd, bool closing) {
  RequestWriter& w = c.writer;
  if (!c.debt.load()) return true;
  if (!c.request_flow.acquire()) return false;  // its owner sends it
  bool clean = true;
  if (w.held_size != 0) {
    const bool http2 = c.http2.load(std::memory_order_acquire) != nullptr;
    if (!http2 && undecided(c) && c.requests.state() == http1::ParseState::kBody) {
      decide(c, false, Hash128{});
    }
    if (http2 || !try_fault_before(c, fd)) {
      const uint64_t deadline = monotonic_ns() + kFlushWaitNs;
      int stopped;
      for (;;) {
        stopped = http2 ? flush_http2(c, fd, closing)
                        : transmit(c, fd, nullptr, 0, w.accepted, w.accepted,
                                   MSG_DONTWAIT | MSG_NOSIGNAL);
        if (stopped == EINTR) continue;
        if (stopped != EAGAIN) break;
        // A blocking descriptor would have blocked in the application's own send.
        if (is_nonblocking(fd) && monotonic_ns() > deadline) break;
        wait_writable(fd, 100);
      }
      if (stopped != 0 && stopped != EAGAIN) {
        c.deferred_error.store(stopped);
        c.last_error = stopped;
        release_hold(w);
        w.wire.reset();
        give_up_silently(c);
      }
      w.flushed_to = w.wire.position();
      if (!http2) try_fault_after(c, fd);
      clean = w.held_size == 0;
    }
  }
  update_debt(c);
  c.request_flow.release();
  settle(c);
  return clean;
}

void hold_patiently() {
  if (t_patient_until == 0) t_patient_until = monotonic_ns() + kPatienceNs;
}

int patience_ms() {
  if (t_patient_until == 0) return 0;
  const uint64_t now = monotonic_ns();
  if (now >= t_patient_until) return 0;
  return static_cast<int>((t_patient_until - now) / 1'000'000) + 1;
}

void flush_holds_of_thread(int but) {
  const uint32_t count = t_holds;
  t_holds = 0;
  t_patient_until = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Hold h = t_held[i];
    if (!pin(h.connection)) continue;
    if (h.connection->serial == h.serial && !h.connection->closing.load() &&
        (h.fd == but || !flush(*h.connection, h.fd))) {
      remember_hold(*h.connection, h.fd);
    }
    unpin(h.connection);
  }
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
  c.debt.store(false);
}

}  // namespace filibuster::preload
