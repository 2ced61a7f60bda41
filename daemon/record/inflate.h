// What was compressed, for whoever looks for something in it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace filibuster::record {

inline constexpr size_t kMostInflated = 64 * 1024 * 1024;

// Of gzip (RFC 1952), zlib (RFC 1950) or deflate alone (RFC 1951). nullopt: it is none of these, or is cut. Of what is longer than
// kMostInflated there is the beginning.
std::optional<std::string> inflated(std::string_view bytes);

}  // namespace filibuster::record
