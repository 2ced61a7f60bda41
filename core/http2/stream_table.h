// The streams of one connection that are open, by number. Bounded; addresses are stable while a
// stream is open; nothing of an unused slot is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "core/http2/frame.h"

namespace filibuster::http2 {

enum class Half : uint8_t { kIdle, kOpen, kEnded };

struct Stream {
  uint32_t id = 0;
  // By direction: kOpen from the head on (interim responses are no head), kEnded with END_STREAM.
  Half halves[2] = {Half::kIdle, Half::kIdle};
  void* user = nullptr;  // the listener's own
  // By direction: window increments received less data sent; the window is this plus the reader's
  // SETTINGS_INITIAL_WINDOW_SIZE.
  int64_t credit[2] = {0, 0};

  Half half(Direction d) const { return halves[static_cast<size_t>(d)]; }
};

inline constexpr size_t kMaxStreams = 512;

class StreamTable {
 public:
  StreamTable() = default;
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;

  Stream* find(uint32_t id) {
    for (uint16_t s = buckets_[bucket(id)]; s != 0; s = slot(s).next) {
      if (slot(s).stream.id == id) return &slot(s).stream;
    }
    return nullptr;
  }
  // `id` is not there. nullptr: full.
  Stream* open(uint32_t id) {
    uint16_t s = free_;
    if (s != 0) {
      free_ = slot(s).next;
    } else if (used_ < kMaxStreams) {
      s = ++used_;
    } else {
      return nullptr;
    }
    Slot* entry = new (&slot(s)) Slot;
    entry->stream.id = id;
    entry->next = buckets_[bucket(id)];
    buckets_[bucket(id)] = s;
    ++size_;
    return &entry->stream;
  }
  void close(Stream* stream) {
    uint16_t* link = &buckets_[bucket(stream->id)];
    while (&slot(*link).stream != stream) link = &slot(*link).next;
    const uint16_t s = *link;
    *link = slot(s).next;
    slot(s).stream.id = 0;
    slot(s).next = free_;
    free_ = s;
    --size_;
  }
  size_t size() const { return size_; }
  // `visit(Stream&)`, which may close the stream it is given and no other.
  template <typename Visit>
  void for_each(Visit visit) {
    for (uint16_t s = 1; s <= used_; ++s) {
      if (slot(s).stream.id != 0) visit(slot(s).stream);
    }
  }

 private:
  struct Slot {
    Stream stream;
    uint16_t next = 0;
  };
  static constexpr size_t kBuckets = kMaxStreams;

  // Numbers of one end are odd and ascending: they spread by themselves.
  static size_t bucket(uint32_t id) { return (id >> 1) % kBuckets; }
  Slot& slot(uint16_t s) { return reinterpret_cast<Slot*>(slots_)[s - 1]; }

  uint16_t buckets_[kBuckets] = {};
  uint16_t free_ = 0;  // slots are counted from 1
  uint16_t used_ = 0;
  uint16_t size_ = 0;
  alignas(Slot) unsigned char slots_[sizeof(Slot) * kMaxStreams];
};

}  // namespace filibuster::http2
