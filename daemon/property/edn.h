// EDN, in which Jepsen, Knossos and Porcupine's test data write histories (https://github.com/edn-format/edn), as JSON: a keyword `:read` and
// a symbol are texts ("read"), nil is null, vectors, lists and sets are arrays, and a map is an object whose keys are texts (other keys as EDN
// writes them). Tags are left out, and what they tag is kept. Ratios, and numbers with N or M at their end, are numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace filibuster::property {

// Collections in each other that a history may have, in JSON too: what reads, compares and writes values calls itself for each.
inline constexpr int kDeepestValue = 64;

// Reads the next value from `*text` on, behind blanks and comments, and moves `*text` behind it. Where there is none, an empty optional.
// Error: what was expected, without a place: it is where `*text` begins then.
Result<std::optional<nlohmann::json>> read_edn(std::string_view* text);

// Moves `*text` behind blanks, commas and comments.
void skip_edn_blanks(std::string_view* text);

}  // namespace filibuster::property
