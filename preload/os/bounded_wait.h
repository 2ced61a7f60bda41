// Waiting, in a hook, for another thread of the host that does something for all threads.
#pragma once

#include <time.h>

#include <cstdint>

#include "preload/os/clock.h"
#include "preload/os/raw_syscall.h"

namespace filibuster::preload {

// Waits until `done` says so; false: it did not within `most_ns`. What is waited for takes microseconds,
// but the thread that does it may lose its processor in the middle. A number of turns would not tell how
// long that is, so the limit is a time. There is a limit because we may be a signal handler that
// interrupted that very thread.
template <typename Done>
bool wait_until(Done done, uint64_t most_ns) {
  constexpr int kYields = 100;
  if (done()) return true;
  const uint64_t end = now_ns() + most_ns;
  for (int turn = 0; !done(); ++turn) {
    if (now_ns() >= end) return false;
    if (turn < kYields) {
      raw_syscall(SYS_sched_yield);
    } else {
      const timespec time{0, 50'000};
      raw_syscall(SYS_nanosleep, &time, nullptr);
    }
  }
  return true;
}

}  // namespace filibuster::preload
