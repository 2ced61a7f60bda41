// How deep a JSON text goes, before anything is made of it: what parses it does so without
// recursion, what writes it does not.
#pragma once

#include <cstddef>
#include <string_view>

namespace filibuster {

// More than any document of ours has.
inline constexpr size_t kMaxJsonDepth = 100;

// Whether it is valid is the parser's to say.
inline bool is_nested_too_deep(std::string_view json) {
  size_t depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace filibuster
