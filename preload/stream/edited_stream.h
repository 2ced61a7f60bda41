// Edits on a byte stream in flight: what goes on the wire is the application's stream with bytes
// inserted, overwritten or exchanged for others at given positions. Pure: no system call, no
// allocation.
//
//   EditRoom room;
//   EditedStream s;                      // positions count the application's bytes from 0
//   s.use(room);
//   s.insert(16, header_line);           // before byte 16
//   s.layout(pieces, 0, s.position(), limit, &out);          // iovecs for one sendmsg
//   wrote = sendmsg(...); s.advance(wrote);                  // any short write is fine
//   s.position()                         // application bytes that are on the wire
//
// Law 1: whoever reports to the application reports differences of position(), so that inserted
// bytes are never counted. An insertion goes out with the byte after it; what has to go out with
// the byte before it is an exchange of that byte (splice).
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "core/pieces.h"

namespace filibuster::preload {

// The pieces that one send gets.
inline constexpr size_t kVectors = 64;
struct OnTheWire {
  iovec vectors[kVectors];
  size_t count = 0;
  size_t bytes = 0;
  size_t room = kVectors;  // less in tests

  // False: there is no room for it.
  bool add(const char* data, uint64_t size) {
    if (size == 0) return true;
    if (count == room) return false;
    vectors[count++] = {const_cast<char*>(data), static_cast<size_t>(size)};
    bytes += static_cast<size_t>(size);
    return true;
  }
};

class EditedStream {
 public:
  // In place of `remove` bytes from `at`: `size` bytes.
  struct Edit {
    uint64_t at;
    uint64_t remove;
    const char* bytes;
    size_t size;
    size_t done;  // how many of `bytes` are on the wire
    uint64_t end() const { return at + remove; }
  };

  EditedStream() = default;
  EditedStream(const EditedStream&) = delete;
  EditedStream& operator=(const EditedStream&) = delete;

  // Keeps edits in this memory from now on; without any, each is refused. Precondition: there are no edits.
  void use(Edit* edits, size_t edit_count, char* bytes, size_t byte_count) {
    edits_ = edits;
    max_edits_ = edit_count;
    bytes_ = bytes;
    max_bytes_ = byte_count;
    first_ = count_ = used_ = 0;
  }

  void use(struct EditRoom& room);
  void use_none() { use(nullptr, 0, nullptr, 0); }

  void reset() {
    position_ = 0;
    first_ = count_ = used_ = 0;
  }

  // How many application bytes are on the wire. While an edit is on the wire in part, the bytes that it has
  // overwritten so far count. All that it removes count when its last byte is out.
  uint64_t position() const { return position_; }
  bool has_edits() const { return count_ != 0; }

  // Positions must not decrease from call to call, and not lie before position(). False: refused,
  // for that, or because there is no room (there is room again when all edits are on the wire).
  bool insert(uint64_t at, std::string_view bytes) { return splice(at, 0, bytes); }
  // Overwrites bytes.size() bytes of the stream from `at`.
  bool replace(uint64_t at, std::string_view bytes) { return splice(at, bytes.size(), bytes); }
  // Exchanges `remove` bytes from `at` for `bytes`. The last byte of `bytes` goes out only with the last byte
  // that is removed.
  bool splice(uint64_t at, uint64_t remove, std::string_view bytes) {
    if (bytes.empty() || at < position_) return false;
    if (count_ != 0 && at < edits_[first_ + count_ - 1].end()) return false;
    if (count_ == 0) first_ = used_ = 0;
    if (bytes.size() > max_bytes_ - used_) return false;
    if (first_ + count_ == max_edits_) {
      if (first_ == 0) return false;
      std::memmove(edits_, edits_ + first_, count_ * sizeof(Edit));
      first_ = 0;
    }
    char* to = bytes_ + used_;
    std::memcpy(to, bytes.data(), bytes.size());
    used_ += bytes.size();
    edits_[first_ + count_++] = {at, remove, to, bytes.size(), 0};
    return true;
  }
  // Forgets the edits at or after `at` that have not begun.
  void drop_from(uint64_t at) {
    while (count_ != 0) {
      const Edit& last = edits_[first_ + count_ - 1];
      if (last.at < at || last.done != 0) return;
      --count_;
    }
  }

  // Adds to `out` the wire bytes from application position `from` (>= position()) up to `limit` over
  // `pieces`, whose first byte is position `base` (<= from). An insertion at `limit` itself is not
  // included, nor what there is no room for.
  void layout(Pieces pieces, uint64_t base, uint64_t from, uint64_t limit, OnTheWire* out) const {
    uint64_t at = from;
    const Edit* edit = edits_ + first_;
    const Edit* const last = edit + count_;
    while (edit != last && (edit->remove == 0 ? edit->at < at : edit->end() <= at)) ++edit;
    for (size_t p = 0; p < pieces.count && at < limit; ++p) {
      const uint64_t end = std::min(limit, base + pieces[p].iov_len);
      const char* data = static_cast<const char*>(pieces[p].iov_base);
      while (at < end) {
        if (edit != last && edit->at <= at) {
          const uint64_t stop = std::min(end, edit->end());
          const size_t begin = at == position_     ? edit->done
                               : edit->remove == 0 ? 0
                                                   : cut(*edit, at);
          if (!out->add(edit->bytes + begin, cut(*edit, stop) - begin)) return;
          at = stop;
          if (stop == edit->end()) ++edit;
          continue;
        }
        const uint64_t stop = edit != last ? std::min(end, edit->at) : end;
        if (!out->add(data + (at - base), stop - at)) return;
        at = stop;
      }
      base += pieces[p].iov_len;
    }
  }

  // `wire` bytes went out. Returns how many of them were the application's.
  uint64_t advance(uint64_t wire) {
    const uint64_t before = position_;
    while (wire != 0) {
      if (count_ == 0 || position_ < edits_[first_].at) {
        const uint64_t most = count_ == 0 ? wire : edits_[first_].at - position_;
        const uint64_t take = std::min(wire, most);
        position_ += take;
        wire -= take;
        continue;
      }
      Edit& e = edits_[first_];
      const size_t take = static_cast<size_t>(std::min<uint64_t>(wire, e.size - e.done));
      e.done += take;
      wire -= take;
      if (e.done == e.size) {
        position_ = e.end();
        ++first_;
        --count_;
      } else if (e.remove != 0) {
        position_ = e.at + std::min<uint64_t>(e.done, e.remove - 1);
      }
    }
    return position_ - before;
  }

 private:
  // How many bytes of the edit go out up to application position `at` within it: one for each byte, and all
  // that are left with the last byte.
  static size_t cut(const Edit& e, uint64_t at) {
    if (at >= e.end()) return e.size;
    return static_cast<size_t>(std::min<uint64_t>(at - e.at, e.size - 1));
  }

  uint64_t position_ = 0;
  size_t first_ = 0;
  size_t count_ = 0;
  size_t used_ = 0;  // how many bytes are taken since there was last no edit
  Edit* edits_ = nullptr;
  size_t max_edits_ = 0;
  char* bytes_ = nullptr;
  size_t max_bytes_ = 0;
};

// Enough for pipelined requests with a line of ours each.
struct EditRoom {
  EditedStream::Edit edits[16];
  char bytes[2048];
};
inline void EditedStream::use(EditRoom& room) {
  use(room.edits, std::size(room.edits), room.bytes, sizeof room.bytes);
}

}  // namespace filibuster::preload
