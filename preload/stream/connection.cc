#include "preload/stream/connection.h"

#include <netinet/in.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "preload/os/pool.h"
#include "preload/os/raw_syscall.h"
#include "preload/protocols/http1/kept.h"
#include "preload/protocols/http1/request_writer.h"
#include "preload/protocols/http1/server_side.h"
#include "preload/protocols/http2/http2.h"
#include "preload/protocols/http2/retirement.h"
#include "preload/rpc/fields.h"

namespace filibuster::preload {

std::atomic<uint32_t> g_debts{0};
std::atomic<bool> g_faults_fired{false};
std::atomic<uint32_t> g_fork_epoch{0};

namespace {

// 65,536 connections and as many open exchanges: about the limit of descriptors of a process.
Pool<Connection, 16, 4096> g_connections;
Pool<Exchange, 64, 1024> g_exchanges;
std::atomic<uint64_t> g_serial{0};

void end_exchange(Connection& c, Exchange* x) {
  if (c.role == Role::kServer) {
    if (x->incoming != nullptr) incoming_end(x->incoming, x->status);
  } else if (x->call.active) {
    x->finished.rpc = x->call.rpc;
    x->finished.body_sample = {x->sample, x->sample_size};
    if (x->fields != nullptr)
      report_response_fields(x->call.rpc, x->call.generation, x->call.execution, *x->fields);
    outgoing_end(&x->call, x->finished);
  }
  end_fields(x->fields);
  g_exchanges.give(x);
}

// Owner of the response flow: no answer comes any more.
void end_unanswered(Connection& c) {
  while (Exchange* x = c.exchanges.pop()) {
    x->finished = unanswered(c);
    x->sample_size = 0;
    x->status = 0;
    finish_half(c, x, kResponseHalf);
  }
  end_http2_calls(c);
}

}  // namespace

RpcFinished unanswered(const Connection& c) {
  RpcFinished finished;
  if (c.last_error != 0) {
    finished.outcome = RpcOutcome::kReset;
    finished.error = static_cast<uint32_t>(c.last_error);
  } else if (c.end_of_stream) {
    finished.outcome = RpcOutcome::kClosed;
  } else if (c.given_up.load(std::memory_order_relaxed)) {
    finished.outcome = RpcOutcome::kGarbled;
  } else {
    finished.outcome = RpcOutcome::kTimedOut;
  }
  return finished;
}

Connection* make_connection() {
  Connection* memory = g_connections.take();
  if (memory == nullptr) return nullptr;
  Connection* c = new (memory) Connection();
  c->serial = g_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  c->generation = session_generation();
  c->fork_epoch = g_fork_epoch.load(std::memory_order_relaxed);
  c->pins.store(1, std::memory_order_release);
  return c;
}

bool pin(Connection* c) {
  uint32_t pins = c->pins.load(std::memory_order_relaxed);
  while (pins != 0) {
    if (c->pins.compare_exchange_weak(pins, pins + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void unpin(Connection* c) {
  if (c->pins.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  free_http2(*c);
  free_retirement(*c);
  g_connections.give(c);
}

Exchange* make_exchange() {
  Exchange* memory = g_exchanges.take();
  // Without (): what has no initial value is not zeroed first (a kilobyte for each request).
  return memory == nullptr ? nullptr : new (memory) Exchange;
}

void finish_half(Connection& c, Exchange* x, ExchangeHalf half) {
  // Each half is marked once, by its own follower: if the other one is done, nobody else comes.
  constexpr uint8_t kBoth = kRequestHalf | kResponseHalf;
  if ((x->halves.load(std::memory_order_acquire) | half) == kBoth ||
      (x->halves.fetch_or(half, std::memory_order_acq_rel) | half) == kBoth) {
    end_exchange(c, x);
  }
}

void give_up_silently(Connection& c) {
  c.given_up.store(true);
}

void give_up(Connection& c, NotInterposedReason reason) {
  if (c.given_up.exchange(true)) return;
  report_not_interposed(reason, c.outgoing(), c.peer_name(), c.target.name());
}

void settle(Connection& c) {
  if (!c.given_up.load() && !c.closing.load()) return;
  if (c.settled.load(std::memory_order_relaxed) && !(c.closing.load() && c.debt.load())) return;
  // Whoever is inside comes here after it released its flow.
  if (!enter_requests(c)) return;
  if (!c.response_flow.acquire()) {
    c.request_flow.release();
    if (!c.response_flow.acquire()) return;
    c.response_flow.release();
    return settle(c);
  }
  if (!c.settled.load(std::memory_order_relaxed)) {
    if (c.closing.load() && c.responses.state() != http1::ParseState::kStart) c.responses.finish();
    if (Exchange* x = c.writer.fault) {
      c.writer.fault = nullptr;
      report_fault(x->call, FaultHow::kNotInjected, "the connection ended first");
      if (x != c.writer.current) finish_half(c, x, kRequestHalf);
    }
    end_open_request(c);
    end_unanswered(c);
    if (c.closing.load() || !must_be_rewritten(c)) drop_http2_blocks(c);
    c.settled.store(true);
    if (!c.debt.load() && !c.replaced.load()) c.passing.store(true, std::memory_order_relaxed);
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

// --- observation -------------------------------------------------------------------------------

namespace {

// A number that was closed by a raw system call and given out anew is not our connection's any
// more.
bool is_stale(const Connection& c, int fd) {
  return socket_cookie(fd) != c.cookie;
}

void give_up_unless_stale(Connection& c, int fd, NotInterposedReason reason) {
  if (is_stale(c, fd)) {
    give_up_silently(c);
  } else {
    give_up(c, reason);
  }
}

// Before the first byte of a message that passes unchanged: may there be one, and does the first
// one look like HTTP/1?
bool may_begin(Connection& c, int fd, bool requests, const iovec* pieces, size_t count,
               size_t size) {
  if (!requests) {
    if (!c.exchanges.empty()) return true;
    // The server speaks first: not HTTP/1, or a request was missed.
    give_up_unless_stale(c, fd,
                         c.seen_from_start && c.writer.requests == 0
                             ? NotInterposedReason::kUnknownProtocol
                             : NotInterposedReason::kMidStream);
    return false;
  }
  if (c.writer.requests != 0) return true;
  return looks_like_requests(c, pieces, count, size);
}

void announce(Connection& c) {
  while (Exchange* x = c.exchanges.next_unannounced()) {
    c.responses.expect_response_to({x->method, x->method_size});
  }
}

void after_feed(Connection& c, int fd, bool requests, http1::ParseState state) {
  if (state == http1::ParseState::kInvalid) {
    give_up_unless_stale(c, fd, NotInterposedReason::kUnknownProtocol);
  } else if (state == http1::ParseState::kUpgraded) {
    // A request for a tunnel waits for its answer.
    if (!requests) give_up(c, NotInterposedReason::kUpgraded);
  }
}

}  // namespace

bool looks_like_requests(Connection& c, const iovec* pieces, size_t count, size_t size) {
  char gathered[64];
  const FirstBytes first(pieces, count, size, gathered, sizeof gathered);
  switch (http1::sniff(first.data, first.size)) {
    case http1::Sniff::kHttp1Request:
    case http1::Sniff::kNeedMore:
      return true;
    case http1::Sniff::kHttp2Preface:
      give_up(c, NotInterposedReason::kHttp2);
      return false;
    case http1::Sniff::kTls:
      give_up(c, NotInterposedReason::kTls);
      return false;
    case http1::Sniff::kOther:
      break;
  }
  give_up(c, NotInterposedReason::kUnknownProtocol);
  return false;
}

void observe(Connection& c, int fd, bool requests, const iovec* pieces, size_t count, size_t size,
             uint32_t sequence) {
  Flow& flow = requests ? c.request_flow : c.response_flow;
  if (c.given_up.load(std::memory_order_relaxed)) return;
  if (!flow.acquire()) {
    // What a fault answers is read before the thread that injects it is done.
    c.missed.store(true);
    if (!c.faulting.load()) give_up(c, NotInterposedReason::kMidStream);
    return;
  }
  http1::MessageParser& parser = requests ? c.requests : c.responses;
  const bool in_turn = flow.take_turn(sequence);
  if (in_turn && !c.is_recognized()) {
    if (requests) {
      recognize_requests(c, pieces, count, 0, size);
    } else if (c.exchanges.empty()) {
      recognize_responses(c, pieces, count, size);
    }
  }
  if (!in_turn) {
    give_up(c, NotInterposedReason::kMidStream);
  } else if (c.http2.load(std::memory_order_acquire) != nullptr) {
    observe_http2(c, requests ? http2::Direction::kRequests : http2::Direction::kResponses, pieces,
                  count, 0, size);
  } else if (!c.is_recognized()) {
    // Nothing to parse yet.
  } else if (parser.state() != http1::ParseState::kStart ||
             may_begin(c, fd, requests, pieces, count, size)) {
    if (!requests) announce(c);
    http1::ParseState state = parser.state();
    for (size_t i = 0; i < count && size != 0; ++i) {
      const size_t take = std::min(size, pieces[i].iov_len);
      if (take == 0) continue;
      state = parser.feed(static_cast<const char*>(pieces[i].iov_base), take);
      if (c.http2.load(std::memory_order_acquire) != nullptr) {
        observe_http2(c, http2::Direction::kResponses, pieces + i, count - i, c.upgraded_at,
                      size - c.upgraded_at);
        state = http1::ParseState::kStart;
        break;
      }
      size -= take;
      if (state == http1::ParseState::kInvalid || state == http1::ParseState::kUpgraded) break;
      if (c.given_up.load(std::memory_order_relaxed)) break;
    }
    after_feed(c, fd, requests, state);
  }
  const uint32_t answered_in = requests ? 0 : std::exchange(c.answered_in, 0);
  flow.release();
  settle(c);
  if (answered_in != 0) end_kept_before_refusal(c.answered_path, answered_in);
}

void observe_unseen(Connection& c, bool requests, size_t size, uint32_t sequence) {
  Flow& flow = requests ? c.request_flow : c.response_flow;
  if (c.given_up.load(std::memory_order_relaxed)) return;
  if (!flow.acquire()) {
    give_up(c, NotInterposedReason::kSpliced);
    return;
  }
  if (c.http2.load(std::memory_order_acquire) != nullptr) {
    if (flow.take_turn(sequence)) {
      observe_http2_unseen(
          c, requests ? http2::Direction::kRequests : http2::Direction::kResponses, size);
    } else {
      give_up(c, NotInterposedReason::kMidStream);
    }
    flow.release();
    settle(c);
    return;
  }
  http1::MessageParser& parser = requests ? c.requests : c.responses;
  const Exchange* x = requests ? c.writer.current : c.exchanges.front();
  if (x != nullptr && requests && x->incoming != nullptr) incoming_body_unseen(x->incoming);
  if (x != nullptr && !requests && x->fields != nullptr) response_unseen(x->fields);
  if (!flow.take_turn(sequence) || parser.state() != http1::ParseState::kBody ||
      parser.skip_body(size) == http1::ParseState::kInvalid) {
    give_up(c, NotInterposedReason::kSpliced);
  }
  flow.release();
  settle(c);
}

void observe_end(Connection& c, int error) {
  if (c.role != Role::kClient) {
    if (error != 0) c.last_error = error;
    return;  // a server may still answer; close ends what is open
  }
  if (c.response_flow.acquire()) {
    if (error != 0) {
      c.last_error = error;
    } else {
      c.end_of_stream = true;
      // A body that is delimited by the end of the stream is complete now.
      announce(c);
      if (!c.exchanges.empty()) c.responses.finish();
    }
    end_unanswered(c);
    c.response_flow.release();
  }
  settle(c);
}

// --- parser events -----------------------------------------------------------------------------

void RequestEvents::on_head(const http1::MessageHead& head, size_t end) {
  if (connection_->role == Role::kServer) {
    server_request_head(*connection_, head);
    const Exchange* x = connection_->writer.current;
    if (x == nullptr || !incoming_needs_body(x->incoming)) connection_->requests.ignore_body();
  } else {
    client_request_head(*connection_, head, end);
  }
}

void RequestEvents::on_body(const char* data, size_t size) {
  if (connection_->role == Role::kClient) {
    client_request_body(*connection_, data, size);
  } else {
    server_request_body(*connection_, data, size);
  }
}

void RequestEvents::on_complete(size_t end, Hash128 body, uint64_t size) {
  if (connection_->role == Role::kServer) {
    server_request_complete(*connection_, body, size);
  } else {
    client_request_complete(*connection_, end, body, size);
  }
}

void ResponseEvents::on_head(const http1::MessageHead& head, size_t) {
  status_ = head.status;
  // The caller reports its answer.
  if (connection_->role == Role::kServer) connection_->responses.ignore_body();
}

void ResponseEvents::on_body(const char* data, size_t size) {
  if (connection_->role == Role::kServer) return;
  Exchange* x = connection_->exchanges.front();
  if (x == nullptr) return;
  if (x->fields != nullptr) response_piece(x->fields, data, size);
  if (x->sample_size == kBodySample) return;
  const size_t take = std::min(size, kBodySample - x->sample_size);
  std::memcpy(x->sample + x->sample_size, data, take);
  x->sample_size = static_cast<uint16_t>(x->sample_size + take);
}

void ResponseEvents::on_complete(size_t end, Hash128 body, uint64_t size) {
  Exchange* x = connection_->exchanges.pop();
  if (x == nullptr) {
    give_up(*connection_, NotInterposedReason::kMidStream);
    return;
  }
  if (status_ == 101 && upgrade_to_http2(*connection_, x)) {
    connection_->upgraded_at = end;
    finish_half(*connection_, x, kResponseHalf);
    return;
  }
  x->status = status_;
  x->finished.outcome = RpcOutcome::kAnswered;
  x->finished.status = status_;
  x->finished.body = x->fields != nullptr ? response_whole(x->fields, body, size) : body;
  x->finished.body_size = size;
  if (connection_->role == Role::kClient && x->call.active) {
    connection_->answered_path = x->call.parent_path;
    connection_->answered_in = x->call.execution;
  }
  finish_half(*connection_, x, kResponseHalf);
}

}  // namespace filibuster::preload
