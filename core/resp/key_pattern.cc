#include "core/resp/key_pattern.h"

#include <algorithm>
#include <cstring>

namespace filibuster::resp {
namespace {

// Fewer hexadecimal letters may be a word: "facade", "defaced".
constexpr size_t kHexadecimalLetters = 8;
constexpr std::string_view kUuidForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";  // RFC 9562 §4

bool is_separator(char c) {
  return std::memchr(":/.-_{}", c, 7) != nullptr;
}

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

bool is_hexadecimal(char c) {
  return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool varies(std::string_view segment) {
  size_t lower = 0;
  size_t upper = 0;
  for (const char c : segment) {
    if (is_decimal(c) || c <= ' ' || c > '~') return true;
    lower += c >= 'a' && c <= 'f';
    upper += c >= 'A' && c <= 'F';
  }
  return segment.size() >= kHexadecimalLetters &&
         (lower == segment.size() || upper == segment.size());
}

// `truncated`: the beginning of a UUID will do, if nothing follows it.
bool starts_with_uuid(std::string_view text, bool truncated) {
  const size_t size = std::min(text.size(), kUuidForm.size());
  for (size_t i = 0; i < size; ++i) {
    if (kUuidForm[i] == 'x' ? !is_hexadecimal(text[i]) : text[i] != '-') return false;
  }
  if (size < kUuidForm.size()) return truncated;
  return text.size() == size || is_separator(text[size]);
}

}  // namespace

size_t key_pattern(std::string_view key, char* out, size_t size, bool truncated) {
  size_t written = 0;
  const auto write = [&](std::string_view text) {
    text = text.substr(0, size - written);
    if (text.empty()) return;
    std::memcpy(out + written, text.data(), text.size());
    written += text.size();
  };
  while (written != size) {
    size_t end = 0;
    bool any = false;
    if (starts_with_uuid(key, truncated)) {
      end = std::min(key.size(), kUuidForm.size());
      any = true;
    } else {
      while (end != key.size() && !is_separator(key[end])) ++end;
      any = varies(key.substr(0, end)) || (truncated && end == key.size());
    }
    write(any ? "*" : key.substr(0, end));
    if (end == key.size()) break;
    write(key.substr(end, 1));
    key.remove_prefix(end + 1);
  }
  return written;
}

}  // namespace filibuster::resp
