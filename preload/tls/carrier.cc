#include "preload/tls/carrier.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "core/tls/prelude.h"
#include "preload/stream/handshake_faults.h"
#include "preload/stream/recognition.h"
#include "preload/stream/sender.h"
#include "preload/tls/claims.h"

namespace filibuster::preload {
namespace {

// Values of Connection::encrypted.
constexpr uint8_t kHelloSeen = 1, kReported = 3;

// Values of Connection::prelude: what was asked for, and that it was answered.
constexpr uint8_t kConnect = 1, kPostgres = 2, kAnswered = 4;

// So much is looked at for a name. The ClientHello of today's browsers and libraries is smaller.
constexpr size_t kNameWithin = 2048;

// The client has asked for a server by this name.
void take_name(TargetInfo* target, std::string_view name) {
  if (target->known || name.size() > sizeof target->service) return;
  std::memcpy(target->service, name.data(), name.size());
  target->service_size = static_cast<uint8_t>(name.size());
}

// The connection leads to a proxy, and what follows goes on to the target of the CONNECT request.
void take_target(Connection& c, const tls::Authority& to) {
  char host[INET6_ADDRSTRLEN] = "";
  const bool is_local = to.host == "localhost";
  if (is_local) {
    std::memcpy(host, "127.0.0.1", sizeof "127.0.0.1");
  } else if (to.host.size() < sizeof host) {
    std::memcpy(host, to.host.data(), to.host.size());
  }
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  v4.sin_port = v6.sin6_port = htons(to.port);
  const sockaddr* address = nullptr;
  c.address_size = 0;
  if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
    address = reinterpret_cast<sockaddr*>(&v4);
    c.address_size = sizeof v4;
  } else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
    address = reinterpret_cast<sockaddr*>(&v6);
    c.address_size = sizeof v6;
  }
  c.target = {};
  if (address != nullptr) {
    std::memcpy(&c.address, address, c.address_size);
    c.target = lookup_target(address, c.address_size);
    c.peer_size = static_cast<uint8_t>(
        std::min(describe_address(address, c.address_size, c.peer, sizeof c.peer), sizeof c.peer));
  } else {
    c.peer_size = static_cast<uint8_t>(std::min(to.host.size(), sizeof c.peer));
    std::memcpy(c.peer, to.host.data(), c.peer_size);
    take_name(&c.target, to.host);
  }
}

// True: the client asks for what leads to TLS.
bool begin_prelude(Connection& c, Pieces pieces, size_t size) {
  char gathered[512];
  const FirstBytes first(pieces, size, gathered, sizeof gathered);
  const std::string_view bytes(first.data, first.size);
  switch (tls::sniff_prelude(bytes)) {
    case tls::Prelude::kConnect:
      c.prelude = kConnect;
      if (c.role == Role::kServer) {  // a proxy
        c.encrypted = kReported;
        report_given_up(c, NotInterposedReason::kUpgraded);
      } else if (const tls::Authority to = tls::connect_authority(bytes); !to.host.empty()) {
        take_target(c, to);
      }
      return true;
    case tls::Prelude::kPostgres:
      c.prelude = kPostgres;
      return true;
    case tls::Prelude::kNeedMore:
    case tls::Prelude::kNone:
      break;
  }
  return false;
}

}  // namespace

void name_by_hello(Connection& c, Pieces pieces, size_t size) {
  if (c.target.known || c.role == Role::kServer || pieces.count == 0) return;
  // A library writes its ClientHello in one piece.
  const size_t first = std::min({size, pieces[0].iov_len, kNameWithin});
  take_name(&c.target, tls::server_name({static_cast<const char*>(pieces[0].iov_base), first}));
}

namespace {

// One object for all connections. What differs between them is in the connection.
class Carrier final : public HoldsNothing {
 public:
  bool is_carrier() const override { return true; }

  void offered(Connection& c, const Offer& offer, uint64_t from) override {
    const size_t size = static_cast<size_t>(offer.end - offer.base);
    if (c.prelude == 0) keep(c, offer.pieces, static_cast<size_t>(from - offer.base), size);
    if (from == offer.base) name_by_hello(c, offer.pieces, size);
  }
  Released release(Connection& c, int fd, const Offer& offer, Sending) override {
    if (note(c, fd) && fail_handshake(c, fd)) return {offer.base, Released::Then::kSwallow};
    return {offer.end, {}};
  }
  void sent(Connection& c, int) override { c.carried = c.wire.accepted; }
  bool skipped(Connection&, uint64_t) override { return true; }

  void observed(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) override {
    if ((traffic == Traffic::kRequests) == (c.role == Role::kServer)) c.carried_in += size;
    if (traffic != Traffic::kRequests) return answered(c);
    if (c.prelude != 0) return;
    keep(c, pieces, 0, size);
    note(c, fd);
  }
  bool unseen(Connection&, Traffic, size_t) override { return true; }
  bool may_begin_with(Pieces) const override { return false; }

  void end_unanswered(Connection&) override {}
  void settle(Connection& c) override {
    // A connection that a fault has ended in its handshake was claimed by nobody.
    if (c.closing.load() && !c.state.is_replaced()) report_unclaimed(c);
  }
  void end_silence(Connection& c) override { end_handshake_silence(c); }
  void adopt_in_child(Connection& c) override { c.connect.handshake.active = false; }

  bool passes() const override { return true; }
  IoResult pass_send(Connection& c, int fd, Pieces pieces, int, bool) override {
    if (c.role != Role::kClient) {
      answered(c);
    } else if (from_client(c, fd, pieces, pieces.size()) && fail_handshake(c, fd)) {
      return {static_cast<ssize_t>(pieces.size()), 0};
    }
    return {kNotHandled, 0};
  }
  void pass_received(Connection& c, int fd, Pieces pieces, int flags, size_t size) override {
    if ((flags & (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE)) != 0) return;
    if (c.role == Role::kServer) {
      from_client(c, fd, pieces, size);
    } else {
      answered(c);
    }
    c.carried_in += size;
  }

 private:
  static void answered(Connection& c) {
    if (c.prelude != 0) c.prelude |= kAnswered;
  }
  // True: these bytes are the ClientHello, or its end.
  static bool from_client(Connection& c, int fd, Pieces pieces, size_t size) {
    if (c.prelude != 0) return after_prelude(c, fd, pieces, size);
    if (c.encrypted == 0 && c.hello.size != 0) {
      keep(c, pieces, 0, size);
      return note(c, fd);
    }
    look_at(c, pieces, size);
    return false;
  }
  // The client waits for the answer before it sends its ClientHello, so that this one begins a transfer.
  static bool after_prelude(Connection& c, int fd, Pieces pieces, size_t size) {
    if ((c.prelude & kAnswered) == 0) return false;  // the rest of what it asks for
    char gathered[tls::kUpToRandom];
    const FirstBytes first(pieces, size, gathered, sizeof gathered);
    const std::string_view bytes(first.data, first.size);
    if (begin_prelude(c, pieces, size))
      return false;  // a proxy that wanted a password is asked again
    const bool postgres = (c.prelude & kPostgres) != 0;
    c.prelude = 0;
    if (tls::sniff_client_hello(bytes, nullptr) == tls::Hello::kNo) {
      c.encrypted = kReported;
      report_given_up(
          c, postgres ? NotInterposedReason::kUnknownProtocol : NotInterposedReason::kUpgraded);
      return false;
    }
    // What the TLS library writes is counted from here on.
    c.carried = c.carried_in = 0;
    keep(c, pieces, 0, size);
    name_by_hello(c, pieces, size);
    return note(c, fd);
  }
  static void keep(Connection& c, Pieces pieces, size_t from, size_t size) {
    KeptBytes& hello = c.hello;
    const size_t more = std::min(size - from, tls::kUpToRandom - hello.size);
    pieces.copy(from, hello.bytes + hello.size, more);
    hello.size = static_cast<uint8_t>(hello.size + more);
  }
  // True: the ClientHello is there.
  static bool note(Connection& c, int fd) {
    KeptBytes& hello = c.hello;
    tls::ClientRandom random;
    if (hello.size == 0 ||
        tls::sniff_client_hello({hello.bytes, hello.size}, &random) != tls::Hello::kYes)
      return false;
    note_hello(random, fd, c);
    hello.size = 0;
    c.encrypted = kHelloSeen;
    return true;
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
  switch (tls::sniff_prelude(first)) {
    case tls::Prelude::kConnect:
    case tls::Prelude::kPostgres:
      return Recognised::kYes;
    case tls::Prelude::kNeedMore:
      return Recognised::kNeedMore;
    case tls::Prelude::kNone:
      break;
  }
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

void begin_carrier(Connection& c, Pieces pieces, size_t size) {
  begin_prelude(c, pieces, size);
  publish(c, &g_carrier);
}

}  // namespace filibuster::preload
