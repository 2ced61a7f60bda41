// Patterns of paths in the configuration.
#pragma once

#include <cstddef>
#include <string_view>

namespace filibuster {

// '*' matches any text, '/' included, '?' one byte. Linear in practice: only the last '*' is
// retried. `at(i)`: byte i of the text.
template <typename At>
bool glob_match(std::string_view pattern, size_t size, At at) {
  size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < size) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == at(t))) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace filibuster
