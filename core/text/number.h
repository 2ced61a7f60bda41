// Numbers as text without allocation, for code that runs in the middle of a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster {

// Digits of `value` in base 10 or 16, at the end of `out`; the view of them.
inline std::string_view number_text(uint64_t value, uint32_t base, char (&out)[20]) {
  size_t at = sizeof out;
  do {
    out[--at] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  return {out + at, sizeof out - at};
}

}  // namespace filibuster
