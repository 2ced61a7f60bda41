// The version of the command line; versions of formats and protocols stand with their formats.
#pragma once

namespace filibuster::cli {
inline constexpr char kVersion[] = "0.1.0";
}
