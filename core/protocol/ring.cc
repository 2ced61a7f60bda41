#include "core/protocol/ring.h"

#include <cstring>

namespace filibuster {
namespace {

static_assert(std::atomic<uint32_t>::is_always_lock_free &&
              std::atomic<uint64_t>::is_always_lock_free);

constexpr uint64_t kAlign = 8;
constexpr uint64_t kHeaderSize = sizeof(RecordHeader);
constexpr uint16_t kFillerType = 0;

template <uint32_t kBytes>
RecordHeader* record_at(RingOf<kBytes>* ring, uint64_t position) {
  return reinterpret_cast<RecordHeader*>(ring->data + (position & (kBytes - 1)));
}

template <uint32_t kBytes>
uint64_t room_to_end(uint64_t position) {
  return kBytes - (position & (kBytes - 1));
}

constexpr uint64_t kCacheLine = 64;
// About as many bytes as one RPC writes.
constexpr uint64_t kPrefetched = 1024;

// The consumer cleared these cache lines, so its core has them. Unless they are asked for ahead, the
// producer's next locked instruction waits until each of its stores has got its line. This is a hint:
// nothing is read or written.
template <uint32_t kBytes>
void prefetch_for_writing(RingOf<kBytes>* ring, uint64_t from, uint64_t to) {
  for (uint64_t at = from & ~(kCacheLine - 1); at < to; at += kCacheLine) {
    const uint8_t* line = ring->data + (at & (kBytes - 1));
#if defined(__x86_64__)
    // A processor that is too old for this instruction does nothing.
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
  }
}

enum class Found { kNothing, kFiller, kRecord, kNonsense };

// Says what is at `tail`. Each field is read once, and none is believed unchecked.
template <uint32_t kBytes>
Found look(RingOf<kBytes>* ring, uint64_t tail, uint64_t head, uint64_t* size, RecordView* out) {
  if (head == tail) return Found::kNothing;
  if (head - tail > kBytes || tail % kAlign != 0) return Found::kNonsense;
  const RecordHeader* record = record_at(ring, tail);
  *size = record->size.load(std::memory_order_acquire);
  if (*size == 0) return Found::kNothing;
  const uint64_t room = room_to_end<kBytes>(tail);
  if (*size % kAlign != 0 || *size > room || *size > head - tail) return Found::kNonsense;
  const uint16_t type = record->type;
  if (type == kFillerType) return Found::kFiller;
  if (*size < kHeaderSize) return Found::kNonsense;
  const uint32_t payload = record->payload;
  if (payload > *size - kHeaderSize) return Found::kNonsense;
  out->type = type;
  out->execution = record->execution;
  out->time_ns = record->time_ns;
  out->payload = {reinterpret_cast<const uint8_t*>(record) + kHeaderSize, payload};
  return Found::kRecord;
}

template <uint32_t kBytes>
void give_back(RingOf<kBytes>* ring, uint64_t tail, uint64_t size) {
  std::memset(static_cast<void*>(record_at(ring, tail)), 0, size);
  ring->tail.store(tail + size, std::memory_order_release);
}

template <uint32_t kBytes>
void mark_corrupted(RingOf<kBytes>* ring) {
  // This counts as a loss: the execution is incomplete, whatever was in the ring.
  ring->corrupted.store(1, std::memory_order_relaxed);
  ring->dropped.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

template <uint32_t kBytes>
bool ring_write(RingOf<kBytes>* ring, uint16_t type, uint32_t execution, uint64_t time_ns,
                std::span<const std::span<const uint8_t>> parts) {
  uint64_t payload = 0;
  bool fits = true;
  for (const auto& part : parts) {
    if (part.size() > kBytes - kHeaderSize - payload) {
      fits = false;
      break;
    }
    payload += part.size();
  }
  const uint64_t total = (kHeaderSize + payload + kAlign - 1) & ~(kAlign - 1);

  // `tail` is read before `head`: it only grows, so head - tail never goes below 0.
  uint64_t tail = ring->tail.load(std::memory_order_acquire);
  uint64_t head = ring->head.load(std::memory_order_relaxed);
  uint64_t filler = 0;
  while (fits) {
    const uint64_t room = room_to_end<kBytes>(head);
    filler = total <= room ? 0 : room;
    if (head - tail + filler + total > kBytes) {
      // Full, unless the consumer went on since `tail` was read.
      const uint64_t newer = ring->tail.load(std::memory_order_acquire);
      if (newer == tail) {
        fits = false;
        break;
      }
      tail = newer;
      head = ring->head.load(std::memory_order_relaxed);
      continue;
    }
    if (ring->head.compare_exchange_weak(head, head + filler + total, std::memory_order_relaxed)) {
      break;
    }
  }
  if (!fits) {
    ring->dropped.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  if (filler != 0) {
    RecordHeader* skip = record_at(ring, head);
    skip->type = kFillerType;
    skip->size.store(static_cast<uint32_t>(filler), std::memory_order_release);
    head += filler;
  }
  RecordHeader* record = record_at(ring, head);
  record->type = type;
  record->reserved = 0;
  record->payload = static_cast<uint32_t>(payload);
  record->execution = execution;
  record->time_ns = time_ns;
  uint8_t* out = reinterpret_cast<uint8_t*>(record) + kHeaderSize;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    std::memcpy(out, part.data(), part.size());
    out += part.size();
  }
  record->size.store(static_cast<uint32_t>(total), std::memory_order_release);
  // The record before this one has asked for the lines up to here.
  prefetch_for_writing(ring, head + kPrefetched, head + total + kPrefetched);
  return true;
}

template <uint32_t kBytes>
bool ring_peek(RingOf<kBytes>* ring, RecordView* out) {
  // The loop ends: every turn gives a filler back or leaves.
  for (;;) {
    if (ring->corrupted.load(std::memory_order_relaxed) != 0) return false;
    const uint64_t tail = ring->tail.load(std::memory_order_relaxed);
    const uint64_t head = ring->head.load(std::memory_order_relaxed);
    uint64_t size = 0;
    switch (look(ring, tail, head, &size, out)) {
      case Found::kNothing:
        return false;
      case Found::kRecord:
        return true;
      case Found::kFiller:
        give_back(ring, tail, size);
        break;
      case Found::kNonsense:
        mark_corrupted(ring);
        return false;
    }
  }
}

template <uint32_t kBytes>
const RecordHeader* ring_peek(RingOf<kBytes>* ring) {
  RecordView view;
  if (!ring_peek(ring, &view)) return nullptr;
  return reinterpret_cast<const RecordHeader*>(view.payload.data() - kHeaderSize);
}

template <uint32_t kBytes>
void ring_pop(RingOf<kBytes>* ring) {
  // Looks again: the size that ring_peek saw may have been overwritten by its owner since.
  if (ring->corrupted.load(std::memory_order_relaxed) != 0) return;
  const uint64_t tail = ring->tail.load(std::memory_order_relaxed);
  const uint64_t head = ring->head.load(std::memory_order_relaxed);
  uint64_t size = 0;
  RecordView view;
  switch (look(ring, tail, head, &size, &view)) {
    case Found::kRecord:
    case Found::kFiller:
      give_back(ring, tail, size);
      break;
    case Found::kNonsense:
      mark_corrupted(ring);
      break;
    case Found::kNothing:
      break;
  }
}

template <uint32_t kBytes>
uint64_t ring_backlog(const RingOf<kBytes>* ring) {
  if (ring->corrupted.load(std::memory_order_relaxed) != 0) return 0;
  const uint64_t tail = ring->tail.load(std::memory_order_relaxed);
  return ring->head.load(std::memory_order_acquire) - tail;
}

#define FILIBUSTER_RING(Memory)                                        \
  template bool ring_write(Memory*, uint16_t, uint32_t, uint64_t,      \
                           std::span<const std::span<const uint8_t>>); \
  template const RecordHeader* ring_peek(Memory*);                     \
  template bool ring_peek(Memory*, RecordView*);                       \
  template void ring_pop(Memory*);                                     \
  template uint64_t ring_backlog(const Memory*);
FILIBUSTER_RING(RingMemory)
FILIBUSTER_RING(TapeMemory)
#undef FILIBUSTER_RING

}  // namespace filibuster
