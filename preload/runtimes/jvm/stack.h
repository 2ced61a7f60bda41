// Java frames of the calling thread: for the stack reader, and for tasks.cc, which takes the stack where an
// asynchronous client is called.
#pragma once

#include "preload/runtimes/reader.h"

namespace filibuster::preload {

// False: Java does not know this thread, or it runs no Java code. `mark`: before each frame's text.
// `skip`: frames on top that are not looked at.
bool read_java_frames(std::string_view mark, int skip, FrameSink* sink);
// Is the JDK's HttpURLConnection, on this thread, making a request again that it could not finish? It
// does so by itself, once, while it reads the answer.
bool java_client_tries_again();
// Is the first frame below the `skip` topmost ones of the program's own code, not of a library? (Frames of
// generated classes are passed over.)
bool called_by_program(int skip);

}  // namespace filibuster::preload
