// Edits on a byte stream in flight: what goes on the wire is the application's stream with a few
// bytes inserted or overwritten at given positions. Pure: no system call, no allocation.
//
//   EditedStream s;                      // positions count the application's bytes from 0
//   s.insert(16, header_line);           // before byte 16
//   n = s.layout(0, pieces, count, 0, limit, out, kMax, &size);   // iovecs for one sendmsg
//   wrote = sendmsg(...); s.advance(wrote);                  // any short write is fine
//   s.position()                         // application bytes that are on the wire
//
// Law 1: whoever reports to the application reports differences of position(), so that inserted
// bytes are never counted.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace filibuster::preload {

// One edit holds at most one header line (core/protocol/header_field.h: 92 bytes).
inline constexpr size_t kMaxEditSize = 128;
inline constexpr size_t kMaxEdits = 16;

class EditedStream {
 public:
  void reset() {
    position_ = 0;
    count_ = 0;
  }

  // Application bytes on the wire.
  uint64_t position() const { return position_; }
  bool has_edits() const { return count_ != 0; }

  // Positions must not decrease from call to call, and not lie before position(). False: refused.
  bool insert(uint64_t at, std::string_view bytes) { return add(at, bytes, true); }
  // Overwrites bytes.size() bytes of the stream from `at`.
  bool replace(uint64_t at, std::string_view bytes) { return add(at, bytes, false); }
  // Forgets the edits at or after `at` that have not begun.
  void drop_from(uint64_t at) {
    while (count_ != 0 && edits_[count_ - 1].at >= at && edits_[count_ - 1].done == 0) --count_;
  }

  // Lays out the wire bytes from `from` (>= position()) up to application position `limit` over
  // `pieces`, whose first byte is position `base` (<= from). An insertion at `limit` itself is not
  // included. Returns the number of iovecs (fewer than needed if `capacity` is small) and their
  // bytes.
  size_t layout(uint64_t base, const iovec* pieces, size_t piece_count, uint64_t from,
                uint64_t limit, iovec* out, size_t capacity, size_t* size) const {
    Layout l{out, capacity, 0, 0};
    uint64_t at = from;
    size_t edit = 0;
    while (edit < count_ && edits_[edit].insert && edits_[edit].at < at) ++edit;
    for (size_t p = 0; p < piece_count && at < limit; ++p) {
      const uint64_t end = std::min(limit, base + pieces[p].iov_len);
      while (at < end) {
        uint64_t stop = end;
        while (edit < count_ && edits_[edit].insert && edits_[edit].at == at) {
          const Edit& e = edits_[edit++];
          if (!l.add(e.bytes + e.done, e.size - e.done)) return l.finish(size);
        }
        if (edit < count_) {
          const Edit& e = edits_[edit];
          if (!e.insert && e.at <= at) {
            const uint64_t edit_end = e.at + e.size;
            if (at >= edit_end) {
              ++edit;
              while (edit < count_ && edits_[edit].insert && edits_[edit].at < at) ++edit;
              continue;
            }
            stop = std::min(end, edit_end);
            if (!l.add(e.bytes + (at - e.at), stop - at)) return l.finish(size);
            at = stop;
            continue;
          }
          stop = std::min(end, e.at);
        }
        const char* data = static_cast<const char*>(pieces[p].iov_base);
        if (!l.add(data + (at - base), stop - at)) return l.finish(size);
        at = stop;
      }
      base += pieces[p].iov_len;
    }
    return l.finish(size);
  }

  // `wire` bytes went out. Returns how many of them were the application's.
  uint64_t advance(uint64_t wire) {
    const uint64_t before = position_;
    while (wire != 0) {
      if (count_ == 0) {
        position_ += wire;
        break;
      }
      Edit& e = edits_[0];
      if (e.insert && e.at == position_) {
        const uint64_t take = std::min<uint64_t>(wire, e.size - e.done);
        e.done = static_cast<uint8_t>(e.done + take);
        wire -= take;
        if (e.done == e.size) pop();
        continue;
      }
      const uint64_t next = e.insert || position_ < e.at ? e.at : e.at + e.size;
      const uint64_t take = std::min(wire, next - position_);
      position_ += take;
      wire -= take;
      if (!e.insert && position_ >= e.at + e.size) pop();
    }
    return position_ - before;
  }

 private:
  struct Edit {
    uint64_t at = 0;
    bool insert = false;
    uint8_t size = 0;
    uint8_t done = 0;  // inserted bytes that are on the wire
    char bytes[kMaxEditSize];
  };
  struct Layout {
    iovec* out;
    size_t capacity;
    size_t count;
    size_t bytes;
    bool add(const char* data, uint64_t size) {
      if (size == 0) return true;
      if (count == capacity) return false;
      out[count++] = {const_cast<char*>(data), static_cast<size_t>(size)};
      bytes += static_cast<size_t>(size);
      return true;
    }
    size_t finish(size_t* size) const {
      *size = bytes;
      return count;
    }
  };

  bool add(uint64_t at, std::string_view bytes, bool is_insert) {
    if (count_ == kMaxEdits || bytes.empty() || bytes.size() > kMaxEditSize || at < position_) {
      return false;
    }
    if (count_ != 0) {
      const Edit& last = edits_[count_ - 1];
      if (at < last.at + (last.insert ? 0 : last.size)) return false;
    }
    Edit& e = edits_[count_++];
    e.at = at;
    e.insert = is_insert;
    e.size = static_cast<uint8_t>(bytes.size());
    e.done = 0;
    std::memcpy(e.bytes, bytes.data(), bytes.size());
    return true;
  }
  void pop() {
    --count_;
    if (count_ != 0) std::memmove(&edits_[0], &edits_[1], count_ * sizeof(Edit));
  }

  uint64_t position_ = 0;
  size_t count_ = 0;
  Edit edits_[kMaxEdits];
};

}  // namespace filibuster::preload
