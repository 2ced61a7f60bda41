// A recording (core/protocol/lane_memory.h): the bytes of followed connections go onto the tape (core/protocol/tape.h) where they meet
// their protocol, which is once, in order, and above the encryption; and where an RPC's request is goes into the event ring.
// Whoever calls this asks taping() first, so that nothing but a load is paid without a recording.
//
// A tape has no room for what its reader does not take away. Then bytes are left out, and positions say so. Nothing ever waits.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/session/state.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

// LaneMemory::recording; 0: none.
inline uint32_t taping() {
  const Attachment* a = g_attachment.load(std::memory_order_acquire);
  return a == nullptr ? 0 : a->lane->recording.load(std::memory_order_relaxed);
}

// The same for a child that was forked in a recording: it registers now, or its first bytes would be missing.
uint32_t taping_in_child();
// Asked where bytes go by.
inline uint32_t taping_bytes() {
  const Attachment* a = g_attachment.load(std::memory_order_acquire);
  return __builtin_expect(a == nullptr, 0) ? taping_in_child()
                                           : a->lane->recording.load(std::memory_order_relaxed);
}

// What a transfer tells of its connection: the descriptor (-1: not known), and whether its protocol was recognised by these
// bytes, so that none went by before.
struct Tapped {
  int fd = -1;
  bool first = false;
};

// The owner of the flow gives `size` bytes, from byte `offset` of the pieces, to the protocol of the connection next.
void tape_bytes(Connection& connection, Tapped tapped, Traffic traffic, Pieces pieces,
                size_t offset, size_t size);
// `size` bytes of a body went by unseen. Called by the owner of the flow.
void tape_gap(Connection& connection, Traffic traffic, uint64_t size);
// The connection is not followed any more. `reason`: NotInterposedReason, or 0.
void tape_given_up(const Connection& connection, uint8_t reason);
// A receive or the close of the last descriptor has ended the connection.
void tape_closed(Connection& connection, int error, bool by_peer);

// The request of that number (RpcAt) is this RPC.
void place_rpc(const Connection& connection, const OutgoingCall& call, uint64_t number);
void place_rpc(const Connection& connection, const Incoming* incoming, uint64_t number);

}  // namespace filibuster::preload
