// Call stacks of the calling thread, at the moment of a request. Native frames by libunwind (loaded
// into a private scope), runtime frames by one reader per runtime (`kReaders` in stack.cc). Frames of
// runtimes and HTTP libraries are filtered out of what is hashed, so that a rebuild of an unrelated
// module does not change an index.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/hash.h"

namespace filibuster::preload {

struct CapturedStack {
  Hash128 hash;      // of the kept frames; zero if there are none
  const char* text;  // one frame a line (core/protocol/events.h, RpcIssued::stack_text)
  size_t text_size;
  bool incomplete;  // a reader failed or the buffer was too small: marked, never guessed
  // No frame of the program was found, so the frames are those of libraries. Where a library does one
  // thing in several ways, by chance, such stacks differ.
  bool of_libraries = false;
};

// `buffer` receives the text. Never allocates from the host's heap in the steady state.
// Where a runtime reader applies (CPython: the thread holds an interpreter frame), its frames are
// the stack ("file:line function"). Otherwise native frames are, as pairs of build id and offset.
CapturedStack capture_stack(char* buffer, size_t capacity);

// Once per process, at registration: loads libunwind, looks for runtimes. Text for Hello::notes.
size_t describe_runtimes(char* out, size_t capacity);

// Around a fork: no thread is inside an unwinder while the child is made (its locks would stay held).
void pause_captures_for_fork();
void resume_captures_after_fork(bool child);

}  // namespace filibuster::preload
