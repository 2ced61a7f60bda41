// What somebody who mistyped a verb may have meant.
#pragma once

#include <span>
#include <string_view>

namespace filibuster::cli {

// The verb with the fewest changed letters from `word`; "" if more than half of them would change.
std::string_view nearest_verb(std::string_view word, std::span<const std::string_view> verbs);

}  // namespace filibuster::cli
