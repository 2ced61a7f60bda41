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

// What a client sends, of which nothing was accepted before, from position `base` of its stream.
struct Offer {
  Pieces pieces;
  uint64_t base = 0;
  uint64_t end = 0;
};

// Who sends: the application; a hook, before the application waits for the peer, or closes; a thread of
// ours (holds.h), which places no fault.
enum class Sending : uint8_t { kOffered, kFlushed, kAside };

struct Released {
  uint64_t limit = 0;  // of the application's bytes: those before it may leave
  enum class Then : uint8_t {
    kHold,     // the others stay
    kMore,     // to be asked again when those have left
    kSwallow,  // a fault happened in place of them all
  } then = Then::kHold;
};

// One connection, as its protocol knows it.
class Followed {
 public:
  // --- a client's requests

  // The bytes of the offer from position `from` on were not seen before.
  virtual void offered(Connection& c, const Offer& offer, uint64_t from) = 0;
  // Plans the edits of what may leave, places faults.
  virtual Released release(Connection& c, int fd, const Offer& offer, Sending sending) = 0;
  // May what stays be held? Who makes it is known then.
  virtual bool may_hold(Connection& c) = 0;
  // It is held: does another thread bring what is missing?
  virtual bool waits_for_a_thread(Connection& c) = 0;
  // It cannot be held: decide with what is known, for the first, second, ... time. False: there is
  // nothing more that could be done.
  virtual bool press(Connection& c, int times) = 0;
  // The rest is not waited for: what is held is decided.
  virtual void decide_held(Connection& c) = 0;
  // Up to which position a flush goes: what the peer could make nothing of may stay, if more may come.
  virtual uint64_t flush_limit(Connection& c, uint64_t released, bool closing) = 0;
  // More of it is on the wire.
  virtual void sent(Connection& c, int fd) = 0;
  // What was parsed ahead was not offered again.
  virtual void forget_ahead(Connection& c) = 0;
  // `size` bytes of a body went another way (sendfile). False: there is none.
  virtual bool skipped(Connection& c, uint64_t size) = 0;
  // The bytes of several threads come one after the other, even where nothing is owed.
  virtual bool sends_in_turn() const { return false; }
  // Where a runtime's helper says who makes the next bytes (rpc/write_origins.h); nullptr: nobody asks.
  // Called by the thread that sends.
  virtual WriteOrigins* write_origins(Connection&) { return nullptr; }
  // Has a fault that is to fire before any of its request leaves.
  virtual bool waits_for_its_fault(const Connection&) const { return false; }

  // It has a fault that waits for answers to what was sent before; they are there now.
  virtual bool may_go_on(const Connection&) const { return false; }

  // --- bytes that went by unchanged

  virtual void observed(Connection& c, int fd, Traffic traffic, Pieces pieces,
                        size_t size) = 0;
  // `size` bytes that nobody saw. False: they cannot have been a part of a body.
  virtual bool unseen(Connection& c, Traffic traffic, size_t size) = 0;
  // May these first bytes of requests begin a message?
  virtual bool may_begin_with(Pieces pieces) const = 0;
  // May a connection be ended while nothing is under way on it, and is that so now?
  virtual bool may_be_ended() const { return false; }
  virtual bool is_idle(const Connection&) const { return false; }

  // A server's requests that are open, oldest first; nullptr: one that is none of ours.
  virtual uint32_t open_requests() const { return 0; }
  virtual const Incoming* incoming_at(uint32_t) const { return nullptr; }

  // --- ends

  // The server has closed its side.
  virtual void responses_ended(Connection&) {}
  // No answer comes any more: open calls end as unanswered() says (connection.h).
  virtual void end_unanswered(Connection& c) = 0;
  // Both flows owned, given up or closing: whatever is open ends.
  virtual void settle(Connection& c) = 0;
  // The application gave up on an injected silence (close, shutdown, or the hang limit's reset).
  virtual void end_silence(Connection&) {}
  // In a forked child, of a client: what is open is the parent's.
  virtual void adopt_in_child(Connection& c) = 0;
  // With the connection.
  virtual void free(Connection&) {}

  // --- what is particular

  // Something of ours is still to come over it, whoever else has lost interest.
  virtual bool owes() const { return false; }
  // It cannot be left alone any more, with a session or without.
  virtual bool cannot_be_left() const { return false; }
  // Between the two a client's receive is under way, during which no fault takes the descriptor away.
  // False: it need not be told.
  virtual bool begin_receive(Connection&) { return false; }
  virtual void end_receive(Connection&) {}

  // Its bytes pass, but for what it puts between them or takes away: it sends itself.
  virtual bool passes() const { return false; }
  // sender.h send_offered, for such a one. `plain`: neither an address nor control data goes with them.
  virtual IoResult pass_send(Connection&, int, Pieces, int /*flags*/, bool /*plain*/) {
    return {-1, 0};
  }
  // `size` bytes were read, or looked at (MSG_PEEK).
  virtual void pass_received(Connection&, int, Pieces, int /*flags*/, size_t /*size*/) {}
  virtual void pass_unseen_send(Connection&) {}

 protected:
  ~Followed() = default;
};

// Of a connection that was open before the session, what a protocol remembers of its descriptor
// (registry.h); only it knows what that means.
enum class Noted : uint8_t { kNothing, kFirst, kSecond };

enum class Recognised : uint8_t { kNo, kNeedMore, kYes };
// In the middle of a stream. kWait: what goes by now tells nothing, what comes next may.
enum class Joined : uint8_t { kNo, kWait, kRequests };

struct ProtocolRow {
  const char* name;
  // By the first bytes of the requests, from the first one on. nullptr: what is nothing else.
  Recognised (*requests)(std::string_view first);
  // By those of the responses, where the server speaks first. nullptr: it never does.
  Recognised (*responses)(std::string_view first);
  // Makes the connection's Followed and publishes it (publish). `pieces`: the first transfer of its
  // client, where that is known.
  void (*begin)(Connection& c, Pieces pieces, size_t size);
  // A stream of which the beginning was not seen: is this the beginning of a request? `*reason`: why it
  // is not followed, where these bytes say so. nullptr: it cannot be joined.
  Joined (*joins)(std::string_view first, NotInterposedReason* reason);
  // The same for one that was open before the session, of which this was noted. nullptr: none is.
  void (*begin_noted)(Connection& c, Noted noted);
};
// protocols/table.cc: the first that recognises it has it; the last one takes what is left.
std::span<const ProtocolRow> protocol_table();

}  // namespace filibuster::preload
