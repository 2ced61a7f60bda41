#include <netinet/in.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "preload/os/pool.h"
#include "preload/os/raw_syscall.h"
#include "preload/stream/connection.h"
#include "preload/stream/handshake_faults.h"
#include "preload/stream/kept.h"
#include "preload/stream/recognition.h"
#include "preload/stream/sender.h"
#include "preload/stream/tape.h"

namespace filibuster::preload {

using State = ConnectionState::State;
using Event = ConnectionState::Event;

constinit thread_local int t_waited_set __attribute__((tls_model("initial-exec"))) = -1;
constinit thread_local Connection* t_carrying __attribute__((tls_model("initial-exec"))) = nullptr;
std::atomic<uint32_t> g_debts{0};
std::atomic<bool> g_faults_fired{false};
std::atomic<uint32_t> g_fork_epoch{0};
std::atomic<uint32_t> g_loop_waits{1};

namespace {

// 65,536 connections: about the limit of descriptors of a process.
Pool<Connection, 16, 4096> g_connections;
std::atomic<uint64_t> g_serial{0};

}  // namespace

RpcFinished unanswered(const Connection& c) {
  RpcFinished finished;
  if (c.last_error != 0) {
    finished.outcome = RpcOutcome::kReset;
    finished.error = static_cast<uint32_t>(c.last_error);
  } else if (c.end_of_stream) {
    finished.outcome = RpcOutcome::kClosed;
  } else if (!c.state.is_followed()) {
    finished.outcome = RpcOutcome::kGarbled;
  } else {
    finished.outcome = RpcOutcome::kTimedOut;
  }
  return finished;
}

void note_answer(Connection& c, bool within) {
  c.in_answer.store(within, std::memory_order_relaxed);
  if (!within) return;
  c.awaits.store(false, std::memory_order_relaxed);
  c.loop_waits.store(0, std::memory_order_relaxed);
  if (c.epoll_set.load(std::memory_order_relaxed) >= 0) note_wait_of_loop(c);
}

void note_wait_of_loop(Connection& c) {
  if (c.in_answer.load(std::memory_order_relaxed) &&
      c.loop_waits.load(std::memory_order_relaxed) == 0)
    c.loop_waits.store(g_loop_waits.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

bool waits_for_rest(const Connection& c) {
  const uint32_t since = c.loop_waits.load(std::memory_order_relaxed);
  return c.awaits.load(std::memory_order_relaxed) ||
         (since != 0 && since != g_loop_waits.load(std::memory_order_relaxed));
}

Connection* make_connection() {
  Connection* memory = g_connections.take();
  if (memory == nullptr) return nullptr;
  auto* c = new (memory) Connection;  // written without (), so that its room is not zeroed
  c->serial = g_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  c->generation = session_generation();
  c->fork_epoch = g_fork_epoch.load(std::memory_order_relaxed);
  c->pins.count.store(1, std::memory_order_release);
  return c;
}

bool pin(Connection* c) {
  uint32_t pins = c->pins.count.load(std::memory_order_relaxed);
  while (pins != 0) {
    if (c->pins.count.compare_exchange_weak(pins, pins + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void unpin(Connection* c) {
  if (c->pins.count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (Followed* protocol = c->protocol()) protocol->free(*c);
  if (Transport* transport = c->transport.load()) transport->drop();
  if (const int aside = c->aside.load(); aside >= 0) release_descriptor(aside);
  give_back_edit_room(c->wire);
  g_connections.give(c);
}

namespace {

// True: it was followed until now.
bool change_to_given_up(Connection& c, uint8_t reason) {
  const State before = c.state.change(Event::kGiveUp);
  if (before == ConnectionState::after(before, Event::kGiveUp)) return false;
  if (taping() != 0) tape_given_up(c, reason);
  return true;
}

}  // namespace

void give_up_silently(Connection& c) {
  change_to_given_up(c, 0);
}

void give_up(Connection& c, NotInterposedReason reason) {
  if (change_to_given_up(c, static_cast<uint8_t>(reason))) report_given_up(c, reason);
}

void report_given_up(const Connection& c, NotInterposedReason reason) {
  report_not_interposed(reason, c.outgoing(), c.peer_name(), c.target.name());
}

void settle(Connection& c) {
  if (c.state.is_followed() && !c.closing.load()) return;
  if (c.state.is_settled() && !(c.closing.load() && c.debt.load())) return;
  // A thread that is inside comes here after it has released its flow.
  if (!enter_requests(c)) return;
  if (!c.response_flow.acquire()) {
    c.request_flow.release();
    if (!c.response_flow.acquire()) return;
    c.response_flow.release();
    return settle(c);
  }
  if (!c.state.is_settled()) {
    if (Followed* protocol = c.protocol()) protocol->settle(c);
    handshake_ends(c);
    c.state.change(Event::kSettle);
    if (!c.debt.load()) c.state.change(Event::kClear);
  }
  if (c.closing.load()) forget_holds(c);
  c.response_flow.release();
  c.request_flow.release();
}

uint64_t socket_cookie(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  const long r = raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_COOKIE, &cookie, &size);
  return r == 0 ? cookie : 0;
}

void find_target_of(Connection& c) {
  if (c.target.known || c.address_size == 0) return;
  const TargetInfo found =
      lookup_target(reinterpret_cast<const sockaddr*>(&c.address), c.address_size);
  if (found.known) c.target = found;
}

void give_up_unless_stale(Connection& c, int fd, NotInterposedReason reason) {
  if (socket_cookie(fd) != c.cookie) {
    give_up_silently(c);
  } else {
    give_up(c, reason);
  }
}

// --- observation -------------------------------------------------------------------------------

namespace {

void observe_in_turn(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) {
  Followed* protocol = c.protocol();
  const Tapped tapped{fd, protocol == nullptr};
  if (protocol == nullptr) {
    protocol = recognise(c, traffic, pieces, 0, size);
    if (protocol == nullptr) return;
  }
  if (has_kept(c, traffic)) {
    const KeptBytes kept = take_kept(c, traffic);
    const iovec before{const_cast<char*>(kept.bytes), kept.size};
    if (taping_bytes() != 0) tape_bytes(c, tapped, traffic, before, 0, kept.size);
    protocol->observed(c, fd, traffic, before, kept.size);
    if (!c.state.is_followed()) return;
  }
  if (taping_bytes() != 0) tape_bytes(c, tapped, traffic, pieces, 0, size);
  protocol->observed(c, fd, traffic, pieces, size);
}

}  // namespace

void observe(Connection& c, int fd, bool requests, Pieces pieces, size_t size, uint32_t sequence) {
  Flow& flow = requests ? c.request_flow : c.response_flow;
  if (!c.state.is_followed()) return;
  if (!flow.acquire()) {
    // The answer of a fault may be read before the thread that injects it has finished.
    if (c.state.change(Event::kMiss) == State::kFollowed)
      report_given_up(c, NotInterposedReason::kMidStream);
    return;
  }
  if (flow.take_turn(sequence)) {
    observe_in_turn(c, fd, requests ? Traffic::kRequests : Traffic::kResponses, pieces, size);
  } else {
    give_up(c, NotInterposedReason::kMidStream);
  }
  const uint32_t answered_in = requests ? 0 : std::exchange(c.answered_in, 0);
  flow.release();
  settle(c);
  if (answered_in != 0) end_kept_before_refusal(c.answered_path, answered_in);
}

void observe_unseen(Connection& c, bool requests, size_t size, uint32_t sequence) {
  Flow& flow = requests ? c.request_flow : c.response_flow;
  if (!c.state.is_followed()) return;
  if (!flow.acquire()) {
    give_up(c, NotInterposedReason::kSpliced);
    return;
  }
  Followed* protocol = c.protocol();
  const Traffic traffic = requests ? Traffic::kRequests : Traffic::kResponses;
  if (!flow.take_turn(sequence) || protocol == nullptr || !protocol->unseen(c, traffic, size))
    give_up(c, NotInterposedReason::kSpliced);
  if (taping() != 0 && c.state.is_followed()) tape_gap(c, traffic, size);
  flow.release();
  settle(c);
}

void observe_end(Connection& c, int error) {
  if (taping() != 0) tape_closed(c, error, true);
  if (c.role != Role::kClient) {
    if (error != 0) c.last_error = error;
    return;  // a server may still answer; close ends what is open
  }
  if (c.response_flow.acquire()) {
    Followed* protocol = c.protocol();
    if (error != 0) {
      c.last_error = error;
    } else {
      c.end_of_stream = true;
      if (protocol != nullptr) protocol->responses_ended(c);
    }
    if (protocol != nullptr) protocol->end_unanswered(c);
    c.response_flow.release();
  }
  settle(c);
}

namespace {

// Calls `act` with the protocol while no thread uses either flow.
template <typename Act>
bool with_both_flows(Connection& c, const Act& act) {
  Followed* protocol = c.protocol();
  if (protocol == nullptr || !c.request_flow.acquire()) return false;
  const bool both = c.response_flow.acquire();
  const bool result = both && act(*protocol);
  if (both) c.response_flow.release();
  c.request_flow.release();
  return result;
}

}  // namespace

bool answered_elsewhere(Connection& c, uint64_t number, uint16_t status) {
  return with_both_flows(c, [&](Followed& p) { return p.answered_elsewhere(c, number, status); });
}

void answers_elsewhere_lost(Connection& c) {
  with_both_flows(c, [&](Followed& p) {
    p.answers_elsewhere_lost(c);
    return true;
  });
}

void end_silence(Connection& c) {
  Followed* protocol = c.protocol();
  if (protocol == nullptr || !c.state.is_replaced() || !c.request_flow.acquire()) return;
  protocol->end_silence(c);
  c.request_flow.release();
}

}  // namespace filibuster::preload
