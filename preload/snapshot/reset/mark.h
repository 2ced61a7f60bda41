// A place in the run of a process to which it goes back when its memory is what it was there.
#pragma once

#include <cstdint>

namespace filibuster::preload::reset {

// The registers that a call keeps (System V ABI of x86-64, 3.2.1), and the two control words of floating point.
struct Mark {
  uint64_t registers[8];
  uint32_t mxcsr;
  uint16_t x87;
};

}  // namespace filibuster::preload::reset

extern "C" {
// Makes a sibling of the calling process (clone(2), CLONE_PARENT), which calls `hold(argument)` on a stack that ends at `stack`
// and touches nothing else. Returns its pid or -errno, and returns 0 whenever the process goes back to the mark.
__attribute__((visibility("hidden"))) long filibuster_make_mark(
    filibuster::preload::reset::Mark* mark, void* stack, void (*hold)(void*), void* argument);
[[noreturn]] __attribute__((visibility("hidden"))) void filibuster_go_back(
    const filibuster::preload::reset::Mark* mark);
// Calls `work(argument)`, which does not return, on the stack that ends at `stack`.
[[noreturn]] __attribute__((visibility("hidden"))) void filibuster_on_stack(void* stack,
                                                                            void (*work)(void*),
                                                                            void* argument);
}
