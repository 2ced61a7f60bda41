#include "preload/inject/registrations.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace filibuster::preload {
namespace {

TEST(Registrations, AChangeAndAReplacingExcludeEachOther) {
  // Not atomic: what both sides touch is guarded by the exclusion alone (a race for
  // -fsanitize=thread).
  constexpr int kRounds = 20'000;
  int changed = 0, replaced = 0;
  std::atomic<int> in_change{0}, overlaps{0}, frozen{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const RegistrationChange change;
        ++in_change;
        overlaps += frozen;
        --in_change;
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds / 100; ++i) {
        RegistrationFreeze freeze;
        ASSERT_TRUE(freeze.begin());
        frozen = 1;
        overlaps += in_change;
        replaced = ++changed;
        frozen = 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(replaced, 2 * (kRounds / 100));
}

TEST(Registrations, AFreezeThatEndedLetsTheNextOneIn) {
  RegistrationFreeze first;
  ASSERT_TRUE(first.begin());
  first.end();
  first.end();
  { const RegistrationChange change; }
  RegistrationFreeze second;
  EXPECT_TRUE(second.begin());
}

TEST(Registrations, AThreadThatNeverLeavesDoesNotStopAnybodyForEver) {
  {
    const RegistrationChange stuck;
    RegistrationFreeze freeze;
    EXPECT_FALSE(freeze.begin());
    const RegistrationChange other;  // is not kept waiting by the freeze that was given up
    EXPECT_FALSE(freeze.begin());
  }
  RegistrationFreeze freeze;
  EXPECT_TRUE(freeze.begin());
}

}  // namespace
}  // namespace filibuster::preload
