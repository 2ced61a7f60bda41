// A client's connection of TLS that nobody in this process decrypts: that of an attached process, which its proxy carries. The
// object stands in Connection::room.
//
// What the client says behind its handshake is one RPC for each execution, its method is TLS, and it is answered as
// soon as the server says something, too. Which requests that are, and how they are answered, is not known.
//
// Of some programs others see the requests above the encryption (AttachedCall). Then each of them is an RPC with its own
// method and target, which begins with the first record of it, and is answered when its caller is. A fault fires before
// any byte of the request leaves, and ends the connection.
#pragma once

#include <atomic>
#include <span>

#include "core/tls/record_reader.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

struct Sealed final : HoldsNothing {
  void offered(Connection& c, const Offer& offer, uint64_t from) override;
  Released release(Connection& c, int fd, const Offer& offer, Sending sending) override;
  void swallowed(Connection& c) override;
  bool skipped(Connection&, uint64_t) override { return false; }
  void observed(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) override;
  bool unseen(Connection&, Traffic, size_t) override { return false; }
  bool may_begin_with(Pieces) const override { return false; }
  void end_unanswered(Connection& c) override;
  void settle(Connection& c) override;
  void end_silence(Connection& c) override;
  void adopt_in_child(Connection& c) override;
  // A library that decrypts may not claim it any more, but what belongs to the handshake is as there.
  bool is_carrier() const override { return true; }
  bool answered_elsewhere(Connection& c, uint64_t number, uint16_t status) override;
  void answers_elsewhere_lost(Connection& c) override;
  void free(Connection&) override;

  // A request that others see, and whose caller has no answer yet.
  struct Told {
    uint64_t number = 0;
    OpenCall call;
    bool http2 = false;
    bool delayed = false;
  };
  // More of them at a time are only counted: the oldest ones end as answered.
  struct ManyTold {
    Told at[100];
  };

  tls::RecordReader requests, answers;
  tls::ClientTurns turns;
  bool hello_is_out = false;
  bool chosen = false;  // the ServerHello was read
  uint64_t begins_at =
      UINT64_MAX;          // position of the record that begins the RPC which is not decided yet
  uint64_t record_at = 0;  // of the client's last record
  OutgoingCall call;       // the RPC that is open, if it is active; none that others see
  bool delayed = false;    // its answer comes later
  OpenCall silenced;       // answered by silence: open until the application gives up
  uint64_t silenced_number = 0;  // of that, where others see it
  bool silenced_http2 = false;
  uint32_t execution = 0;  // of the last RPC
  bool told = false;       // others see the requests of this connection
  uint32_t next_told = 0;
  std::atomic<ManyTold*> open{nullptr};  // from the first of them on: owned

  std::span<Told> open_told() {
    ManyTold* const many = open.load(std::memory_order_acquire);
    return many == nullptr ? std::span<Told>() : many->at;
  }
};
static_assert(sizeof(Sealed) <= Connection::kRoom);

// ProtocolRow::begin of TLS: sealed, or carried for a library that decrypts it (tls/carrier.h).
void begin_tls(Connection& c, Pieces pieces, size_t size);

}  // namespace filibuster::preload
