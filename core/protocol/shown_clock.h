// What daemon and agents say of the time of day that a process of a replay is shown (docs/system-state.md).
#pragma once

#include <string_view>

namespace filibuster {

// The variable that says to a process that it is a part of a replay: it is set, to whatever.
inline constexpr char kReplayVariable[] = "FILIBUSTER_REPLAY";
// What the note of such a process begins with that is not shown the time of the recording. The reason follows.
inline constexpr std::string_view kTimeNotShown = "the time of the recording is not shown: ";

}  // namespace filibuster
