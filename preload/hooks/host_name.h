// The name of the machine. A replay tells its processes that of the recording (core/protocol/shown_host.h).
#pragma once

#include <string_view>

namespace filibuster::preload {

// Empty: the machine's own is told. It stays the same in the life of a process.
std::string_view shown_host_name();

}  // namespace filibuster::preload
