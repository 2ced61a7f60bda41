// HTTP/2 connections that were open before the session began. Their requests cannot be read, because the
// header compression has a state. So their clients are told to open new connections, in the way that
// core/http2/retirement.h describes. No request fails. Requests that go over such a connection until its
// client has heard of it are counted, and the execution is run again.
//
//   first write     the preface marks the descriptor (preface.h), with or without a session
//   in a session    follow() finds the mark and makes a Connection with a Retirement
//   next request    a write that begins at a frame boundary with a request gets our PING before it
//   answer to that  we turn the acknowledgement into a GOAWAY before the client reads it
//
// A connection stays as it is, and is listed as not tested, if no frame boundary is found, if the server
// acknowledges no PING, if the client goes on in spite of the GOAWAY, or if the client is of a kind that
// fails requests at a GOAWAY.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cstdint>

#include "core/http2/frame.h"
#include "core/http2/frame_walk.h"
#include "core/http2/retirement.h"
#include "core/pieces.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

struct Retirement final : HoldsNothing {
  explicit Retirement(uint64_t opaque) : swap(opaque) {}

  bool passes() const override { return true; }
  IoResult pass_send(Connection& c, int fd, Pieces pieces, int flags, bool plain) override;
  void pass_received(Connection& c, int fd, Pieces pieces, int flags, size_t size) override;
  void pass_unseen_send(Connection& c) override;
  bool owes() const override { return state.load(std::memory_order_acquire) == State::kPinged; }
  void adopt_in_child(Connection& c) override;
  void free(Connection& c) override;

  // No byte of such a connection is parsed.
  bool skipped(Connection&, uint64_t) override { return true; }
  void observed(Connection&, int, Traffic, Pieces, size_t) override {}
  bool unseen(Connection&, Traffic, size_t) override { return true; }
  bool may_begin_with(Pieces) const override { return true; }
  void end_unanswered(Connection&) override {}
  void settle(Connection&) override {}

  enum class State : uint8_t {
    kOpen,     // until a request begins at a known boundary
    kPinged,   // every hook looks for the answer, with a session or without
    kRetired,  // the client has the GOAWAY
  };

  // For the owner of the request flow.
  http2::BoundarySearch search;  // over what was accepted
  bool given_up = false;         // listed; nothing more is counted
  uint8_t ping_left = 0;         // bytes of the PING that are still to be sent
  uint64_t since_ns = 0;         // since when a boundary, the answer or the client is waited for
  // For the owner of the request flow until kPinged, then for the owner of the response flow.
  http2::PingToGoaway swap;

  std::atomic<State> state{State::kOpen};
};

// ProtocolRow: `c` was just seen. It is retired, or given up.
void begin_retirement(Connection& c, Noted noted);

}  // namespace filibuster::preload
