// Names of files as addresses (RFC 8089), and the escapes of addresses (RFC 3986 §2.1). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/text/ascii.h"

namespace filibuster {

// `path` with every byte escaped that RFC 3986 does not allow in a path, and the colon, which would
// end a scheme in a relative one.
inline std::string uri_path(std::string_view path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/!$&'()*+,;=@").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

// "file:///home/me/report.html" for an absolute path.
inline std::string file_uri(std::string_view path) {
  return "file://" + uri_path(path);
}

// "%20" -> " "; a '%' without two hexadecimal digits stays.
inline std::string percent_decoded(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' && plus_is_blank ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace filibuster
