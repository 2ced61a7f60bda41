// HTTP/2 connections that were open before the session began: what they send is not known (the
// header compression has a state), so their client is told to open new ones, by the way of
// core/http2/retirement.h. No request fails, and the requests that go over one until its client has
// heard of it are counted, so that the execution is run again.
//
//   first write    the preface marks the descriptor (note_preface), with or without a session
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
#include <cstring>

#include "core/http2/frame.h"
#include "core/http2/frame_walk.h"
#include "core/http2/retirement.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

struct Retirement {
  explicit Retirement(uint64_t opaque) : swap(opaque) {}

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
  bool owes() const { return state.load(std::memory_order_acquire) == State::kPinged; }
};

// A client whose beginning was seen, by its first write. kNone: no client of HTTP/2.
Http2Client sniff_http2_client(const iovec* pieces, size_t count, size_t size);
// After a first write that may be one: marks the descriptor.
void note_preface(int fd, const iovec* pieces, size_t count, size_t size);

// By the hooks of every write, with what it returned: was that the preface? (Read after the write: what
// the kernel took is readable.)
inline bool may_be_preface(const iovec* pieces, size_t count, ssize_t sent) {
  constexpr size_t kLooked = 8;
  if (__builtin_expect(sent < static_cast<ssize_t>(http2::kClientPreface.size()), 0)) return false;
  if (count == 0 || pieces[0].iov_len < kLooked) return false;
  return __builtin_expect(
      std::memcmp(pieces[0].iov_base, http2::kClientPreface.data(), kLooked) == 0, 0);
}

// Makes `c`, just joined, one that is retired, or gives it up.
void begin_retirement(Connection& c, Http2Client client);
// request_writer.h send_requests, for such a one.
ssize_t send_retiring(Connection& c, int fd, const iovec* pieces, size_t count, int flags,
                      bool plain, int* error);
// `size` bytes were read, or looked at (MSG_PEEK).
void receive_retiring(Connection& c, int fd, const iovec* pieces, size_t count, int flags,
                      size_t size);
// Bytes of the requests went by unseen.
void skip_retiring(Connection& c);
bool owes_retirement(const Connection& c);
// In a forked child: it is the parent's to end.
void abandon_retirement(Connection& c);
void free_retirement(Connection& c);

}  // namespace filibuster::preload
