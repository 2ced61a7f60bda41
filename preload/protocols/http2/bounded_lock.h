// A lock that is held for microseconds: around the parsing of one transfer's bytes, never across a
// system call that waits for a peer. Who cannot have it within a second goes without (law 2): its
// owner may have been stopped, or be a thread that a fork left behind.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/os/raw_syscall.h"
#include "preload/stream/wire.h"

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
    const uint64_t deadline = system_ns() + kWaitNs;
    do {
      raw_syscall(SYS_sched_yield);
      if (try_acquire()) return true;
    } while (system_ns() < deadline);
    return false;
  }
  void release() {
    held_.store(false, std::memory_order_release);
  }
  // In a forked child: nobody of this process would ever release it.
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
