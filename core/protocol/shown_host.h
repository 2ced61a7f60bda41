// The name of the machine, as a replay tells it to its processes (docs/system-state.md).
#pragma once

#include <cstddef>

namespace filibuster {

// The variable that has it.
inline constexpr char kHostNameVariable[] = "FILIBUSTER_HOST_NAME";
inline constexpr size_t kMaxHostName = 64;  // bytes, as uname(2) has room for

}  // namespace filibuster
