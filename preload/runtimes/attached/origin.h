// The origin that a proxy has set for the calling thread (door.h).
#pragma once

#include <string_view>

#include "core/rpc/attached_call.h"
#include "preload/runtimes/reader.h"

namespace filibuster::preload {

// initial-exec, as all thread-local memory of the library. Empty: the stack is not known.
extern constinit thread_local std::string_view t_origin_stack
    __attribute__((tls_model("initial-exec")));

// The request whose bytes this thread sends.
extern constinit thread_local AttachedCall t_attached_call
    __attribute__((tls_model("initial-exec")));

// Puts the frames of `stack` (door.h) that count into the sink. True: it is that of a program without frame pointers,
// of which only the innermost frame counts.
bool read_origin(std::string_view stack, FrameSink* sink);

}  // namespace filibuster::preload
