// A Redis key as the pattern that names its kind: "user:42:cart" is "user:*:cart".
#pragma once

#include <cstddef>
#include <string_view>

namespace filibuster::resp {

// Writes the pattern into `out`, at most `size` bytes of it; returns how many. The key's segments
// (between ':' '/' '.' '-' '_' '{' '}', which stay) become '*' if they hold a digit, or nothing but
// at least eight hexadecimal letters of one case, or bytes that are not printable ASCII, so that
// what is written is always text. A UUID is one segment. `truncated`: `key` is only the beginning
// of one; its last segment becomes '*', since what it would become is not known.
size_t key_pattern(std::string_view key, char* out, size_t size, bool truncated = false);

}  // namespace filibuster::resp
