// The first bytes that a client of HTTP/2 sends. They are noted with a session or without (registry.h, Noted),
// because nothing tells later which protocol an open connection speaks.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <cstring>

#include "core/http2/frame.h"
#include "core/pieces.h"
#include "preload/stream/protocol.h"

namespace filibuster::preload {

// kAbrupt: the client fails its requests in flight when it receives a GOAWAY.
enum class Http2Client : uint8_t { kNone, kGraceful, kAbrupt };
inline Noted note_of(Http2Client kind) {
  return static_cast<Noted>(kind);
}

// The kind of client that made this first write. kNone: it is no client of HTTP/2.
Http2Client sniff_http2_client(Pieces pieces, size_t size);
// Called after a first write that may be a preface. Marks the descriptor if it is one.
void note_preface(int fd, Pieces pieces, size_t size);

// Called by the hooks after every write, with what the write returned. Reading the bytes is safe then,
// because the kernel has read them.
inline bool may_be_preface(Pieces pieces, ssize_t sent) {
  constexpr size_t kLooked = 8;
  if (__builtin_expect(sent < static_cast<ssize_t>(http2::kClientPreface.size()), 0)) return false;
  if (pieces.count == 0 || pieces[0].iov_len < kLooked) return false;
  return __builtin_expect(
      std::memcmp(pieces[0].iov_base, http2::kClientPreface.data(), kLooked) == 0, 0);
}

}  // namespace filibuster::preload
