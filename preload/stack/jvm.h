// Java frames of the calling thread. For the stack reader, and for the helper of runtime/jvm, which
// takes the stack where an asynchronous client is called.
#pragma once

#include "preload/stack/reader.h"

namespace filibuster::preload {

// False: Java does not know this thread, or it runs no Java code. `mark`: before each frame's text.
// `skip`: frames on top that are not looked at.
bool read_java_frames(std::string_view mark, int skip, FrameSink* sink);
// Is the first frame below those on top of the program's own code, not of a library?
bool called_by_program(int skip);

}  // namespace filibuster::preload
