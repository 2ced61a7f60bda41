// Base64 (RFC 4648 §4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace filibuster {

// With padding.
std::string to_base64(std::string_view bytes);
// With or without padding. Empty: not base64 (another character, a length that no bytes have, bits
// that are left over and not 0).
std::optional<std::string> from_base64(std::string_view text);

}  // namespace filibuster
