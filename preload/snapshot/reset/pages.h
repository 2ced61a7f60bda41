// The contents of private memory: which pages have changed since 'go', and how they get the sibling's contents.
//
// A page that the process wrote after 'go' is a copy that nobody else has: pagemap tells it by bit 56 (mapped exclusively,
// Documentation/admin-guide/mm/pagemap.rst). All others are still those of the sibling, as long as the process has forked no other.
#pragma once

#include "preload/snapshot/reset/arena.h"

namespace filibuster::preload::reset {

// In the child, before it has a sibling: notes which pages of it are its own. Pages that are zero all over are given to the kernel,
// since a page that was dropped and read again could not be told from them. False: noted in the arena.
bool note_pages(Arena* arena);

// Makes the page that tells whether a process that was forked after 'go' is there still. False: there is no memory.
bool make_tell_tale(Arena* arena);
// At the beginning of each execution.
void set_tell_tale(const Arena& arena);
// The kernel does not tell of children whose end is ignored, nor of their children.
bool shares_pages_with_a_child(Arena* arena);

// False: noted in the arena.
bool give_back_pages(Arena* arena);

// Compares all that give_back_pages has looked at with the sibling. False: noted in the arena.
bool compare_pages(Arena* arena);

}  // namespace filibuster::preload::reset
