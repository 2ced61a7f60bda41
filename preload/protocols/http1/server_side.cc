#include "preload/protocols/http1/server_side.h"

#include <algorithm>
#include <cstring>

#include "preload/protocols/http1/kept.h"
#include "preload/protocols/http1/request_steps.h"
#include "preload/protocols/http2/http2.h"

namespace filibuster::preload {

constinit thread_local int t_waited_set __attribute__((tls_model("initial-exec"))) = -1;

namespace {

// Is this connection read by a loop that waits for others too? Then the thread proves nothing about
// what a request causes.
bool read_by_event_loop(const Connection& c) {
  const int set = c.epoll_set.load(std::memory_order_relaxed);
  // Whether a connection seen in the middle is in a set is not known: assume it if the thread
  // waits.
  const bool in_waited_set = t_waited_set >= 0 && (set == t_waited_set || !c.seen_from_start);
  if (in_waited_set) note_multiplexing_thread();
  return in_waited_set || (c.waits_with_others && thread_is_multiplexing());
}

// "GET /path HTTP/1.1\r\n": a method alone may be the middle of a body.
bool has_whole_request_line(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return false;
  std::string_view line = bytes.substr(0, end);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0");
}

}  // namespace

void server_request_head(Connection& c, const http1::MessageHead& head) {
  ++c.writer.requests;
  note_upgrade(c, head);
  Exchange* x = make_exchange();
  if (x == nullptr) {
    give_up(c, NotInterposedReason::kTableFull);
    return;
  }
  x->method_size = static_cast<uint8_t>(std::min(head.method.size(), sizeof x->method));
  std::memcpy(x->method, head.method.data(), x->method_size);
  const RequestHead request = request_head(head);
  x->incoming = incoming_begin({&request, read_by_event_loop(c)});
  end_kept_before_refusal(x->incoming);
  c.writer.current = x;
  if (!c.exchanges.push(x)) {
    finish_half(c, x, kResponseHalf);
    give_up(c, NotInterposedReason::kTableFull);
  }
}

void server_request_complete(Connection& c, Hash128 body, uint64_t size) {
  Exchange* x = c.writer.current;
  c.writer.current = nullptr;
  if (x == nullptr) return;
  if (x->incoming != nullptr) incoming_body_complete(x->incoming, body, size);
  finish_half(c, x, kRequestHalf);
}

void server_request_body(Connection& c, const char* data, size_t size) {
  const Exchange* x = c.writer.current;
  if (x != nullptr && x->incoming != nullptr) incoming_body_piece(x->incoming, data, size);
}

void end_open_request(Connection& c) {
  if (c.writer.decided || c.writer.current != nullptr) {
    c.writer.fields = nullptr;  // the exchange's
  } else {
    drop_fields(c);
  }
  if (c.writer.current == nullptr) return;
  finish_half(c, c.writer.current, kRequestHalf);
  c.writer.current = nullptr;
}

FirstBytes::FirstBytes(const iovec* pieces, size_t count, size_t total, char* buffer,
                       size_t capacity)
    : data(buffer), size(0) {
  for (size_t i = 0; i < count && size < std::min(total, capacity); ++i) {
    if (size == 0 && pieces[i].iov_len >= capacity) {
      data = static_cast<const char*>(pieces[i].iov_base);
      size = std::min(total, pieces[i].iov_len);
      return;
    }
    const size_t take = std::min({capacity - size, pieces[i].iov_len, total - size});
    if (take != 0) std::memcpy(buffer + size, pieces[i].iov_base, take);
    size += take;
  }
}

void try_to_join(Connection& c, bool sent, const iovec* pieces, size_t count, size_t size) {
  char gathered[512];
  const FirstBytes first(pieces, count, size, gathered, sizeof gathered);
  if (first.size == 0) return;
  switch (http1::sniff(first.data, first.size)) {
    case http1::Sniff::kHttp1Request:
      if (!has_whole_request_line({first.data, first.size})) break;
      c.role = sent ? Role::kClient : Role::kServer;
      return;
    case http1::Sniff::kTls:
      return give_up(c, NotInterposedReason::kTls);
    case http1::Sniff::kHttp2Preface:
      return give_up(c, NotInterposedReason::kHttp2);
    case http1::Sniff::kNeedMore:
    case http1::Sniff::kOther:
      break;
  }
  // The tail of a response: the next request is an idle point.
  constexpr std::string_view kStatusLine = "HTTP/1.";
  if (std::string_view(first.data, first.size).starts_with(kStatusLine)) return;
  give_up(c, NotInterposedReason::kMidStream);
}

}  // namespace filibuster::preload
