// Patterns of paths in the configuration.
#pragma once

#include <string_view>

namespace filibuster {

// '*' matches any text, '/' included, '?' one byte. Linear in practice: only the last '*' is
// retried.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace filibuster
