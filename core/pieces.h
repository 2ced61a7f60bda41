// The bytes of one call in several pieces of memory, as readv(2) and writev(2) take them. A view, passed
// by value.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace filibuster {

// What a call that moves bytes returned, with its errno where that is -1.
struct IoResult {
  ssize_t size = 0;
  int error = 0;
};

struct Pieces {
  const iovec* data = nullptr;
  size_t count = 0;

  Pieces() = default;
  Pieces(const iovec* first, size_t number) : data(first), count(number) {}
  Pieces(const iovec& one)
      : data(&one), count(1) {}  // NOLINT: a piece is given where pieces are taken
  Pieces(iovec&&) = delete;      // a view of a temporary

  const iovec& operator[](size_t i) const { return data[i]; }
  const iovec* begin() const { return data; }
  const iovec* end() const { return data + count; }

  // Bytes of all pieces.
  size_t size() const {
    size_t bytes = 0;
    for (const iovec& piece : *this) bytes += piece.iov_len;
    return bytes;
  }

  // Calls `use(const char* part, size_t size)` with the bytes [from, from + size), part by part and in
  // order. No part is empty. Ends early when `use` returns false, and returns false then.
  template <typename Use>
  bool each(size_t from, size_t size, const Use& use) const {
    for (const iovec& piece : *this) {
      if (size == 0) break;
      if (from >= piece.iov_len) {
        from -= piece.iov_len;
        continue;
      }
      const size_t take = std::min(size, piece.iov_len - from);
      if (!use(static_cast<const char*>(piece.iov_base) + from, take)) return false;
      size -= take;
      from = 0;
    }
    return true;
  }

  // Copies the bytes [from, from + size) to `out`.
  void copy(size_t from, char* out, size_t size) const {
    each(from, size, [&](const char* part, size_t bytes) {
      std::memcpy(out, part, bytes);
      out += bytes;
      return true;
    });
  }
};

}  // namespace filibuster
