// Keeps receives out of a connection while its descriptor is replaced by one on which everything goes on:
// a thread inside a receive would read the connection that stands aside.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/os/clock.h"
#include "preload/os/raw_syscall.h"

namespace filibuster::preload {

class ReceiveGate {
 public:
  // Around each receive. A thread that comes while the gate is closed waits, but not for ever.
  void enter() {
    inside_.fetch_add(1);
    if (!closed_.load()) return;
    const uint64_t deadline = now_ns() + kClosedNs;
    while (closed_.load() && now_ns() < deadline) {
      inside_.fetch_sub(1);
      raw_syscall(SYS_sched_yield);
      inside_.fetch_add(1);
    }
  }
  void leave() { inside_.fetch_sub(1); }

  // False: another thread waits in a receive. open() follows in any case.
  bool close() {
    closed_.store(true);
    const uint64_t deadline = now_ns() + kLeaveNs;
    while (inside_.load() != 0) {
      if (now_ns() > deadline) return false;
      raw_syscall(SYS_sched_yield);
    }
    return true;
  }
  void open() { closed_.store(false); }
  // In a child of fork: the threads inside are the parent's.
  void forget() {
    inside_.store(0);
    closed_.store(false);
  }

 private:
  // A thread inside a receive that does not block leaves it within microseconds.
  static constexpr uint64_t kLeaveNs = 100'000'000;
  // A replacement makes two system calls for each epoll registration.
  static constexpr uint64_t kClosedNs = 1'000'000'000;
  std::atomic<uint32_t> inside_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace filibuster::preload
