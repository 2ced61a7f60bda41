// The origin that a proxy has set for the calling thread (door.h).
#pragma once

#include <string_view>

namespace filibuster::preload {

// initial-exec, as all thread-local memory of the library. Empty: the stack is not known.
extern constinit thread_local std::string_view t_origin_stack
    __attribute__((tls_model("initial-exec")));

}  // namespace filibuster::preload
