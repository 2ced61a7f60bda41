#include "preload/os/shown_clock.h"

#include <gtest/gtest.h>

#include <climits>
#include <limits>

namespace filibuster::preload {
namespace {

constexpr int64_t kYear = 365 * 86'400 * kNsPerSecond;
constexpr time_t kToday = 1'800'000'000;

void expect_time(const timespec& time, time_t seconds, long nanoseconds) {
  EXPECT_EQ(time.tv_sec, seconds);
  EXPECT_EQ(time.tv_nsec, nanoseconds);
}

// What g_shown_offset points to for as long as a test runs.
class Shown {
 public:
  explicit Shown(int64_t offset_ns) : offset_(offset_ns), before_(g_shown_offset.load()) {
    g_shown_offset.store(&offset_);
  }
  ~Shown() { g_shown_offset.store(before_); }
  Shown(const Shown&) = delete;

 private:
  const std::atomic<int64_t> offset_;
  const std::atomic<int64_t>* before_;
};

TEST(ShownClock, NothingIsAddedWithoutAReplay) {
  EXPECT_EQ(shown_offset_ns(), 0);
}

TEST(ShownClock, TimesAreMovedBothWays) {
  expect_time(moved({10, 999'999'999}, 1), 11, 0);
  expect_time(moved({10, 0}, -1), 9, 999'999'999);
  expect_time(moved({10, 500'000'000}, -1'500'000'000), 9, 0);
  expect_time(moved({kToday, 1}, -kYear), kToday - 365 * 86'400, 1);
  // What the kernel refuses, it goes on refusing.
  expect_time(moved({10, -1}, kYear), 10, -1);
  expect_time(moved({10, 1'000'000'000}, kYear), 10, 1'000'000'000);
  // And what has no end keeps none.
  constexpr time_t kNever = std::numeric_limits<time_t>::max();
  expect_time(moved({kNever, 0}, kYear), kNever, 0);
}

TEST(ShownClock, DeadlinesAreMovedBackAndOnlyThoseOfTheTimeOfDay) {
  expect_time(deadline_of_machine({kToday, 7}, kYear), kToday - 365 * 86'400, 7);
  expect_time(deadline_of_machine({kToday, 7}, -kYear), kToday + 365 * 86'400, 7);
  // Of a clock that began with the machine, and zero, which stops a timer.
  expect_time(deadline_of_machine({900'000'000, 7}, kYear), 900'000'000, 7);
  expect_time(deadline_of_machine({0, 0}, kYear), 0, 0);
  // It is over, and that is no reason to stop a timer or to refuse it.
  expect_time(deadline_of_machine({1'000'000'000, 0}, 100 * kYear), 0, 1);
}

TEST(ShownClock, ACallGetsTheDeadlineOfTheMachine) {
  const timespec until{kToday, 0};
  EXPECT_EQ(RealDeadline(&until).get(), &until) << "without a replay the caller's own";
  const Shown shown(kYear);
  expect_time(*RealDeadline(&until).get(), kToday - 365 * 86'400, 0);
  EXPECT_EQ(RealDeadline(&until, CLOCK_MONOTONIC).get(), &until);
  EXPECT_EQ(RealDeadline(nullptr).get(), nullptr);
  const itimerspec timer{{60, 0}, {kToday, 0}};
  const RealTimerDeadline absolute(&timer, true);
  expect_time(absolute.get()->it_value, kToday - 365 * 86'400, 0);
  expect_time(absolute.get()->it_interval, 60, 0);
  EXPECT_EQ(RealTimerDeadline(&timer, false).get(), &timer);
}

TEST(ShownClock, OtherClocksTellNoTimeOfDay) {
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_REALTIME_COARSE, CLOCK_REALTIME_ALARM})
    EXPECT_TRUE(tells_time_of_day(clock)) << clock;
  for (const clockid_t clock :
       {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,
        CLOCK_BOOTTIME_ALARM, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_TAI})
    EXPECT_FALSE(tells_time_of_day(clock)) << clock;
}

}  // namespace
}  // namespace filibuster::preload
