// Several copies of this library in one process, by paths that differ: each would see every call, one inside the other. The first
// one in the loader's order is at work, and every other one is inert: its hooks pass through.
#pragma once

#include <atomic>
#include <cstdint>

namespace filibuster::preload {

// Copies of different versions find each other by this, so it only grows at its end.
struct CopyMark {
  uint32_t version = 1;
  std::atomic<const char*> inert{nullptr};  // the path of another copy, which found this one
};

}  // namespace filibuster::preload

extern "C" {
// Of the copy that comes first: the loader gives one address to all.
extern __attribute__((visibility("default"))) filibuster::preload::CopyMark filibuster_first_copy;
// Of this one.
extern __attribute__((visibility("hidden"))) filibuster::preload::CopyMark filibuster_this_copy;
}

namespace filibuster::preload {

// Holds from the first instruction on: the loader has decided it.
inline bool is_inert_copy() {
  const CopyMark* first = &filibuster_first_copy;
  const CopyMark* self = &filibuster_this_copy;
  __asm__("" : "+r"(first), "+r"(self));  // the compiler takes two names for two objects
  return first != self;
}

// The path by which this copy was loaded, which lasts as long as the process; nullptr: not known.
const char* path_of_this_copy();
// The path of a copy that is inert because of this one; nullptr: there is none.
inline const char* path_of_inert_copy() {
  return filibuster_this_copy.inert.load(std::memory_order_acquire);
}

// Is it a function of this library, in whichever copy?
bool is_of_any_copy(const void* function);

}  // namespace filibuster::preload
