// Edits a class of the running machine while the machine loads it anew.
#pragma once

#include <jvmti.h>

#include <span>

#include "preload/runtimes/jvm/edits.h"

namespace filibuster::preload::jvm {

// Called in a ClassFileLoadHook; fills in its answer. Bit i of the result: edit i found its place; 0: the
// class stays as it is.
uint32_t edit_loaded_class(jvmtiEnv* tools, std::span<const Edit> edits,
                           std::span<const uint8_t> file, jint* new_size, unsigned char** new_data);

}  // namespace filibuster::preload::jvm
