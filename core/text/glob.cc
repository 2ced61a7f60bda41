#include "core/text/glob.h"

namespace filibuster {

bool glob_match(std::string_view pattern, std::string_view text) {
  return glob_match(pattern, text.size(), [&](size_t i) { return text[i]; });
}

}  // namespace filibuster
