// Frames of event loops and of pools of threads. They run whatever they are given, so such a frame never names a call
// site, also where a stack has no frame of the program and those of libraries are kept. Pure.
#pragma once

#include <string_view>

#include "core/index/frame_rules.h"

namespace filibuster::preload {

// Does a frame of this module, file or class belong to an event loop or to a pool of threads?
bool is_loop_frame(FrameKind kind, std::string_view name);

}  // namespace filibuster::preload
