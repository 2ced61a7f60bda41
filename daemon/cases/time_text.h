// Times as texts: "2026-11-30T09:14:07.123456Z" (RFC 3339, UTC, microseconds).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace filibuster::cases {

// `microseconds`: since 1970. Years from 1970 to 9999.
std::string time_text(int64_t microseconds);
// nullopt: another form, or a time that there is not.
std::optional<int64_t> parse_time_text(std::string_view text);

}  // namespace filibuster::cases
