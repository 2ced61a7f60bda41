#include "preload/os/pool.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace filibuster::preload {
namespace {

struct Thing {
  std::atomic<int> owner{0};
  char bytes[100];
};

TEST(Pool, GivesDistinctObjectsUntilItIsFullAndThenThoseThatCameBack) {
  static Pool<Thing, 4, 2> pool;
  std::vector<Thing*> taken;
  while (Thing* thing = pool.take()) taken.push_back(thing);
  EXPECT_EQ(taken.size(), 8u);
  EXPECT_EQ(std::set<Thing*>(taken.begin(), taken.end()).size(), 8u);
  pool.give(taken[3]);
  EXPECT_EQ(pool.take(), taken[3]);
  EXPECT_EQ(pool.take(), nullptr);
}

TEST(Pool, NeverGivesOneObjectToTwoThreads) {
  static Pool<Thing, 4, 8> pool;
  std::atomic<bool> shared{false};
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([t, &shared] {
      for (int i = 0; i < 20000; ++i) {
        Thing* a = pool.take();
        Thing* b = pool.take();
        for (Thing* thing : {a, b}) {
          if (thing != nullptr && thing->owner.exchange(t) != 0) shared = true;
        }
        for (Thing* thing : {a, b}) {
          if (thing == nullptr) continue;
          thing->owner = 0;
          pool.give(thing);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(shared);
}

}  // namespace
}  // namespace filibuster::preload
