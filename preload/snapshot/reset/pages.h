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

// False: noted in the arena.
bool give_back_pages(Arena* arena);

// Compares all that give_back_pages has looked at with the sibling. False: noted in the arena.
bool compare_pages(Arena* arena);

}  // namespace filibuster::preload::reset
