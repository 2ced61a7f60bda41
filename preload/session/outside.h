// Programs that a process of a session starts, and that take no part in it.
#pragma once

#include <cstdint>

#include "core/program/entry.h"

namespace filibuster::preload {

struct ProgramOutside {
  Entry entry;
  Gain gain;
  uint16_t machine;
  const char* loader;
  const char* path;
};
// Tells the daemon of the session of this process, if it has one, without waiting for it. May be called in a child of vfork.
void tell_of_program_outside(const ProgramOutside& program);

}  // namespace filibuster::preload
