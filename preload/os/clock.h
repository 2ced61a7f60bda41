// The clock of the agent (core/protocol/shared_clock.h): that of the machine, whatever stands in the place of the host's.
#pragma once

#include <time.h>

#include <cstdint>

#include "core/protocol/shared_clock.h"
#include "preload/os/raw_syscall.h"

namespace filibuster::preload {

extern constinit SharedClock g_clock;

inline constexpr auto kRawCall = [](long number, auto... arguments) {
  return raw_syscall(number, arguments...);
};

// Without a lock, and allowed in a signal handler.
inline uint64_t now_ns() {
  return g_clock.now_ns(kRawCall);
}

}  // namespace filibuster::preload
