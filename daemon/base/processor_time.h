// The processor time of the calling thread.
#pragma once

#include <time.h>

namespace filibuster {

// Seconds. A system call, 0.2 to 0.4 us: for whole operations, not for their steps.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace filibuster
