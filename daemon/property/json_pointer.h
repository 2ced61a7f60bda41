// JSON pointers (RFC 6901).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster::property {

// "/a~1b/0" -> "a/b", "0"
inline std::vector<std::string> pointer_names(std::string_view pointer) {
  std::vector<std::string> out;
  while (!pointer.empty()) {
    const size_t end = std::min(pointer.find('/', 1), pointer.size());
    std::string& name = out.emplace_back();
    for (size_t i = 1; i < end; ++i) {
      const bool is_escape = pointer[i] == '~' && i + 1 < end;
      name += is_escape ? (pointer[++i] == '0' ? '~' : '/') : pointer[i];
    }
    pointer.remove_prefix(end);
  }
  return out;
}

}  // namespace filibuster::property
