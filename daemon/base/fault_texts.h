// What the agents' side of the daemon and the relay say of faults that did not go as planned.
#pragma once

#include <string_view>

namespace filibuster {

// Begins the reason why a planned fault had no effect, where its "@3" is beyond the answer's end.
inline constexpr std::string_view kAnswerEndedAfter = "the answer ended after ";

}  // namespace filibuster
