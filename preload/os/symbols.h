// What the program and its libraries define, by name.
#pragma once

#include <dlfcn.h>

#include "preload/os/own_stack.h"

namespace filibuster::preload {

// The loader needs some KiB of stack.
inline void* symbol_of_program(const char* name) {
  return on_own_stack([name] { return dlsym(RTLD_DEFAULT, name); });
}

}  // namespace filibuster::preload
