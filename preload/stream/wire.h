// Bytes of the application on their way to the wire: what is held of them, and the sending with the
// edits of a protocol (edited_stream.h). Called by the owner of the request flow only.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/pieces.h"
#include "preload/os/clock.h"
#include "preload/stream/edited_stream.h"
#include "preload/stream/transport.h"

namespace filibuster::preload {

inline constexpr size_t kHoldCapacity = 96 * 1024;
struct HoldBuffer {
  char bytes[kHoldCapacity];
};

// What a client sends. Positions count the application's bytes from the first one that was followed:
// edits.position() <= accepted <= fed.
struct Wire {
  Transport* transport = nullptr;  // of the connection (transport.h)
  EditedStream edits;              // what is on the wire
  EditRoom* edit_room = nullptr;   // while the protocol has edits under way
  uint64_t accepted = 0;           // what the application was told is sent
  // What the protocol has seen; more than `accepted` after a short write or EAGAIN.
  uint64_t fed = 0;
  // The held bytes, which are accepted and not on the wire: positions [held_base, held_base + held_size).
  HoldBuffer* held = nullptr;
  uint64_t held_base = 0;
  size_t held_size = 0;
  uint64_t flushed_to = 0;  // undecided bytes went out up to here
  // The first bytes that were seen ahead: the application must come back with the same.
  char ahead[16];
  uint8_t ahead_size = 0;
  uint64_t stopped_at = 0;  // how far it might have gone when the socket took no more
  uint32_t stopped_by = 0;  // the thread that sent then
  // The buffer of a send that waits in the kernel while a signal handler on the same thread sends.
  std::atomic<HoldBuffer*> abandoned{nullptr};

  // True if no byte is held, edited, or seen ahead.
  bool is_still() const { return held_size == 0 && !edits.has_edits() && fed == accepted; }
};

// How long a hook may wait for a descriptor that takes no bytes, while we hold some. After that the bytes are
// still held and tried again later; none is lost.
inline constexpr uint64_t kFlushWaitNs = 1'000'000'000;

void wait_writable(int fd, int timeout_ms);
bool is_nonblocking(int fd);
// How many bytes have come that nobody has read; -1: not known.
int unread_bytes(int fd);

// Adds to `out` what goes out next, of the held bytes and then of `pieces` (from position `base`), up to
// application position `limit`.
void lay_out(const Wire& w, Pieces pieces, uint64_t base, uint64_t limit, OnTheWire* out);
// `bytes` of what lay_out() gave went out.
void note_sent(Wire& w, size_t bytes);

// Sends what lay_out() gives, without waiting. Returns 0 or the errno that stopped it; a short write after bytes of
// `pieces` went out stops with 0.
int transmit(Wire& w, int fd, Pieces pieces, uint64_t base, uint64_t limit, int flags);

// Keeps the application's bytes [from, end) of `pieces` (whose first byte is `base`). False: no
// room.
bool hold(Wire& w, Pieces pieces, uint64_t base, uint64_t from, uint64_t end);
void release_hold(Wire& w);
void give_back(HoldBuffer* buffer);  // nullptr: nothing

// Gives the wire an EditRoom if it has none. False: there is no memory.
bool take_edit_room(Wire& w);
// Precondition: no edit is under way, and no send that was interrupted may go on with one.
void give_back_edit_room(Wire& w);

}  // namespace filibuster::preload
