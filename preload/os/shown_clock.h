// The time that the program is shown. In a replay it is that of the recording (docs/verify.md): the daemon says on the control
// page what is added to CLOCK_REALTIME. All other clocks are the machine's, and so is every clock that the agent itself reads
// (os/clock.h).
//
// Nothing here takes a lock, calls anything, or keeps books: collectors of garbage, allocators, signal handlers and children of
// vfork read clocks.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

namespace filibuster::preload {

// Where the daemon writes the nanoseconds that are added. It points to a zero where no replay runs, and what it points to is never
// unmapped, so that forked children are shown the same time.
extern constinit std::atomic<const std::atomic<int64_t>*> g_shown_offset;

inline int64_t shown_offset_ns() {
  return g_shown_offset.load(std::memory_order_acquire)->load(std::memory_order_relaxed);
}

// Clocks that tell the time of day. CLOCK_TAI is left alone.
inline bool tells_time_of_day(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_REALTIME_ALARM;
}

inline constexpr int64_t kNsPerSecond = 1'000'000'000;

// The time `ns` later. A time that is none (its nanoseconds are out of range), or that cannot be told any more, stays as it is.
constexpr timespec moved(const timespec& time, int64_t ns) {
  if (time.tv_nsec < 0 || time.tv_nsec >= kNsPerSecond) return time;
  int64_t seconds = ns / kNsPerSecond;
  int64_t rest = time.tv_nsec + ns % kNsPerSecond;
  if (rest < 0) {
    rest += kNsPerSecond;
    --seconds;
  } else if (rest >= kNsPerSecond) {
    rest -= kNsPerSecond;
    ++seconds;
  }
  timespec out{};
  out.tv_nsec = static_cast<decltype(out.tv_nsec)>(rest);
  return __builtin_add_overflow(time.tv_sec, seconds, &out.tv_sec) ? time : out;
}

// A time of day as a program says until when it waits: from 2001 on. No other clock comes that far, since they begin with the machine
// (31 years are 10^9 seconds), and an earlier time of day is over on every clock. So deadlines can be told apart where the call does
// not name its clock (pthread_cond_timedwait, timer_settime, timerfd_settime).
constexpr bool is_time_of_day(const timespec& time) {
  return time.tv_sec >= 1'000'000'000;
}

// A deadline of the program as the machine counts it.
constexpr timespec deadline_of_machine(const timespec& shown, int64_t offset_ns) {
  if (!is_time_of_day(shown) || offset_ns == 0) return shown;
  const timespec out = moved(shown, -offset_ns);
  // A time before 1970 is refused by some calls, and zero stops a timer. It is over in any case.
  return out.tv_sec < 0 ? timespec{0, 1} : out;
}

// The same for a call: RealDeadline(deadline).get() is what the original gets, for as long as the call lasts.
class RealDeadline {
 public:
  explicit RealDeadline(const timespec* shown) : RealDeadline(shown, CLOCK_REALTIME) {}
  RealDeadline(const timespec* shown, clockid_t clock) : deadline_(shown) {
    const int64_t offset = shown_offset_ns();
    if (offset == 0 || shown == nullptr || !tells_time_of_day(clock)) return;
    real_ = deadline_of_machine(*shown, offset);
    deadline_ = &real_;
  }
  RealDeadline(const RealDeadline&) = delete;
  const timespec* get() const { return deadline_; }

 private:
  const timespec* deadline_;
  timespec real_;
};

// The same for timers: the first time of an absolute one is moved, its interval is not.
class RealTimerDeadline {
 public:
  RealTimerDeadline(const itimerspec* shown, bool is_absolute) : deadline_(shown) {
    const int64_t offset = shown_offset_ns();
    if (offset == 0 || shown == nullptr || !is_absolute) return;
    real_ = *shown;
    real_.it_value = deadline_of_machine(shown->it_value, offset);
    deadline_ = &real_;
  }
  RealTimerDeadline(const RealTimerDeadline&) = delete;
  const itimerspec* get() const { return deadline_; }

 private:
  const itimerspec* deadline_;
  itimerspec real_;
};

}  // namespace filibuster::preload
