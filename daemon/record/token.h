// What stands in the place of a secret. Pure.
#pragma once

#include <string>
#include <string_view>

namespace filibuster::record {

// A text of the same length and of the same kinds of letters. The same secret has the same one for the same `key`, and another one for another
// `round`.
std::string token_of(std::string_view secret, std::string_view key, unsigned round);
// The same for all secrets, but that a number stays one.
std::string mask_of(std::string_view secret);

}  // namespace filibuster::record
