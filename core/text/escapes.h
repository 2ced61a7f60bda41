// Control sequences of terminals (ECMA-48 §5.4), which programs also print where nothing is a terminal.
#pragma once

#include <string>
#include <string_view>

namespace filibuster {

// `text` without the sequences that begin with ESC [, or with what pytest writes into XML in the place of ESC: "#x1B[". What does
// not end as a sequence stays.
inline std::string without_escapes(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const size_t mark = rest.starts_with("\x1b[") ? 2 : rest.starts_with("#x1B[") ? 5 : 0;
    size_t end = mark;
    while (mark != 0 && end < rest.size() && rest[end] >= 0x20 && rest[end] < 0x40) ++end;
    if (mark != 0 && end < rest.size() && rest[end] >= 0x40 && rest[end] <= 0x7E) {
      at += end + 1;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace filibuster
