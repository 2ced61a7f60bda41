// A lock that is held for microseconds, while the bytes of one transfer are parsed, and never across a system
// call that waits for a peer. A thread that does not get it within a second goes on without it (law 2),
// because its owner may have been stopped, or may be a thread that a fork left behind.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/os/clock.h"
#include "preload/os/raw_syscall.h"

namespace filibuster::preload {

class BoundedLock {
 public:
  bool acquire() {
    for (int i = 0; i < kSpins; ++i) {
      if (try_acquire()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    const uint64_t deadline = now_ns() + kWaitNs;
    do {
      raw_syscall(SYS_sched_yield);
      if (try_acquire()) return true;
    } while (now_ns() < deadline);
    return false;
  }
  void release() {
    held_.store(false, std::memory_order_release);
  }
  // Called in a forked child, where no thread would ever release the parent's lock.
  bool is_held() const {
    return held_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr int kSpins = 200;
  static constexpr uint64_t kWaitNs = 1'000'000'000;

  bool try_acquire() {
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }

  std::atomic<bool> held_{false};
};

}  // namespace filibuster::preload
