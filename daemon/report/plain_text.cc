#include "daemon/report/plain_text.h"

#include <cstdint>

namespace filibuster {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The size of the UTF-8 sequence at the start of `text`, and its character; size 0: there is none
// (RFC 3629 §4).
size_t decode(std::string_view text, uint32_t* character) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const size_t size = byte(0) < 0x80         ? 1
                      : (byte(0) >> 5) == 6  ? 2
                      : (byte(0) >> 4) == 14 ? 3
                      : (byte(0) >> 3) == 30 ? 4
                                             : 0;
  if (size == 0 || size > text.size()) return 0;
  *character = size == 1 ? byte(0) : byte(0) & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    *character = *character << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = *character >= 0xD800 && *character <= 0xDFFF;
  return *character < kLeast[size] || *character > 0x10FFFF || surrogate ? 0 : size;
}

bool is_allowed(uint32_t character) {
  if (character < 0x20) return character == '\t' || character == '\n' || character == '\r';
  return character != 0xFFFE && character != 0xFFFF;
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    uint32_t character = 0;
    const size_t size = decode(text, &character);
    if (size > 0 && is_allowed(character)) {
      out += text.substr(0, size);
    } else {
      out += kReplacement;
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out = plain_text(text);
  for (char& c : out) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return out;
}

}  // namespace filibuster
