// CLOCK_MONOTONIC.
#pragma once

#include <time.h>

#include <cstdint>

#include "preload/os/raw_syscall.h"

namespace filibuster::preload {

inline uint64_t nanoseconds(const timespec& t) {
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Read by the vDSO: without a lock or a system call, and allowed in a signal handler.
inline uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return nanoseconds(now);
}

// Read by a system call, for the end of a wait: a library that fakes the time for its program may let it
// stand still.
inline uint64_t system_ns() {
  timespec now{};
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return nanoseconds(now);
}

}  // namespace filibuster::preload
