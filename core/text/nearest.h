// What somebody may have meant by a word that is not known.
#pragma once

#include <span>
#include <string_view>

namespace filibuster {

// The known word with the fewest changed letters from `word` (Levenshtein distance, with a swap of
// neighbours as one step); "" if more than a third of them would change. A known word that contains
// `word` is one change away. Words of more than 64 bytes are near nothing.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace filibuster
