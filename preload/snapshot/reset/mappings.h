// The mappings of a process, and how those of 'go' are given back.
#pragma once

#include "preload/snapshot/reset/arena.h"

namespace filibuster::preload::reset {

// Of the calling process, by address. Neighbours that are alike are one. False: there are too many, or /proc cannot be read.
bool read_mappings(MappingList* out);

// Something of smaps that a reset cannot give back, as a text; nullptr: nothing. `own_page` is wiped on fork by ourselves.
const char* unusual_mapping(uint64_t own_page);

// Anonymous pages of the calling process in bytes, and those of them in huge pages (smaps_rollup, or smaps where the kernel has none).
bool count_anonymous(uint64_t* bytes, uint64_t* huge_bytes);

// Removes what is new, makes anew what is gone where that is anonymous memory, and gives each range its rights. The contents are
// given back afterwards. False: noted in the arena; the process can only end then.
bool give_back_mappings(Arena* arena);

}  // namespace filibuster::preload::reset
