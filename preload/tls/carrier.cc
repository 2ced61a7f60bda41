#include "preload/tls/carrier.h"

#include <algorithm>

#include "preload/stream/recognition.h"
#include "preload/stream/sender.h"
#include "preload/tls/claims.h"

namespace filibuster::preload {
namespace {

// Values of Connection::encrypted.
constexpr uint8_t kHelloSeen = 1, kReported = 3;

// One object for all connections. What differs between them is in the connection.
class Carrier final : public Followed {
 public:
  bool is_carrier() const override { return true; }

  void offered(Connection& c, const Offer& offer, uint64_t from) override {
    keep(c, offer.pieces, static_cast<size_t>(from - offer.base),
         static_cast<size_t>(offer.end - offer.base));
  }
  Released release(Connection& c, int fd, const Offer& offer, Sending) override {
    note(c, fd);
    return {offer.end, {}};
  }
  bool may_hold(Connection&) override { return false; }
  bool waits_for_a_thread(Connection&) override { return false; }
  bool press(Connection&, int) override { return false; }
  void decide_held(Connection&) override {}
  uint64_t flush_limit(Connection&, uint64_t released, bool) override { return released; }
  void sent(Connection& c, int) override { c.carried = c.wire.accepted; }
  void forget_ahead(Connection&) override {}
  bool skipped(Connection&, uint64_t) override { return true; }

  void observed(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) override {
    if (traffic != Traffic::kRequests) return;
    keep(c, pieces, 0, size);
    note(c, fd);
  }
  bool unseen(Connection&, Traffic, size_t) override { return true; }
  bool may_begin_with(Pieces) const override { return false; }

  void end_unanswered(Connection&) override {}
  void settle(Connection& c) override {
    if (c.closing.load()) report_unclaimed(c);
  }
  void adopt_in_child(Connection&) override {}

  bool passes() const override { return true; }
  IoResult pass_send(Connection& c, int, Pieces pieces, int, bool) override {
    if (c.role == Role::kClient) look_at(c, pieces, pieces.size());
    return {kNotHandled, 0};
  }
  void pass_received(Connection& c, int, Pieces pieces, int, size_t size) override {
    if (c.role == Role::kServer) look_at(c, pieces, size);
  }

 private:
  static void keep(Connection& c, Pieces pieces, size_t from, size_t size) {
    KeptBytes& hello = c.hello;
    const size_t more = std::min(size - from, tls::kUpToRandom - hello.size);
    pieces.copy(from, hello.bytes + hello.size, more);
    hello.size = static_cast<uint8_t>(hello.size + more);
  }
  static void note(Connection& c, int fd) {
    KeptBytes& hello = c.hello;
    tls::ClientRandom random;
    if (hello.size == 0 ||
        tls::sniff_client_hello({hello.bytes, hello.size}, &random) != tls::Hello::kYes)
      return;
    note_hello(random, fd, c);
    hello.size = 0;
    c.encrypted = kHelloSeen;
  }
  static void look_at(Connection& c, Pieces pieces, size_t size) {
    char gathered[8];
    const FirstBytes first(pieces, size, gathered, sizeof gathered);
    // The first time may be the end of the handshake, which TLS 1.3 encrypts. A library that is followed has
    // claimed the connection by then.
    constexpr uint8_t kData = kHelloSeen + 1;
    if (c.encrypted >= kReported ||
        !tls::begins_record({first.data, first.size}, tls::ContentType::kApplicationData))
      return;
    if (c.encrypted == kData) report_unclaimed(c);
    if (c.encrypted < kData) c.encrypted = kData;
  }
};
static_assert(tls::kUpToRandom <= KeptBytes::kMost);

constinit Carrier g_carrier;

}  // namespace

namespace {

Recognised recognised(tls::Hello hello) {
  switch (hello) {
    case tls::Hello::kNo:
      return Recognised::kNo;
    case tls::Hello::kNeedMore:
      return Recognised::kNeedMore;
    case tls::Hello::kYes:
      break;
  }
  return Recognised::kYes;
}

}  // namespace

Recognised is_tls_of_client(std::string_view first) {
  return recognised(tls::sniff_client_hello(first, nullptr));
}

// A server that cannot make anything of what it got begins with an alert.
Recognised is_tls_of_server(std::string_view first) {
  return recognised(tls::sniff_server(first));
}

// The connect was not seen, but the handshake is. A part of its first message does not tell the random, but a
// library that reads the descriptor itself needs none.
Joined joins_tls(std::string_view first, NotInterposedReason* reason) {
  switch (tls::sniff_client_hello(first, nullptr)) {
    case tls::Hello::kYes:
      return Joined::kRequests;
    case tls::Hello::kNeedMore:
      return Joined::kWait;
    case tls::Hello::kNo:
      break;
  }
  if (tls::begins_record(first, tls::ContentType::kApplicationData))
    *reason = NotInterposedReason::kTls;
  return Joined::kNo;
}

void report_unclaimed(Connection& c) {
  if (c.transport.load() != nullptr || c.encrypted < kHelloSeen || c.encrypted >= kReported) return;
  c.encrypted = kReported;
  report_given_up(c, NotInterposedReason::kTls);
}

void begin_carrier(Connection& c, Pieces, size_t) {
  publish(c, &g_carrier);
}

}  // namespace filibuster::preload
