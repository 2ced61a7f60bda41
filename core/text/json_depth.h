// How deep a JSON text goes, checked before it is parsed: the JSON library parses without recursion, but
// writes with it.
#pragma once

#include <cstddef>
#include <string_view>

namespace filibuster {

// More than any document of ours has.
inline constexpr size_t kMaxJsonDepth = 100;

// The text need not be valid: the parser finds that out.
inline bool is_nested_too_deep(std::string_view json, size_t most = kMaxJsonDepth) {
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
      if (++depth > most) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace filibuster
