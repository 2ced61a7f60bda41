#include "core/text/base64.h"

#include <cstdint>

namespace filibuster {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint32_t kNoDigit = 64;

uint32_t digit_value(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<uint32_t>(c - 'A');
  if (c >= 'a' && c <= 'z') return static_cast<uint32_t>(c - 'a') + 26;
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0') + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return kNoDigit;
}

}  // namespace

size_t encode_base64(std::string_view bytes, char* out, size_t capacity) {
  if (capacity < (bytes.size() * 4 + 2) / 3) return SIZE_MAX;
  size_t size = 0;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6;) {
      count -= 6;
      out[size++] = kDigits[bits >> count & 63];
    }
  }
  if (count != 0) out[size++] = kDigits[bits << (6 - count) & 63];
  return size;
}

size_t decode_base64(std::string_view text, char* out, size_t capacity) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return SIZE_MAX;
  size_t size = 0;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const uint32_t value = digit_value(c);
    if (value == kNoDigit) return SIZE_MAX;
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    if (size == capacity) return SIZE_MAX;
    out[size++] = static_cast<char>(bits >> count);
  }
  return size;
}

std::string to_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  encode_base64(bytes, out.data(), out.size());
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.ends_with('=')) {
    if (text.size() % 4 != 0) return std::nullopt;
    text.remove_suffix(text.ends_with("==") ? 2 : 1);
  }
  if (text.find_first_of("=-_") != text.npos) return std::nullopt;
  std::string out(text.size(), '\0');
  const size_t size = decode_base64(text, out.data(), out.size());
  if (size == SIZE_MAX) return std::nullopt;
  out.resize(size);
  // Equal texts only: bits that are left over must be 0.
  std::string again = to_base64(out);
  return std::string_view(again).starts_with(text) ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace filibuster
