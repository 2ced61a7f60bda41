// HTTP/1.x on a connection: both parsers, the exchanges that are open, and, for a client, the request in
// progress. The object stands in Connection::room.
//
//   http1.cc             the interface for the stream (stream/protocol.h), recognition
//   request_decision.cc  when a request is known well enough: its RPC is formed, our field is planned
//   request_faults.cc    faults that fire when a request is sent
//   server_side.cc       requests are incoming RPCs, responses end them
//   exchange.cc          how an exchange ends
#pragma once

#include "core/http1/message_parser.h"
#include "core/pieces.h"
#include "preload/protocols/http1/exchange.h"
#include "preload/stream/connection.h"
#include "preload/stream/holds.h"
#include "preload/stream/receive_gate.h"

namespace filibuster::preload {

struct Http1;

class RequestEvents final : public http1::Handler {
 public:
  explicit RequestEvents(Http1* owner) : owner_(owner) {}
  void on_head(const http1::MessageHead& head, size_t end) override;
  void on_body(const char* data, size_t size) override;
  void on_complete(size_t end, Hash128 body, uint64_t size) override;

 private:
  Http1* owner_;
};

class ResponseEvents final : public http1::Handler {
 public:
  explicit ResponseEvents(Http1* owner) : owner_(owner) {}
  void on_head(const http1::MessageHead& head, size_t end) override;
  void on_body(const char* data, size_t size) override;
  void on_complete(size_t end, Hash128 body, uint64_t size) override;
  uint16_t status() const { return status_; }  // of the head that was read last

 private:
  Http1* owner_;
  uint16_t status_ = 0;
};

struct Http1 final : Followed {
  explicit Http1(Connection* connection_) : connection(connection_) {
    requests.look_for(&g_sought_fields);
  }

  void offered(Connection& c, const Offer& offer, uint64_t from) override;
  Released release(Connection& c, int fd, const Offer& offer, Sending sending) override;
  bool may_hold(Connection& c) override;
  // asyncio reads a body from a file in a pool of threads.
  int patience_ms(Connection&) override { return kPatienceMs; }
  bool press(Connection& c, int times) override;
  void decide_held(Connection& c) override;
  uint64_t flush_limit(Connection&, uint64_t released, bool) override { return released; }
  void sent(Connection& c, int fd) override;
  void forget_ahead(Connection&) override {}
  bool skipped(Connection& c, uint64_t size) override;
  bool waits_for_its_fault(const Connection& c) const override;
  void observed(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) override;
  bool unseen(Connection& c, Traffic traffic, size_t size) override;
  bool may_begin_with(Pieces) const override {
    return requests.state() == http1::ParseState::kStart;
  }
  bool may_be_ended() const override { return true; }
  Spoken spoken(const Connection& c) const override { return {StreamProtocol::kHttp1, c.requests}; }
  bool is_idle(const Connection& c) const override;
  uint32_t open_requests() const override { return exchanges.size(); }
  const Incoming* incoming_at(uint32_t i) const override {
    const Exchange* x = exchanges.open_at(i);
    return x == nullptr ? nullptr : x->incoming;
  }
  Receive begin_receive(Connection&) override {
    receives.enter();
    return Receive::kNoted;
  }
  void end_receive(Connection&) override { receives.leave(); }
  void responses_ended(Connection& c) override;
  void end_unanswered(Connection& c) override;
  void settle(Connection& c) override;
  void end_silence(Connection& c) override;
  void adopt_in_child(Connection& c) override;
  void free(Connection&) override { give_back_texts(); }

  // Called before `requests` is fed. False: there is no memory, and the connection was given up.
  bool take_texts(Connection& c);
  // Called afterwards: only a parser that is within a request keeps its texts.
  void leave_texts() {
    if (!requests.in_message()) give_back_texts();
  }
  void give_back_texts();
  // False: no body of a request is so long.
  bool skip_request_body(uint64_t size);

  Connection* const connection;
  RequestEvents request_events{this};
  ResponseEvents response_events{this};
  http1::RequestTexts* texts = nullptr;
  http1::MessageParser requests{texts, &request_events};
  http1::Outstanding outstanding;
  http1::MessageParser responses{&outstanding, &response_events};
  ExchangeQueue exchanges;
  ReceiveGate receives;
  bool keeps_readers_out = false;  // owner of the request flow: `receives` is closed for a fault
  size_t upgraded_at = 0;          // byte of the current feed of responses where HTTP/2 begins

  bool last_answer = false;  // the answer that was read last ends its connection

  // The request in progress. Positions count the application's bytes (Wire).
  uint64_t feed_base = 0;  // of the first byte of the current feed
  uint64_t message_start = 0;
  bool decided = false;     // outgoing_begin was called for it
  http1::MessageHead head;  // views into `texts`; valid until the message is complete
  char sample[kBodySample];
  uint16_t sample_size = 0;
  RequestFields* fields = nullptr;        // owned until it is decided
  const RequestOrigin* origin = nullptr;  // of the held request: owned
  Exchange* current = nullptr;            // the exchange of a decided request that is not complete
  Exchange* fault = nullptr;              // the exchange whose fault is still to be injected
  Exchange* silenced = nullptr;  // answered by silence: open until the application gives up
  // Of HTTP2-Settings, in a request that asks for h2c; 0: it does not.
  uint8_t upgrade_size = 0;
  char upgrade_settings[128];
};
static_assert(sizeof(Http1) <= Connection::kRoom);

// Precondition: the connection speaks HTTP/1, or did before it was upgraded.
inline Http1& http1_of(Connection& c) {
  return *reinterpret_cast<Http1*>(c.room);
}

// ProtocolRow. A connection that no other protocol recognises comes here. If it does not speak HTTP/1,
// it is reported as not interposed.
void begin_http1(Connection& c, Pieces pieces, size_t size);
Joined joins_http1(std::string_view first, NotInterposedReason* reason);

// --- for the rest of this folder -----------------------------------------------------------------

// Looks at the first bytes of the requests. False: they are no HTTP/1 (TLS, HTTP/2, another protocol), and
// the connection was given up and reported.
bool looks_like_requests(Connection& c, Pieces pieces, size_t size);

// request_decision.cc, for clients. Precondition: the head is complete. Forms the RPC (outgoing_begin),
// enters its exchange, and plans the edits that put our field into the request.
void decide(Connection& c, bool body_complete, Hash128 body);
// Notes who makes the request, because it will be held before it is decided, and another thread may
// decide it. False: there is no room to note it, so that it must be decided now.
bool note_maker(Connection& c);
// Frees what is kept of a request that will never be decided.
void drop_fields(Connection& c);
void client_request_head(Connection& c, const http1::MessageHead& head, size_t end);
void client_request_body(Connection& c, const char* data, size_t size);
void client_request_complete(Connection& c, size_t end, Hash128 body, uint64_t size);

// request_faults.cc. Called before any byte of the message is sent. True: the fault fired, and the
// application's bytes count as sent.
bool try_fault_before(Connection& c, int fd);
// Called before the application's bytes up to `limit` are sent. Where a fault follows the last of them, no thread reads the
// answer between the two: an event loop would otherwise have it before the fault is there.
void keep_readers_out(Connection& c, uint64_t limit);
void let_readers_in(Connection& c);
// Called once the whole request is on the wire.
void try_fault_after(Connection& c, int fd);

// server_side.cc
void server_request_head(Connection& c, const http1::MessageHead& head);
void server_request_body(Connection& c, const char* data, size_t size);
void server_request_complete(Connection& c, Hash128 body, uint64_t size);
// The caller owns both flows. Ends the request in progress, which will not be completed.
void end_open_request(Connection& c);

}  // namespace filibuster::preload
