// Java frames of the calling thread. For the stack reader, and for the helper of runtime/jvm, which
// takes the stack where an asynchronous client is called.
#pragma once

#include "preload/runtimes/reader.h"

namespace filibuster::preload {

// False: Java does not know this thread, or it runs no Java code. `mark`: before each frame's text.
// `skip`: frames on top that are not looked at.
bool read_java_frames(std::string_view mark, int skip, FrameSink* sink);
// Does the JDK's HttpURLConnection, on this thread, make the request again that it could not finish? It
// does so by itself, once, while it reads the answer.
bool java_client_tries_again();
// Is the first frame below those on top of the program's own code, not of a library?
bool called_by_program(int skip);

}  // namespace filibuster::preload
