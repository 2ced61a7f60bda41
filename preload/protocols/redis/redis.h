// Redis (RESP) on a client's connection. The protocol has no place for our field, so the server is a leaf. The
// object stands in Connection::room.
//
//   redis.cc      the interface for the stream (stream/protocol.h), recognition
//   calls.cc      which commands are calls, when these are formed, and how replies end them
//   faults.cc     faults that fire when a call is sent
//   commands.h    the commands that have no reply yet
#pragma once

#include <string_view>

#include "core/pieces.h"
#include "core/resp/command_parser.h"
#include "core/resp/commands.h"
#include "core/resp/reply_parser.h"
#include "preload/protocols/redis/commands.h"
#include "preload/rpc/write_origins.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

struct Redis;

class CommandEvents final : public resp::CommandHandler {
 public:
  explicit CommandEvents(Redis* owner) : owner_(owner) {}
  void on_command(const resp::Command& command, size_t end) override;

 private:
  Redis* owner_;
};

class ReplyEvents final : public resp::ReplyHandler {
 public:
  explicit ReplyEvents(Redis* owner) : owner_(owner) {}
  void on_reply(const resp::Reply& reply, size_t end) override;

 private:
  Redis* owner_;
};

// From MULTI to EXEC or DISCARD.
struct Transaction {
  static constexpr size_t kMaxText = 160;
  bool open = false;
  bool begun = false;  // a part of it was sent before its end was known
  Command* first = nullptr;
  uint64_t start = 0;
  uint32_t members = 0;
  HashStream digest;  // of the commands in it
  uint8_t text_size = 0;
  char text[kMaxText];  // "SET user:*, INCR visits"
};

struct Redis final : Followed {
  explicit Redis(Connection* connection_) : connection(connection_) {}

  void offered(Connection& c, const Offer& offer, uint64_t from) override;
  Released release(Connection& c, int fd, const Offer& offer, Sending sending) override;
  bool may_hold(Connection&) override { return true; }
  int patience_ms(Connection&) override { return 0; }
  bool press(Connection& c, int times) override;
  void decide_held(Connection&) override {}
  uint64_t flush_limit(Connection& c, uint64_t released, bool closing) override;
  void sent(Connection& c, int fd) override;
  void forget_ahead(Connection&) override {}
  bool skipped(Connection& c, uint64_t size) override;
  bool sends_in_turn() const override { return true; }
  WriteOrigins* write_origins(Connection& c) override;
  bool waits_for_its_fault(const Connection&) const override { return awaited.load() != 0; }
  bool may_go_on(const Connection& c) const override;
  void observed(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) override;
  bool unseen(Connection& c, Traffic traffic, size_t size) override;
  bool may_begin_with(Pieces) const override {
    return requests.state() == resp::CommandState::kStart;
  }
  bool may_be_ended() const override { return true; }
  Spoken spoken(const Connection&) const override {
    return {StreamProtocol::kRedis, commands.pushed()};
  }
  bool is_idle(const Connection& c) const override;
  void end_unanswered(Connection& c) override;
  void settle(Connection& c) override;
  void end_silence(Connection& c) override;
  void adopt_in_child(Connection& c) override;
  void free(Connection&) override;
  Receive begin_receive(Connection& c) override;
  void end_receive(Connection&) override { readers.fetch_sub(1); }

  Connection* const connection;
  CommandEvents command_events{this};
  ReplyEvents reply_events{this};
  resp::CommandParser requests{&command_events};
  resp::ReplyParser replies{&reply_events};
  CommandQueue commands;
  std::atomic<uint32_t> readers{0};  // threads in a receive
  // A fault is being injected: a thread that begins a receive waits.
  std::atomic<bool> firing{false};
  std::atomic<uint8_t> version{2};  // of RESP

  // The commands. Positions count the application's bytes (Wire).
  const Offer* offer = nullptr;           // what is being parsed
  uint32_t formed = 0;                    // how many calls of this offer were formed
  const RequestOrigin* origin = nullptr;  // of the offer's second and later calls: owned
  WriteOrigins* said = nullptr;           // who makes the calls, where a runtime tells: owned
  uint64_t feed_base = 0;                 // of the first byte of the current feed
  uint64_t whole_end = 0;                 // of the last command that is complete
  uint64_t passed_to = 0;                 // how far an incomplete command was let go
  bool watching = false;                  // between WATCH and EXEC or UNWATCH
  Transaction transaction;
  PlannedFault* fault = nullptr;  // the first of the list that have not fired
  PlannedFault* last_fault = nullptr;
  bool is_ending = false;  // a planned fault ends the connection: what follows it is never sent
  // Number of the first command of the fault whose turn is awaited; 0: none.
  std::atomic<uint64_t> awaited{0};
  std::atomic<bool> in_reply{false};  // a part of a reply, or of a push, was read
  bool unasked = false;               // a reply has come that answers no command
  OpenCall silenced;                  // answered by silence: open until the application gives up
};
static_assert(sizeof(Redis) <= Connection::kRoom);

inline Redis& redis_of(Connection& c) {
  return *reinterpret_cast<Redis*>(c.room);
}

// ProtocolRow.
Recognised is_redis_of_client(std::string_view first);
void begin_redis(Connection& c, Pieces pieces, size_t size);
Joined joins_redis(std::string_view first, NotInterposedReason* reason);

// --- for the rest of this folder -----------------------------------------------------------------

// calls.cc
void take_command(Connection& c, const resp::Command& command, size_t end);
void take_reply(Connection& c, const resp::Reply& reply);
// Called by the owner of the replies: no further reply comes.
void end_open_calls(Connection& c, const RpcFinished& how);

// faults.cc. Called by the owner of the commands. `limit`: up to where the application's bytes may leave before
// the next fault fires (UINT64_MAX: no fault is planned). `swallows`: the fault has fired in place of all of
// them.
struct FaultTurn {
  uint64_t limit = UINT64_MAX;
  bool swallows = false;
};
FaultTurn take_fault_turn(Connection& c, int fd, Sending sending);
// Reports the first planned fault as not injected.
void drop_first_fault(Connection& c, const char* why);

}  // namespace filibuster::preload
