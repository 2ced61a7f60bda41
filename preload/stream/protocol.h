// What a followed stream asks of the protocol that is spoken over it. A protocol (protocols/) reads the
// bytes of both directions; of a client it decides what may leave, with which edits, and which fault
// happens instead. Streams know nothing of any protocol but this.
//
//   a client sends    offered -> release (-> decided, held) -> the wire -> sent
//   bytes go by       observed, unseen
//   an end            responses_ended, unanswered, settled, free
//
// Ownership is as in connection.h: what concerns requests is called by the owner of the request flow,
// what concerns responses by that of the response flow.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/pieces.h"
#include "core/protocol/events.h"

namespace filibuster::preload {

struct Connection;
struct Incoming;  // rpc/causality.h
class WriteOrigins;

enum class Traffic : uint8_t { kRequests, kResponses };

// Bytes that a client sends: positions `base` to `end` of its stream. None of them was accepted before.
struct Offer {
  Pieces pieces;
  uint64_t base = 0;
  uint64_t end = 0;
};

// Who sends. kOffered: the application. kFlushed: a hook, before the application waits for the peer or
// closes. kAside: a thread of the agent (holds.h), which places no fault.
enum class Sending : uint8_t { kOffered, kFlushed, kAside };

struct Released {
  uint64_t limit = 0;  // the application's bytes before this position may leave
  enum class Then : uint8_t {
    kHold,     // the bytes from `limit` on are held
    kMore,     // when the bytes before `limit` have left, release() is called again
    kSwallow,  // a fault happened in place of the request: no byte leaves
  } then = Then::kHold;
};

// What a recording has of a stream: kNone: nothing. `messages`: how many requests went by, as RpcAt::number counts them.
struct Spoken {
  StreamProtocol protocol = StreamProtocol::kNone;
  uint64_t messages = 0;
};

// One connection, as its protocol knows it.
class Followed {
 public:
  // --- a client's requests

  // Reads the bytes of the offer from position `from` on. Those before `from` were read earlier.
  virtual void offered(Connection& c, const Offer& offer, uint64_t from) = 0;
  // Says which bytes may leave, plans their edits, and places faults.
  virtual Released release(Connection& c, int fd, const Offer& offer, Sending sending) = 0;
  // May the bytes that do not leave be held? The call also notes who makes the request.
  virtual bool may_hold(Connection& c) = 0;
  // Called while a request is held: for how long may its thread wait for another one that brings the missing
  // part? In milliseconds; 0: no other thread does.
  virtual int patience_ms(Connection& c) = 0;
  // The bytes cannot be held. Decides the request by the part that is known; `times` counts these calls
  // from 1. False: nothing more can be decided.
  virtual bool press(Connection& c, int times) = 0;
  // Decides the request that is held, without waiting for the rest of it.
  virtual void decide_held(Connection& c) = 0;
  // The position up to which a flush sends. A part that the peer can make nothing of may stay behind,
  // unless the connection is `closing`.
  virtual uint64_t flush_limit(Connection& c, uint64_t released, bool closing) = 0;
  // More bytes are on the wire.
  virtual void sent(Connection& c, int fd) = 0;
  // The application did not come back with bytes that were read and not accepted: forgets them.
  virtual void forget_ahead(Connection& c) = 0;
  // Bytes that are offered on a connection that a fault has ended go nowhere.
  virtual void swallowed(Connection&) {}
  // `size` bytes of a body were sent in another way (sendfile). False: no body is being sent.
  virtual bool skipped(Connection& c, uint64_t size) = 0;
  // True: threads that send at the same time wait for each other, even where no byte is held.
  virtual bool sends_in_turn() const { return false; }
  // Where a runtime's helper says who makes the next bytes (rpc/write_origins.h); nullptr: nobody asks.
  // Called by the thread that sends.
  virtual WriteOrigins* write_origins(Connection&) { return nullptr; }
  // A fault is to fire before any byte of its request leaves.
  virtual bool waits_for_its_fault(const Connection&) const { return false; }

  // A fault waited for the answers to earlier requests, and these answers are there now.
  virtual bool may_go_on(const Connection&) const { return false; }

  // --- bytes that went by unchanged

  virtual void observed(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) = 0;
  // `size` bytes went by that no hook saw. False: they cannot all have been a part of one body.
  virtual bool unseen(Connection& c, Traffic traffic, size_t size) = 0;
  // May these first bytes of requests begin a message?
  virtual bool may_begin_with(Pieces pieces) const = 0;
  // May a connection be ended while nothing is under way on it, and is that so now?
  virtual bool may_be_ended() const { return false; }
  virtual bool is_idle(const Connection&) const { return false; }

  // The open requests of a server, oldest first. nullptr: the request is followed by no RPC.
  virtual uint32_t open_requests() const { return 0; }
  virtual const Incoming* incoming_at(uint32_t) const { return nullptr; }
  // How many of them there are, where they have no order, too; `*one` is the only one, or nullptr.
  virtual uint32_t open_incoming(const Incoming** one) {
    const uint32_t open = open_requests();
    *one = open == 1 ? incoming_at(0) : nullptr;
    return open;
  }
  // That of a stream, for a protocol that has some. nullptr: none is open there.
  virtual const Incoming* incoming_of_stream(uint32_t) { return nullptr; }

  // --- what others saw (the observer of an attached process), of a client's requests that nobody can read

  // The caller has the answer to the request of that number (AttachedCall), with this status of HTTP, or an error (0). True:
  // it has given up on an injected silence, and would go on to use the connection.
  virtual bool answered_elsewhere(Connection&, uint64_t /*number*/, uint16_t /*status*/) {
    return false;
  }
  // Not all of that was seen, or will be.
  virtual void answers_elsewhere_lost(Connection&) {}

  // --- ends

  // The server has closed its side.
  virtual void responses_ended(Connection&) {}
  // No further answer comes: open calls end as unanswered() says (connection.h).
  virtual void end_unanswered(Connection& c) = 0;
  // The connection was given up, or is closing, and the caller owns both flows: ends whatever is open.
  virtual void settle(Connection& c) = 0;
  // The application gave up on an injected silence (close, shutdown, or the hang limit's reset).
  virtual void end_silence(Connection&) {}
  // Called in a forked child, for a client: the open calls belong to the parent.
  virtual void adopt_in_child(Connection& c) = 0;
  // The connection is freed.
  virtual void free(Connection&) {}

  // --- what is particular

  // Its bytes, as they are offered and observed, are those of a protocol that a recording can be read by.
  virtual Spoken spoken(const Connection&) const { return {}; }
  // The agent still has to send or receive something over the connection, with a session or without.
  virtual bool owes() const { return false; }
  // The agent has changed the stream, so that its bytes cannot pass by the original calls any more.
  virtual bool cannot_be_left() const { return false; }
  // A client's receive is under way between the two calls. kKeptOut: no fault takes the descriptor away
  // meanwhile. kNoted: one may, and the receive is repeated then. kNot: the protocol need not be told of
  // the end.
  enum class Receive { kNot, kNoted, kKeptOut };
  virtual Receive begin_receive(Connection&) { return Receive::kNot; }
  virtual void end_receive(Connection&) {}

  // The bytes are encrypted, and a TLS library may claim the connection (preload/tls).
  virtual bool is_carrier() const { return false; }

  // The application's bytes pass. The protocol sends them itself, since it inserts or removes some.
  virtual bool passes() const { return false; }
  // In place of send_offered (sender.h), if passes(). `plain`: no address and no control data goes with
  // the bytes.
  virtual IoResult pass_send(Connection&, int, Pieces, int /*flags*/, bool /*plain*/) {
    return {-1, 0};
  }
  // `size` bytes were read, or looked at (MSG_PEEK).
  virtual void pass_received(Connection&, int, Pieces, int /*flags*/, size_t /*size*/) {}
  virtual void pass_unseen_send(Connection&) {}

 protected:
  ~Followed() = default;
};

// For a protocol that looks at what passes, and holds no byte of a request back.
class HoldsNothing : public Followed {
 public:
  void offered(Connection&, const Offer&, uint64_t) override {}
  Released release(Connection&, int, const Offer& offer, Sending) override {
    return {offer.end, {}};
  }
  bool may_hold(Connection&) override { return false; }
  int patience_ms(Connection&) override { return 0; }
  bool press(Connection&, int) override { return false; }
  void decide_held(Connection&) override {}
  uint64_t flush_limit(Connection&, uint64_t released, bool) override { return released; }
  void sent(Connection&, int) override {}
  void forget_ahead(Connection&) override {}

 protected:
  ~HoldsNothing() = default;
};

// What a protocol remembers of a descriptor whose connection was open before the session (registry.h).
// Only the protocol knows what the values mean.
enum class Noted : uint8_t { kNothing, kFirst, kSecond };

enum class Recognised : uint8_t { kNo, kNeedMore, kYes };
// May the following begin in the middle of a stream? kWait: these bytes do not tell, later ones may.
enum class Joined : uint8_t { kNo, kWait, kRequests };

struct ProtocolRow {
  const char* name;
  // Recognises the protocol by the first bytes of the requests. nullptr: it has whatever no other
  // protocol recognises.
  Recognised (*requests)(std::string_view first);
  // Recognises the protocol by the first bytes of the responses. nullptr: a server never speaks first.
  Recognised (*responses)(std::string_view first);
  // Makes the connection's Followed and publishes it (publish). `pieces`: the first transfer of the
  // client, if it is known.
  void (*begin)(Connection& c, Pieces pieces, size_t size);
  // The beginning of the stream was not seen: do these bytes begin a request? `*reason`: why the stream
  // is not followed, if the bytes say so. nullptr: streams of this protocol cannot be joined.
  Joined (*joins)(std::string_view first, NotInterposedReason* reason);
  // Begins with a connection that was open before the session. nullptr: no such connection is followed.
  void (*begin_noted)(Connection& c, Noted noted);
};
// protocols/table.cc. The first row that recognises a stream has it; the last row takes what is left.
std::span<const ProtocolRow> protocol_table();

}  // namespace filibuster::preload
