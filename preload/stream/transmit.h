// Bytes of the application on their way to the wire: what is held of them, and the sending with the
// edits of the connection's wire (insertion.h). Called by the owner of the request flow only.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "preload/stream/connection.h"

namespace filibuster::preload {

// A debt of ours on a descriptor that does not take it: how long a hook may wait. Ends with the
// bytes still held (and tried again), never with bytes lost.
inline constexpr uint64_t kFlushWaitNs = 1'000'000'000;

uint64_t monotonic_ns();
void wait_writable(int fd, int timeout_ms);
bool is_nonblocking(int fd);

size_t total(const iovec* pieces, size_t count);
// Copies `size` bytes from byte `offset` of the pieces.
void gather(const iovec* pieces, size_t count, size_t offset, char* out, size_t size);

// What goes out next, of the held bytes and then of `pieces` (from position `base`), up to application
// position `limit`.
inline constexpr size_t kVectors = 64;
struct OnTheWire {
  iovec vectors[kVectors];
  size_t count = 0;
  size_t bytes = 0;
};
void lay_out(const RequestWriter& w, const iovec* pieces, size_t count, uint64_t base, uint64_t limit,
             OnTheWire* out);
// That many bytes of it went out.
void note_sent(RequestWriter& w, size_t bytes);

// Sends that, without waiting. Returns 0 or the errno that stopped it; a short write after bytes of
// `pieces` went out stops with 0.
int transmit(Connection& c, int fd, const iovec* pieces, size_t count, uint64_t base,
             uint64_t limit, int flags);

// Keeps the application's bytes [from, end) of `pieces` (whose first byte is `base`). False: no
// room.
bool hold(RequestWriter& w, const iovec* pieces, size_t count, uint64_t base, uint64_t from,
          uint64_t end);
void release_hold(RequestWriter& writer);
void give_back(HoldBuffer* buffer);  // nullptr: nothing

}  // namespace filibuster::preload
