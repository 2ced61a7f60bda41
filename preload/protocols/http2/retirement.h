// HTTP/2 connections that were open before the session began: what they send is not known (the
// header compression has a state), so their client is told to open new ones, by the way of
// core/http2/retirement.h. No request fails, and the requests that go over one until its client has
// heard of it are counted, so that the execution is run again.
//
//   first write    the preface marks the descriptor (preface.h), with or without a session
//   in a session   follow() makes a Connection of the mark, with a Retirement
//   its next write that begins where a frame does, and a request, has our PING before it
//   the answer     is a GOAWAY when the client reads it
//
// It stays, and is listed, where no frame boundary is found, the server acknowledges no PING, the
// client goes on as if it had heard nothing, or is of a kind that fails requests at a GOAWAY.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cstdint>

#include "core/http2/frame.h"
#include "core/http2/frame_walk.h"
#include "core/http2/retirement.h"
#include "core/pieces.h"
#include "preload/protocols/http2/preface.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

struct Retirement final : Followed {
  explicit Retirement(uint64_t opaque) : swap(opaque) {}

  bool passes() const override { return true; }
  IoResult pass_send(Connection& c, int fd, Pieces pieces, int flags, bool plain) override;
  void pass_received(Connection& c, int fd, Pieces pieces, int flags, size_t size) override;
  void pass_unseen_send(Connection& c) override;
  bool owes() const override { return state.load(std::memory_order_acquire) == State::kPinged; }
  void adopt_in_child(Connection& c) override;
  void free(Connection& c) override;

  // Nothing of it is read.
  void offered(Connection&, const Offer&, uint64_t) override {}
  Released release(Connection&, int, const Offer& offer, Sending) override {
    return {offer.end, {}};
  }
  bool may_hold(Connection&) override { return false; }
  bool waits_for_a_thread(Connection&) override { return false; }
  bool press(Connection&, int) override { return false; }
  void decide_held(Connection&) override {}
  uint64_t flush_limit(Connection&, uint64_t released, bool) override { return released; }
  void sent(Connection&, int) override {}
  void forget_ahead(Connection&) override {}
  bool skipped(Connection&, uint64_t) override { return true; }
  void observed(Connection&, int, Traffic, Pieces, size_t) override {}
  bool unseen(Connection&, Traffic, size_t) override { return true; }
  bool may_begin_with(Pieces) const override { return true; }
  void end_unanswered(Connection&) override {}
  void settle(Connection&) override {}

  enum class State : uint8_t {
    kOpen,     // until a request is made where a boundary is known
    kPinged,   // every hook looks closer, with a session or without
    kRetired,  // the client has the GOAWAY
  };

  // Of the owner of the request flow.
  http2::BoundarySearch search;  // over what was accepted
  bool given_up = false;         // listed; nothing more is counted
  uint8_t ping_left = 0;         // bytes of it that are still to be sent
  uint64_t since_ns = 0;         // of what is waited for: a boundary, the answer, the client
  // From kPinged on of the owner of the response flow, else of the other one.
  http2::PingToGoaway swap;

  std::atomic<State> state{State::kOpen};
};

// ProtocolRow: makes `c`, just seen, one that is retired, or gives it up.
void begin_retirement(Connection& c, Noted noted);

}  // namespace filibuster::preload
