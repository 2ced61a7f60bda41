// Hexadecimal text of any length, lower case (hex.h: groups of eight digits, fast).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster {

// -1: it is no digit.
inline int base16_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// False: no digits, more than 16, or something else.
inline bool read_base16(std::string_view text, uint64_t* out) {
  if (text.empty() || text.size() > 16) return false;
  *out = 0;
  for (const char c : text) {
    const int digit = base16_digit(c);
    if (digit < 0) return false;
    *out = *out << 4 | static_cast<uint64_t>(digit);
  }
  return true;
}

// The bytes that the text names. Returns how many; 0: it is none, or does not fit into `capacity`.
inline size_t read_base16(std::string_view text, uint8_t* out, size_t capacity) {
  if (text.size() % 2 != 0 || text.size() / 2 > capacity) return 0;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = base16_digit(text[i]);
    const int low = base16_digit(text[i + 1]);
    if (high < 0 || low < 0) return 0;
    out[i / 2] = static_cast<uint8_t>(high << 4 | low);
  }
  return text.size() / 2;
}

}  // namespace filibuster
