// A function of a program that calls it directly, past the dynamic linker: its first instructions are exchanged
// for a jump to ours. What stood there is kept, so that the function can still be called.
//
// x86-64 only. Instructions that are not known to mean the same elsewhere are left as they are, and then so is
// the function.
#pragma once

#include <cstddef>
#include <cstdint>

namespace filibuster::preload {

// The instructions that a jump of five bytes overwrites, written anew for another place.
struct MovedCode {
  uint8_t bytes[64];
  size_t size = 0;
  size_t taken = 0;  // bytes of the original
};
// Reads instructions from `code`, which will run at `at`. False: one of them is not known.
bool move_instructions(const uint8_t* code, const uint8_t* at, MovedCode* out);

// Calls of `function` reach `ours`; *original is what the function was. False: nothing has changed. To be called
// before another thread may be inside of the first instructions.
bool detour(void* function, void* ours, void** original);

}  // namespace filibuster::preload
