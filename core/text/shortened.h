// A text that may be of any length, as a line for a person shows it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace filibuster {

// The text, or its first `most` bytes and how many it has: "<!doctype html>… (5312 bytes)". No character of UTF-8 is cut.
inline std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t size = most;
  while (size > 0 && (text[size] & 0xc0) == 0x80) --size;
  return std::string(text.substr(0, size)) + "\u2026 (" + std::to_string(text.size()) + " bytes)";
}

}  // namespace filibuster
