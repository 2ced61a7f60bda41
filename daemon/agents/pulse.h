// The daemon's pulse: a thread that does nothing but renew the lease of a lane and measure how busy
// the machine is. Limits are measured by a clock that slows down with the machine: what takes ten
// times as long because everything does must not look like something that never ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace filibuster {

// Pure: its caller tells it the time, and how many threads want a processor.
class PatientClock {
 public:
  static constexpr uint64_t kTickNs = 100'000'000;
  static constexpr double kSlowest = 16;  // times slower than the clock on the wall, at most

  PatientClock(uint64_t now_ns, unsigned processors) : last_ns_(now_ns), processors_(processors) {}
  // Due every kTickNs. A late tick counts for no more than that: the process did not run meanwhile.
  void tick(uint64_t now_ns, unsigned runnable);

  uint64_t now_ns() const { return patient_ns_; }
  // How many times longer than on a quiet machine things take, over the last second or so; from 1.
  double slowdown() const { return slowdown_; }

 private:
  uint64_t last_ns_;
  const unsigned processors_;
  uint64_t patient_ns_ = 0;
  double slowdown_ = 1;
};

class Pulse {
 public:
  // `renew` is called with the time of CLOCK_MONOTONIC in every tick, from the pulse's own thread.
  void start(std::function<void(uint64_t now_ns)> renew);
  void stop();
  ~Pulse() { stop(); }

  // From any thread.
  uint64_t patient_ns() const { return patient_ns_.load(std::memory_order_acquire); }
  double slowdown() const { return slowdown_.load(std::memory_order_relaxed); }

 private:
  void run();

  std::function<void(uint64_t)> renew_;
  std::atomic<uint64_t> patient_ns_{0};
  std::atomic<double> slowdown_{1};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace filibuster
