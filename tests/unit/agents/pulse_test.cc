#include "daemon/agents/pulse.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

constexpr uint64_t kTick = PatientClock::kTickNs;

// Ticks that come when they are due.
uint64_t run(PatientClock* clock, uint64_t from, unsigned ticks, unsigned runnable) {
  for (unsigned i = 0; i < ticks; ++i) clock->tick(from += kTick, runnable);
  return from;
}

TEST(PatientClock, IsTheWallsOnAQuietMachine) {
  PatientClock clock(1000, 2);
  run(&clock, 1000, 50, 2);
  EXPECT_EQ(clock.now_ns(), 50 * kTick);
  EXPECT_EQ(clock.slowdown(), 1);
}

TEST(PatientClock, SlowsDownWithWhatWaitsForAProcessor) {
  PatientClock clock(0, 2);
  const uint64_t busy = run(&clock, 0, 60, 12);
  EXPECT_NEAR(static_cast<double>(clock.now_ns()), 10.0 * kTick, 60);
  EXPECT_NEAR(clock.slowdown(), 6, 0.1);
  run(&clock, busy, 60, 0);
  EXPECT_NEAR(static_cast<double>(clock.now_ns()), 70.0 * kTick, 60);
  EXPECT_NEAR(clock.slowdown(), 1, 0.1);
}

TEST(PatientClock, CountsATickThatComesLateOnce) {
  PatientClock clock(0, 2);
  clock.tick(30 * kTick, 1);
  EXPECT_EQ(clock.now_ns(), kTick);
  EXPECT_GT(clock.slowdown(), 1);
}

TEST(PatientClock, GoesOnHoweverMuchThereIsToDo) {
  PatientClock clock(0, 1);
  run(&clock, 0, 160, 1'000'000);
  EXPECT_NEAR(static_cast<double>(clock.now_ns()), 10.0 * kTick, 160);
  EXPECT_LE(clock.slowdown(), PatientClock::kSlowest);
}

}  // namespace
}  // namespace filibuster
