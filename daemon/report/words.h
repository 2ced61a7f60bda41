// Small words that the texts for a person share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace filibuster {

// "1 finding", "3 findings"
inline std::string counted(uint64_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

// "a, b and 3 more"
inline std::string first_of(const std::vector<std::string>& texts, size_t most = 2) {
  std::string out;
  for (size_t i = 0; i < texts.size() && i < most; ++i) out += (i == 0 ? "" : ", ") + texts[i];
  return out + (texts.size() > most ? " and " + std::to_string(texts.size() - most) + " more" : "");
}

// The first `most` bytes of UTF-8 text, with "..." if there are more; no character is cut in two.
inline std::string cut(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most) + "...";
}

}  // namespace filibuster
