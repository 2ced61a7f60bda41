// Letters and digits of ASCII, without a locale.
#pragma once

#include <cstddef>
#include <string_view>

namespace filibuster {

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// `lower`: without capital letters.
constexpr bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  for (size_t i = 0; i < lower.size(); ++i) {
    if (to_lower(text[i]) != lower[i]) return false;
  }
  return true;
}
constexpr bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && starts_with_ignoring_case(text, lower);
}

// 0..15; -1: no hexadecimal digit.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace filibuster
