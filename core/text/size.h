// A number of bytes, as people write it: "500K", "64M", "1G", "4096".
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace filibuster {

// Units are powers of 1024, also in lower case. nullopt: it is none, is 0, or has more than 64 bits.
inline std::optional<uint64_t> parse_size(std::string_view text) {
  uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || number == 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (text.empty()) return number;
  const size_t unit = std::string_view("KMGkmg").find(text[0]);
  if (text.size() > 1 || unit == std::string_view::npos) return std::nullopt;
  const unsigned shift = 10 * (static_cast<unsigned>(unit) % 3 + 1);
  if (number > std::numeric_limits<uint64_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

}  // namespace filibuster
