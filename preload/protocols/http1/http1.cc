#include "preload/protocols/http1/http1.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "preload/inject/inject.h"
#include "preload/os/pool.h"
#include "preload/protocols/http2/http2.h"
#include "preload/rpc/fields.h"
#include "preload/stream/recognition.h"

namespace filibuster::preload {
namespace {

Pool<http1::RequestTexts, 16, 4096> g_request_texts;  // as many as there are connections

// Asks for "GET /path HTTP/1.1\r\n", because a method alone may also stand in the middle of a body.
bool has_whole_request_line(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return false;
  std::string_view line = bytes.substr(0, end);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0");
}

bool is_undecided(const Connection& c, const Http1& h) {
  if (!c.state.is_followed()) return false;
  const http1::ParseState state = h.requests.state();
  return state == http1::ParseState::kHead || (state == http1::ParseState::kBody && !h.decided);
}

// Called before the first byte of a message that passes unchanged. Tells whether a message may begin
// here, and, for the first one, whether it looks like HTTP/1.
bool may_begin(Connection& c, Http1& h, int fd, bool requests, Pieces pieces, size_t size) {
  if (!requests) {
    if (!h.exchanges.empty()) return true;
    // The server speaks first: this is not HTTP/1, or a request was missed.
    give_up_unless_stale(c, fd,
                         c.seen_from_start && c.requests == 0
                             ? NotInterposedReason::kUnknownProtocol
                             : NotInterposedReason::kMidStream);
    return false;
  }
  return c.requests != 0 || looks_like_requests(c, pieces, size);
}

void announce(Http1& h) {
  while (Exchange* x = h.exchanges.next_unannounced()) {
    h.responses.expect_response_to({x->method, x->method_size});
  }
}

// Behind an answer that ends its connection, bytes are nobody's answer: its length was wrong.
bool is_past_the_last(const Http1& h, bool requests) {
  return !requests && h.last_answer && h.exchanges.empty();
}

void after_feed(Connection& c, int fd, bool requests, http1::ParseState state) {
  if (state == http1::ParseState::kInvalid) {
    if (!is_past_the_last(http1_of(c), requests))
      give_up_unless_stale(c, fd, NotInterposedReason::kUnknownProtocol);
  } else if (state == http1::ParseState::kUpgraded) {
    // The request asked for a tunnel, and its answer has not come yet.
    if (!requests) give_up(c, NotInterposedReason::kUpgraded);
  }
}

}  // namespace

void begin_http1(Connection& c, Pieces, size_t) {
  void* room = take_room(c);
  if (room != nullptr) publish(c, new (room) Http1(&c));
}

Joined joins_http1(std::string_view first, NotInterposedReason* reason) {
  switch (http1::sniff(first.data(), first.size())) {
    case http1::Sniff::kHttp1Request:
      if (has_whole_request_line(first)) return Joined::kRequests;
      break;
    case http1::Sniff::kTls:
      *reason = NotInterposedReason::kTls;
      return Joined::kNo;
    case http1::Sniff::kHttp2Preface:
      *reason = NotInterposedReason::kHttp2;
      return Joined::kNo;
    case http1::Sniff::kNeedMore:
    case http1::Sniff::kOther:
      break;
  }
  // This is the tail of a response, so the connection can be followed from the next request on.
  return first.starts_with("HTTP/1.") ? Joined::kWait : Joined::kNo;
}

bool looks_like_requests(Connection& c, Pieces pieces, size_t size) {
  char gathered[64];
  const FirstBytes first(pieces, size, gathered, sizeof gathered);
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

// --- the memory of a request -----------------------------------------------------------------------

bool Http1::take_texts(Connection& c) {
  if (texts != nullptr) return true;
  texts = g_request_texts.take();
  requests.use(texts);
  if (texts == nullptr) give_up(c, NotInterposedReason::kTableFull);
  return texts != nullptr;
}

void Http1::give_back_texts() {
  if (texts == nullptr) return;
  g_request_texts.give(std::exchange(texts, nullptr));
  requests.use(texts);
}

bool Http1::skip_request_body(uint64_t size) {
  const http1::ParseState state = requests.skip_body(size);
  leave_texts();
  return state != http1::ParseState::kInvalid;
}

// --- a client's requests -------------------------------------------------------------------------

void Http1::offered(Connection& c, const Offer& offer, uint64_t from) {
  if (requests.state() == http1::ParseState::kUpgraded) {
    // A tunnel was asked for. If it was declined, nothing tells what follows.
    if (exchanges.empty()) give_up(c, NotInterposedReason::kUpgraded);
    return;
  }
  if (from == 0 && requests.state() == http1::ParseState::kStart &&
      !looks_like_requests(c, offer.pieces, static_cast<size_t>(offer.end - offer.base)))
    return;
  if (!take_texts(c)) return;
  offer.pieces.each(static_cast<size_t>(from - offer.base), SIZE_MAX,
                    [&](const char* part, size_t size) {
                      feed_base = from;
                      if (requests.state() == http1::ParseState::kStart) message_start = from;
                      from += size;
                      const http1::ParseState state = requests.feed(part, size);
                      if (state == http1::ParseState::kInvalid)
                        give_up(c, NotInterposedReason::kUnknownProtocol);
                      return c.state.is_followed() && state != http1::ParseState::kUpgraded;
                    });
  leave_texts();
}

Released Http1::release(Connection& c, int fd, const Offer& offer, Sending sending) {
  if (sending != Sending::kAside && try_fault_before(c, fd))
    return {c.wire.accepted, Released::Then::kSwallow};
  const bool stays = sending == Sending::kOffered && is_undecided(c, *this);
  const uint64_t limit =
      stays ? std::min(offer.end, std::max(message_start, c.wire.flushed_to)) : offer.end;
  if (sending != Sending::kAside) keep_readers_out(c, limit);
  return {limit, {}};
}

bool Http1::may_hold(Connection& c) {
  return requests.state() != http1::ParseState::kBody || note_maker(c);
}

bool Http1::press(Connection& c, int times) {
  if (times > 1) return false;
  if (requests.state() == http1::ParseState::kBody) {
    decide(c, false, Hash128{});
  } else {
    give_up(c, NotInterposedReason::kUnknownProtocol);
  }
  return true;
}

void Http1::decide_held(Connection& c) {
  if (is_undecided(c, *this) && requests.state() == http1::ParseState::kBody)
    decide(c, false, Hash128{});
}

void Http1::sent(Connection& c, int fd) {
  try_fault_after(c, fd);
  let_readers_in(c);
}

bool Http1::waits_for_its_fault(const Connection&) const {
  return fault != nullptr && fault->call.plan.after_effect == 0;
}

bool Http1::skipped(Connection&, uint64_t size) {
  if (fields != nullptr) request_unseen(fields);
  feed_base = connection->wire.fed + size;
  return requests.state() == http1::ParseState::kBody && skip_request_body(size);
}

// --- bytes that went by unchanged ----------------------------------------------------------------

void Http1::observed(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) {
  const bool of_requests = traffic == Traffic::kRequests;
  if (is_past_the_last(*this, of_requests)) return;
  http1::MessageParser& parser = of_requests ? requests : responses;
  if (parser.state() == http1::ParseState::kStart &&
      !may_begin(c, *this, fd, of_requests, pieces, size))
    return;
  if (of_requests && !take_texts(c)) return;
  if (!of_requests) announce(*this);
  http1::ParseState state = parser.state();
  Followed* next = this;
  pieces.each(0, size, [&](const char* part, size_t bytes) {
    size_t mine = 0;
    if (next == this) {
      state = parser.feed(part, bytes);
      next = c.protocol();
      mine = next == this ? bytes : upgraded_at;
    }
    if (next != this) {
      const iovec rest{const_cast<char*>(part) + mine, bytes - mine};
      next->observed(c, fd, traffic, rest, bytes - mine);
      return true;
    }
    return state != http1::ParseState::kInvalid && state != http1::ParseState::kUpgraded &&
           c.state.is_followed();
  });
  if (of_requests) leave_texts();
  if (next != this) return;
  if (!of_requests && c.role == Role::kClient) {
    const bool within = state == http1::ParseState::kBody;
    note_answer(c, within);
    Exchange* x = within ? exchanges.front() : nullptr;
    if (x != nullptr && responses.body_bytes() >= x->stalls_after) {
      x->stalls_after = UINT64_MAX;
      begin_silence(fd, x->call);
    }
  }
  after_feed(c, fd, of_requests, state);
}

bool Http1::unseen(Connection&, Traffic traffic, size_t size) {
  const bool of_requests = traffic == Traffic::kRequests;
  const Exchange* x = of_requests ? current : exchanges.front();
  if (x != nullptr && of_requests && x->incoming != nullptr) incoming_body_unseen(x->incoming);
  if (x != nullptr && !of_requests && x->fields != nullptr) response_unseen(x->fields);
  if (of_requests) return requests.state() == http1::ParseState::kBody && skip_request_body(size);
  return responses.state() == http1::ParseState::kBody &&
         responses.skip_body(size) != http1::ParseState::kInvalid;
}

bool Http1::is_idle(const Connection& c) const {
  return c.requests != 0 && exchanges.empty() && !decided &&
         requests.state() == http1::ParseState::kStart &&
         responses.state() == http1::ParseState::kStart;
}

// --- ends ----------------------------------------------------------------------------------------

void Http1::responses_ended(Connection&) {
  // A body that is delimited by the end of the stream is complete now.
  announce(*this);
  if (!exchanges.empty()) responses.finish();
}

void Http1::end_unanswered(Connection& c) {
  // The head of the first answer may have been read already.
  uint16_t begun = responses.state() == http1::ParseState::kBody ? response_events.status() : 0;
  while (Exchange* x = exchanges.pop()) {
    x->finished = unanswered(c);
    if (begun != 0 && c.role == Role::kClient && c.closing.load() &&
        x->finished.outcome == RpcOutcome::kTimedOut && !waits_for_rest(c)) {
      x->finished.outcome = RpcOutcome::kNotRead;
      x->finished.status = begun;
    }
    x->finished.begun = std::exchange(begun, 0);
    x->sample_size = 0;
    x->status = 0;
    finish_half(c, x, kResponseHalf);
  }
}

void Http1::settle(Connection& c) {
  // A server's close is the end of an answer without a length. A client's is not: it has not read
  // that end (responses_ended), so how much of the body came along with the head is chance.
  if (c.closing.load() && c.role != Role::kClient && responses.state() != http1::ParseState::kStart)
    responses.finish();
  if (Exchange* x = fault) {
    fault = nullptr;
    report_fault(x->call, FaultHow::kNotInjected, kConnectionEndedFirst);
    if (x != current) finish_half(c, x, kRequestHalf);
  }
  end_open_request(c);
  end_unanswered(c);
}

void Http1::end_silence(Connection& c) {
  Exchange* x = std::exchange(silenced, nullptr);
  if (x == nullptr) return;
  x->finished.outcome = RpcOutcome::kTimedOut;
  x->finished.injected = c.elapsed.load(std::memory_order_relaxed) ? 2 : 1;
  x->sample_size = 0;
  finish_half(c, x, kResponseHalf);
}

void Http1::adopt_in_child(Connection& c) {
  // The calls are the parent's to report, so the child's copies end without an event.
  current = fault = nullptr;
  receives.forget();
  keeps_readers_out = false;
  while (Exchange* x = exchanges.pop()) {
    x->call.active = false;
    finish_half(c, x, kRequestHalf);
    finish_half(c, x, kResponseHalf);
  }
}

// --- parser events -------------------------------------------------------------------------------

void RequestEvents::on_head(const http1::MessageHead& head, size_t end) {
  Connection& c = *owner_->connection;
  if (c.role != Role::kServer) return client_request_head(c, head, end);
  server_request_head(c, head);
  const Exchange* x = owner_->current;
  if (x == nullptr || !incoming_needs_body(x->incoming)) owner_->requests.ignore_body();
}

void RequestEvents::on_body(const char* data, size_t size) {
  Connection& c = *owner_->connection;
  if (c.role == Role::kServer) {
    server_request_body(c, data, size);
  } else {
    client_request_body(c, data, size);
  }
}

void RequestEvents::on_complete(size_t end, Hash128 body, uint64_t size) {
  Connection& c = *owner_->connection;
  if (c.role == Role::kServer) {
    server_request_complete(c, body, size);
  } else {
    client_request_complete(c, end, body, size);
  }
}

void ResponseEvents::on_head(const http1::MessageHead& head, size_t) {
  status_ = head.status;
  owner_->last_answer = !head.keep_alive;
  // The answer is the caller's to report, so its body need not be read here.
  if (owner_->connection->role == Role::kServer) return owner_->responses.ignore_body();
  // The daemon sends half of the body (daemon/agents/http1_answer.cc).
  Exchange* x = owner_->exchanges.front();
  if (x != nullptr && x->changed && x->call.plan.stalls != 0 && head.has_content_length)
    x->stalls_after = head.content_length / 2;
}

void ResponseEvents::on_body(const char* data, size_t size) {
  if (owner_->connection->role == Role::kServer) return;
  Exchange* x = owner_->exchanges.front();
  if (x == nullptr) return;
  if (x->fields != nullptr) response_piece(x->fields, data, size);
  if (x->sample_size == kBodySample) return;
  const size_t take = std::min(size, kBodySample - x->sample_size);
  std::memcpy(x->sample + x->sample_size, data, take);
  x->sample_size = static_cast<uint16_t>(x->sample_size + take);
}

void ResponseEvents::on_complete(size_t end, Hash128 body, uint64_t size) {
  Connection& c = *owner_->connection;
  Exchange* x = owner_->exchanges.pop();
  if (x == nullptr) {
    give_up(c, NotInterposedReason::kMidStream);
    return;
  }
  if (status_ == 101 && upgrade_to_http2(c, *owner_, x)) {
    owner_->upgraded_at = end;
    finish_half(c, x, kResponseHalf);
    return;
  }
  x->status = status_;
  x->finished.outcome = RpcOutcome::kAnswered;
  x->finished.status = status_;
  x->finished.body = x->fields != nullptr ? response_whole(x->fields, body, size) : body;
  x->finished.body_size = size;
  if (c.role == Role::kClient && x->call.active) {
    c.answered_path = x->call.parent_path;
    c.answered_in = x->call.execution;
  }
  finish_half(c, x, kResponseHalf);
}

}  // namespace filibuster::preload
