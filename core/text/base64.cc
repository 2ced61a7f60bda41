#include "core/text/base64.h"

#include <cstdint>

namespace filibuster {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6;) {
      count -= 6;
      out += kDigits[bits >> count & 63];
    }
  }
  if (count != 0) out += kDigits[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.ends_with('=')) {
    if (text.size() % 4 != 0) return std::nullopt;
    text.remove_suffix(text.ends_with("==") ? 2 : 1);
  }
  std::string out;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  if (count == 6 || (bits & ((1u << count) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace filibuster
