#include "daemon/proxy/go_calls.h"

#include <gtest/gtest.h>

namespace filibuster::proxy {
namespace {

const GoRequest kGet{"GET", "movies", "/movies/1"};

TEST(GoCalls, AnAnswerBelongsToTheConnectionThatCarriesTheRequest) {
  GoCalls calls;
  calls.begin(7, 100, kGet);
  ASSERT_NE(calls.find_unsent(100), nullptr);
  EXPECT_EQ(*calls.find_unsent(100), kGet);
  EXPECT_FALSE(calls.sent(100, 3));
  const auto answer = calls.answered(100, 503);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->call, 100u);
  EXPECT_EQ(answer->pair, 3u);
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(calls.size(), 0u);
}

TEST(GoCalls, ARequestBeginsWithItsFirstBytesOnly) {
  GoCalls calls;
  calls.begin(7, 100, kGet);
  calls.sent(100, 3);
  EXPECT_EQ(calls.find_unsent(100), nullptr);
  EXPECT_NE(calls.find(100), nullptr);
}

TEST(GoCalls, ACallerThatGivesUpBeforeAByteWasForwardedIsAnsweredThen) {
  GoCalls calls;
  calls.begin(7, 100, kGet);
  EXPECT_FALSE(calls.answered(100, 0));
  const auto answer = calls.sent(100, 3);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->pair, 3u);
  EXPECT_EQ(answer->status, 0);
  EXPECT_EQ(calls.size(), 0u);
}

TEST(GoCalls, WhatIsNotKnownHasNoAnswer) {
  GoCalls calls;
  EXPECT_FALSE(calls.answered(100, 200));
  EXPECT_FALSE(calls.sent(100, 3));
  EXPECT_EQ(calls.find(100), nullptr);
}

TEST(GoCalls, ThoseOfAProcessEndWithIt) {
  GoCalls calls;
  calls.begin(7, 100, kGet);
  calls.begin(8, 101, kGet);
  calls.exited(7);
  EXPECT_EQ(calls.find(100), nullptr);
  EXPECT_NE(calls.find(101), nullptr);
}

TEST(GoCalls, ThoseOfAConnectionEndWithIt) {
  GoCalls calls;
  calls.begin(7, 100, kGet);
  calls.begin(7, 101, kGet);
  calls.sent(100, 3);
  calls.sent(101, 4);
  calls.closed(3);
  EXPECT_FALSE(calls.answered(100, 200));
  EXPECT_TRUE(calls.answered(101, 200));
}

TEST(GoCalls, OfManyThoseMakeRoomThatWereAnnouncedLongAgoAndNeverSent) {
  GoCalls calls;
  calls.begin(7, 1, kGet);
  calls.sent(1, 3);
  for (uint64_t call = 2; call <= GoCalls::kMost + 1; ++call) calls.begin(7, call, kGet);
  EXPECT_LE(calls.size(), GoCalls::kMost);
  EXPECT_NE(calls.find(1), nullptr) << "it is open";
  EXPECT_EQ(calls.find(2), nullptr);
  EXPECT_NE(calls.find(GoCalls::kMost), nullptr);
  EXPECT_NE(calls.find(GoCalls::kMost + 1), nullptr);
}

TEST(GoCalls, ThereAreNeverMoreThanTheMost) {
  GoCalls calls;
  for (uint64_t call = 1; call <= GoCalls::kMost + 10; ++call) {
    calls.begin(7, call, kGet);
    calls.sent(call, 3);
  }
  EXPECT_EQ(calls.size(), GoCalls::kMost);
}

}  // namespace
}  // namespace filibuster::proxy
