#include <gtest/gtest.h>

#include <thread>

#include "preload/protocols/redis/commands.h"

namespace filibuster::preload {
namespace {

TEST(CommandQueue, RepliesComeInTheOrderOfTheCommands) {
  CommandQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.front(), nullptr);
  queue.pop();  // nothing
  Command* first = queue.push();
  Command* second = queue.push();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_TRUE(queue.is_next(first->number));
  EXPECT_FALSE(queue.is_next(second->number));
  EXPECT_EQ(queue.front(), first);
  queue.pop();
  EXPECT_TRUE(queue.is_next(second->number));
  EXPECT_EQ(queue.front(), second);
  EXPECT_FALSE(queue.empty());
  queue.pop();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.front(), nullptr);
}

TEST(CommandQueue, IsAsLongAsThePipeline) {
  constexpr uint64_t kMany = 10'000;
  CommandQueue queue;
  for (uint64_t i = 1; i <= kMany; ++i) {
    Command* command = queue.push();
    ASSERT_NE(command, nullptr);
    ASSERT_EQ(command->number, i);
  }
  for (uint64_t i = 1; i <= kMany; ++i) {
    ASSERT_EQ(queue.front()->number, i);
    queue.pop();
  }
  EXPECT_TRUE(queue.empty());
}

TEST(CommandQueue, ClearedItBeginsAnew) {
  CommandQueue queue;
  for (int i = 0; i < 3; ++i) queue.push();
  queue.pop();
  queue.clear();
  EXPECT_TRUE(queue.empty());
  Command* next = queue.push();
  ASSERT_NE(next, nullptr);
  EXPECT_TRUE(queue.is_next(next->number));
  EXPECT_EQ(queue.front(), next);
  queue.clear();
}

TEST(CommandQueue, OneThreadSendsAndAnotherReads) {
  constexpr uint64_t kMany = 200'000;
  CommandQueue queue;
  std::thread reader([&] {
    for (uint64_t i = 1; i <= kMany;) {
      const Command* command = queue.front();
      if (command == nullptr) continue;
      ASSERT_EQ(command->number, i++);
      queue.pop();
    }
  });
  for (uint64_t i = 1; i <= kMany;) {
    if (queue.push() != nullptr) ++i;  // the reader gives memory back
  }
  reader.join();
  EXPECT_TRUE(queue.empty());
  queue.clear();
}

}  // namespace
}  // namespace filibuster::preload
