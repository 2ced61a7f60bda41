// Eight hexadecimal digits at a time, lower case, most significant first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace filibuster {

inline constexpr size_t kHexGroup = 8;

// The digits as one number whose first byte in memory is the first digit: a byte for each half byte,
// then 'a' - '0' - 10 more where it exceeds 9.
inline void put_hex_group(uint32_t value, char* out) {
  constexpr uint64_t kEach = 0x0101010101010101u;
  uint64_t x = value;
  x = (x << 16 | x) & 0x0000ffff0000ffffu;
  x = (x << 8 | x) & 0x00ff00ff00ff00ffu;
  x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0fu;
  const uint64_t letters = (x + 6 * kEach) >> 4 & kEach;
  x += '0' * kEach + letters * ('a' - '0' - 10);
  if constexpr (std::endian::native == std::endian::little) x = __builtin_bswap64(x);
  std::memcpy(out, &x, sizeof x);
}

// Reads eight digits. False for anything else, capital letters too: each value has one form.
inline bool read_hex_group(const char* text, uint32_t* out) {
  constexpr uint64_t kEach = 0x0101010101010101u;
  uint64_t x;
  std::memcpy(&x, text, sizeof x);
  if constexpr (std::endian::native == std::endian::little) x = __builtin_bswap64(x);
  // This is right for digits. For anything else the result, written again, gives another text.
  uint64_t v = (x & 0x0f * kEach) + (x >> 6 & kEach) * 9;
  v = (v | v >> 4) & 0x00ff00ff00ff00ffu;
  v = (v | v >> 8) & 0x0000ffff0000ffffu;
  *out = static_cast<uint32_t>(v | v >> 16);
  char again[kHexGroup];
  put_hex_group(*out, again);
  return std::memcmp(again, text, kHexGroup) == 0;
}

}  // namespace filibuster
