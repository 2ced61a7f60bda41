// Base64 (RFC 4648 §4), and its variant for URLs (§5).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace filibuster {

// With padding.
std::string to_base64(std::string_view bytes);
// With or without padding. Empty: not base64 (another character, a length that no bytes have, bits
// that are left over and not 0).
std::optional<std::string> from_base64(std::string_view text);

// The same without an allocation. Both return the number of characters in `out`, or SIZE_MAX: `capacity`
// is too small, or (decode) the text is not base64. Encoding adds no padding; decoding takes the digits of
// both variants, and ignores bits that are left over.
size_t encode_base64(std::string_view bytes, char* out, size_t capacity);
size_t decode_base64(std::string_view text, char* out, size_t capacity);

}  // namespace filibuster
