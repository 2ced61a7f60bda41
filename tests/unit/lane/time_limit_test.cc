#include "daemon/lane/time_limit.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr TimeLimit kLimit{seconds(10), seconds(120)};

// Calls of no length at these times, in seconds.
ExecutionRecord calls(std::initializer_list<uint64_t> times) {
  ExecutionRecord out;
  for (const uint64_t at : times) {
    RpcRecord& rpc = out.rpcs.emplace_back();
    rpc.issued_ns = rpc.finished_ns = at * kSecond;
  }
  return out;
}

TEST(TimeLimit, IsOverWhereNoCallCame) {
  EXPECT_EQ(more_time(kLimit, seconds(10), calls({}), 10 * kSecond), milliseconds(0));
  EXPECT_EQ(more_time(kLimit, seconds(12), calls({1, 2}), 12 * kSecond), milliseconds(0));
}

TEST(TimeLimit, BeginsAnewWithEachCall) {
  EXPECT_EQ(more_time(kLimit, seconds(10), calls({1, 9}), 10 * kSecond), seconds(3 * 8 - 1));
  EXPECT_EQ(more_time(kLimit, seconds(10), calls({7, 8, 9}), 10 * kSecond), seconds(9));
}

TEST(TimeLimit, IsThreeTimesTheLongestPauseOfABackoff) {
  EXPECT_EQ(more_time(kLimit, seconds(20), calls({1, 3, 7, 15}), 25 * kSecond), seconds(14));
  EXPECT_EQ(more_time(kLimit, seconds(40), calls({1, 3, 7, 15}), 39 * kSecond), milliseconds(0));
}

TEST(TimeLimit, EndsWhereATestWouldTakeTooLongAltogether) {
  EXPECT_EQ(more_time(kLimit, seconds(119), calls({100, 119}), 119 * kSecond), seconds(1));
  EXPECT_EQ(more_time(kLimit, seconds(120), calls({100, 119}), 120 * kSecond), milliseconds(0));
  EXPECT_EQ(more_time({seconds(10)}, seconds(10), calls({9}), 10 * kSecond), milliseconds(0))
      << "where a test may not take longer";
}

TEST(TimeLimit, AnOpenCallHasBegunAndNotEnded) {
  ExecutionRecord record = calls({1, 5});
  record.rpcs.back().open = true;
  record.rpcs.back().finished_ns = 0;
  EXPECT_EQ(more_time(kLimit, seconds(10), record, 10 * kSecond), seconds(7));
}

}  // namespace
}  // namespace filibuster
