// The server's side: requests are incoming RPCs, its responses end them.

#include <algorithm>
#include <cstring>

#include "preload/protocols/http1/http1.h"
#include "preload/protocols/http2/http2.h"
#include "preload/stream/kept.h"
#include "preload/stream/tape.h"

namespace filibuster::preload {

namespace {

// True if the thread that reads this connection waits for other connections, too. Then the thread proves
// nothing about what a request causes.
bool read_by_event_loop(const Connection& c) {
  const int set = c.epoll_set.load(std::memory_order_relaxed);
  // Of a connection that became known by its bytes nobody knows whether it is in an epoll set. If
  // the thread waits on a set, assume that it is.
  const bool in_waited_set = t_waited_set >= 0 && (set == t_waited_set || c.ready_made);
  if (in_waited_set) note_multiplexing_thread();
  return in_waited_set || (c.waits_with_others && thread_is_multiplexing());
}

}  // namespace

void server_request_head(Connection& c, const http1::MessageHead& head) {
  Http1& h = http1_of(c);
  ++c.requests;
  note_upgrade(http1_of(c), head);
  Exchange* x = make_exchange();
  if (x == nullptr) {
    give_up(c, NotInterposedReason::kTableFull);
    return;
  }
  x->method_size = static_cast<uint8_t>(std::min(head.method.size(), sizeof x->method));
  std::memcpy(x->method, head.method.data(), x->method_size);
  const RequestHead request = request_head(head);
  x->incoming = incoming_begin({&request, read_by_event_loop(c)});
  if (taping() != 0) place_rpc(c, x->incoming, c.requests);
  end_kept_before_refusal(x->incoming);
  h.current = x;
  if (!h.exchanges.push(x)) {
    finish_half(c, x, kResponseHalf);
    give_up(c, NotInterposedReason::kTableFull);
  }
}

void server_request_complete(Connection& c, Hash128 body, uint64_t size) {
  Http1& h = http1_of(c);
  Exchange* x = h.current;
  h.current = nullptr;
  if (x == nullptr) return;
  if (x->incoming != nullptr) incoming_body_complete(x->incoming, body, size);
  finish_half(c, x, kRequestHalf);
}

void server_request_body(Connection& c, const char* data, size_t size) {
  Http1& h = http1_of(c);
  const Exchange* x = h.current;
  if (x != nullptr && x->incoming != nullptr) incoming_body_piece(x->incoming, data, size);
}

void end_open_request(Connection& c) {
  Http1& h = http1_of(c);
  if (h.decided || h.current != nullptr) {
    h.fields = nullptr;  // they belong to the exchange now
  } else {
    drop_fields(c);
  }
  if (h.current == nullptr) return;
  finish_half(c, h.current, kRequestHalf);
  h.current = nullptr;
}

}  // namespace filibuster::preload
