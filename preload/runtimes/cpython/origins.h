// Where a Python program began what runs now, if the function that did it is not on the stack any more: it has returned a
// coroutine that is awaited elsewhere, or given work to a task, a timer, a thread or a pool. Only in sessions that ask for
// it (kOptionOrigins). Every function needs the GIL, runs no Python code, and leaves no exception set.
#pragma once

#include <cstdint>
#include <string_view>

#include "preload/runtimes/reader.h"

namespace filibuster::preload::cpython {

struct Object;

// The program keeps origins from now on. `variable` is the context variable with the origin of a task, and is kept for ever.
void follow_origins(Object* variable);
bool follows_origins();

// Functions of the helper.
// began(work): the number of the call stack that gives `work` (a coroutine, or None) to somebody else; b"": it has no frame of
// the program, or no session is there.
Object* began(Object* self, Object* work);
// resume(origin): sets the origin of the calling thread. Returns the one before; b"": none.
Object* resume(Object* self, Object* origin);

// The number of a call stack as 16 digits; 0 is b"".
Object* site_bytes(uint64_t site);
uint64_t parse_site(Object* bytes);

// The frames on which the coroutine of this frame was made (`cr_origin`), as a new reference; nullptr: they are not
// known, or the frame is no coroutine's. Known since 3.11.
Object* makers_of_frame(Object* frame);

// One of these frames. Its texts live as long as `makers`.
struct Maker {
  std::string_view file, function;
  uint32_t line = 0;
};
bool read_maker(Object* makers, intptr_t at, Maker* maker);
// Adds the frame if it is the program's. Returns how many were added.
uint32_t add_maker(const Maker& maker, FrameSink* sink);
// Adds the frames of the program, innermost first, up to the function that awaits the coroutine. Returns how many.
template <typename IsAwaiting>
uint32_t add_makers(Object* makers, const IsAwaiting& is_awaiting, FrameSink* sink) {
  uint32_t added = 0;
  Maker maker;
  for (intptr_t at = 0; read_maker(makers, at, &maker) && !is_awaiting(maker); ++at)
    added += add_maker(maker, sink);
  return added;
}

// Puts the stack on which the running task was begun, or this thread was given its work, in the place of what `sink` has.
// False: none is known.
bool put_origin_of_task(FrameSink* sink);
bool put_origin_of_thread(FrameSink* sink);

}  // namespace filibuster::preload::cpython
