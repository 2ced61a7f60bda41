// The first bytes of a client of HTTP/2, which are noted with a session or without (registry.h, Noted): what a
// connection that is open before a session speaks cannot be told later.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <cstring>

#include "core/http2/frame.h"
#include "core/pieces.h"
#include "preload/stream/protocol.h"

namespace filibuster::preload {

// kAbrupt: one that fails what is in flight at a GOAWAY.
enum class Http2Client : uint8_t { kNone, kGraceful, kAbrupt };
inline Noted note_of(Http2Client kind) {
  return static_cast<Noted>(kind);
}

// A client whose beginning was seen, by its first write. kNone: no client of HTTP/2.
Http2Client sniff_http2_client(Pieces pieces, size_t size);
// After a first write that may be one: marks the descriptor.
void note_preface(int fd, Pieces pieces, size_t size);

// By the hooks of every write, with what it returned: was that the preface? (Read after the write: what
// the kernel took is readable.)
inline bool may_be_preface(Pieces pieces, ssize_t sent) {
  constexpr size_t kLooked = 8;
  if (__builtin_expect(sent < static_cast<ssize_t>(http2::kClientPreface.size()), 0)) return false;
  if (pieces.count == 0 || pieces[0].iov_len < kLooked) return false;
  return __builtin_expect(
      std::memcmp(pieces[0].iov_base, http2::kClientPreface.data(), kLooked) == 0, 0);
}

}  // namespace filibuster::preload
