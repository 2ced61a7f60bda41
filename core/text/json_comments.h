// Comments in JSON: from // to the end of the line, and between /* and */.
#pragma once

#include <string>
#include <string_view>

namespace filibuster {

// `text` with blanks in place of comments: everything else stays at its place, ends of lines too. A
// comment without its end reaches to the end of the text. The text need not be valid.
inline std::string without_comments(std::string_view text) {
  std::string out(text);
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"' || c == '\n') in_text = false;  // no string goes beyond its line
      continue;
    }
    in_text = c == '"';
    const std::string_view two = text.substr(i, 2);
    if (two != "//" && two != "/*") continue;
    const size_t end = two == "//" ? text.find('\n', i) : text.find("*/", i + 2);
    const size_t behind = end == text.npos ? text.size() : two == "//" ? end : end + 2;
    for (size_t at = i; at < behind; ++at) {
      if (text[at] != '\n') out[at] = ' ';
    }
    i = behind - 1;
  }
  return out;
}

}  // namespace filibuster
