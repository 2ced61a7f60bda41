// The event ring: many threads of one process write, the daemon reads, also after the process died.
// One memfd per process, received with the registration. Lock-free: a producer reserves with a
// compare-and-swap on `head`, fills the record, then publishes it by storing its size with release
// order. A full ring drops and counts: an execution with lost events is 'incomplete'.
// The tape (tape.h) is a second, larger ring of the same kind.
//
// A record: RecordHeader, then `payload` bytes, padded to 8. Records never wrap: a producer that
// would cross the end reserves a filler (type kFiller) up to it as well. A filler has only the
// first 8 bytes of a header, because as little as that can be left.
//
// The consumer clears a whole record before it gives the space back: whatever becomes the place of
// a header in the next round must read as 'not published'. A producer that died between reservation
// and publication ends the stream there; the backlog then stays above 0.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace filibuster {

inline constexpr uint64_t kRingMagic = 0x474e495242494c46ull;  // "FLIBRING"
inline constexpr uint32_t kRingBytes = 1u << 20;               // data bytes, a power of two
inline constexpr uint64_t kTapeMagic = 0x4550415442494c46ull;  // "FLIBTAPE"
inline constexpr uint32_t kTapeBytes = 8u << 20;               // likewise, of a tape

struct RecordHeader {
  // 0 = not published yet. Total size with header and padding.
  std::atomic<uint32_t> size;
  uint16_t type;  // EventType; 0 = filler
  uint16_t reserved;
  uint32_t payload;    // bytes after the header
  uint32_t execution;  // execution it belongs to
  uint64_t time_ns;    // CLOCK_MONOTONIC at the event
};
static_assert(sizeof(RecordHeader) == 24);

template <uint32_t kBytes>
struct RingOf {
  static_assert((kBytes & (kBytes - 1)) == 0);

  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t size;  // kBytes
  // Producers and consumer have a cache line each: the stores of one do not take the other's line away.
  alignas(64) std::atomic<uint64_t> head;  // bytes ever reserved
  std::atomic<uint64_t> dropped;           // records that did not fit
  alignas(64) std::atomic<uint64_t> tail;  // bytes ever consumed by the daemon
  // Set by the consumer when a record cannot be true; nothing is read from the ring any more.
  std::atomic<uint64_t> corrupted;
  alignas(64) uint8_t data[kBytes];
};
using RingMemory = RingOf<kRingBytes>;
using TapeMemory = RingOf<kTapeBytes>;

// The functions exist for these two.
//
// Producer. Async-signal-safe, wait-free but for the reservation loop. False: dropped (counted).
// The parts are concatenated.
template <uint32_t kBytes>
bool ring_write(RingOf<kBytes>* ring, uint16_t type, uint32_t execution, uint64_t time_ns,
                std::span<const std::span<const uint8_t>> parts);

// Consumer: the next published record, or nullptr. The pointer is valid until ring_pop. The memory
// belongs to another process, which may go on scribbling: `payload` was checked once, so prefer the
// snapshot below where the process is not trusted.
template <uint32_t kBytes>
const RecordHeader* ring_peek(RingOf<kBytes>* ring);

// A record with every field read once and checked: payload.size() lies within the record.
struct RecordView {
  uint16_t type = 0;
  uint32_t execution = 0;
  uint64_t time_ns = 0;
  std::span<const uint8_t> payload;
};
template <uint32_t kBytes>
bool ring_peek(RingOf<kBytes>* ring, RecordView* out);

// Gives the record of the last ring_peek back. Without one that is published: nothing happens.
template <uint32_t kBytes>
void ring_pop(RingOf<kBytes>* ring);
// Bytes reserved but not yet consumed (0 = read to its published end, or corrupted).
template <uint32_t kBytes>
uint64_t ring_backlog(const RingOf<kBytes>* ring);

}  // namespace filibuster
