// What a person can do about a test that is not forked for each execution.
#pragma once

#include <string_view>

#include "core/protocol/snapshot.h"

namespace filibuster {

// "start them after the first call"; "": nothing is known that helps, or nothing needs to.
std::string_view remedy_for(NotForked why);

}  // namespace filibuster
