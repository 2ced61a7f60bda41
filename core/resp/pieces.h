// What both directions of RESP (the Redis serialization protocol) are read with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/hash.h"

namespace filibuster::resp {

// The first bytes of a text that comes in pieces, at most N. Bytes after a gap are never kept: what
// is kept is always a prefix.
template <size_t N>
struct KeptText {
  // Keeps at most `most` <= N bytes in all.
  void append(const char* data, size_t count, size_t most = N) {
    if (truncated || count == 0) return;
    if (count > most - size) {
      truncated = true;
      count = most - size;
    }
    std::memcpy(bytes + size, data, count);
    size += count;
  }
  void clear() {
    size = 0;
    truncated = false;
  }
  std::string_view view() const { return {bytes, size}; }

  size_t size = 0;
  bool truncated = false;  // there was more, or something in it was not seen
  char bytes[N];
};

// The length or count that follows a type byte, with its line end, one byte at a time. Of each
// value there is one form, as Redis reads and writes it: no '+', no leading zeros, no "-0".
class LengthLine {
 public:
  enum class Result : uint8_t { kMore, kDone, kBad };

  void begin() { *this = LengthLine(); }
  // kBad also when the value, without its sign, exceeds `most`, which is at most 2^60.
  Result take(char c, uint64_t most) {
    if (cr_) return c == '\n' ? Result::kDone : Result::kBad;
    if (c == '\r') {
      cr_ = true;
      return digits_ && !(negative_ && value_ == 0) ? Result::kMore : Result::kBad;
    }
    if (c == '-' && !negative_ && !digits_) {
      negative_ = true;
      return Result::kMore;
    }
    if (c < '0' || c > '9' || (digits_ && value_ == 0)) return Result::kBad;
    digits_ = true;
    value_ = value_ * 10 + static_cast<uint64_t>(c - '0');
    return value_ <= most ? Result::kMore : Result::kBad;
  }
  bool empty() const { return !digits_ && !negative_; }
  bool negative() const { return negative_; }
  uint64_t value() const { return value_; }  // without its sign

 private:
  uint64_t value_ = 0;
  bool negative_ = false;
  bool digits_ = false;
  bool cr_ = false;
};

// A length as it enters a digest. Its width is fixed, so that two splits of the same bytes never have
// the same digest.
inline void digest_length(HashStream* stream, uint64_t length) {
  unsigned char bytes[8];
  for (size_t i = 0; i < sizeof bytes; ++i) {
    bytes[i] = static_cast<unsigned char>(length >> (56 - 8 * i));
  }
  stream->update(bytes, sizeof bytes);
}

inline char to_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
}

}  // namespace filibuster::resp
