// The version of the programs; versions of formats and protocols stand with their formats.
#pragma once

namespace filibuster {
inline constexpr char kVersion[] = "0.1.0";
}
