// How the generators of values are named (docs/property.md, 'A model').
#pragma once

#include <string_view>

namespace filibuster {

// An object with one member of another name is a constant. One whose name is nearly one of these is more likely a mistake.
inline constexpr std::string_view kGeneratorNames[] = {"int",    "text",      "one_of", "array",
                                                       "object", "result_of", "value"};

}  // namespace filibuster
