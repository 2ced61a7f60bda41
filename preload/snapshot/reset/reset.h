// A child of the snapshot that serves one execution after the other: at its end it gets back the memory, the descriptors and the
// state that it had at 'go', and waits for the next one. That takes a fraction of a fork and its copies of pages.
//
// Its memory at 'go' is kept by a sibling, which shares it and does nothing. What cannot be given back is refused: then the process
// ends as any other, and the next execution is forked. Linux 5.9 and x86-64.
#pragma once

#include "preload/snapshot/reset/arena.h"

namespace filibuster::preload::reset {

// In the process that forks. nullptr: there is no memory, or this processor is not known.
Arena* make_arena();

// In the child, once: keeps what it is now. Returns true here, and again each time when it is that again. `channel` is a descriptor of
// ours to the process that forks it. False: it cannot be reset; why stands in the arena.
bool keep_this(Arena* arena, int channel);

// In a process that is about to exit with `status`, after its exit handlers and the destructors of its libraries. Does not return if
// it is reset: `tell_ended` is called when nothing of the execution is open any more, on a stack of ours, and may use no memory.
void exit_or_reset(int status, void (*tell_ended)(const Arena& arena));

}  // namespace filibuster::preload::reset
