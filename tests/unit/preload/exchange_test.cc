#include "preload/protocols/http1/exchange.h"

#include <gtest/gtest.h>

namespace filibuster::preload {
namespace {

TEST(ExchangeQueue, AnswersComeInTheOrderOfTheRequestsAndEachIsAnnouncedOnce) {
  ExchangeQueue queue;
  Exchange exchanges[3];
  for (Exchange& x : exchanges) ASSERT_TRUE(queue.push(&x));
  EXPECT_EQ(queue.next_unannounced(), &exchanges[0]);
  EXPECT_EQ(queue.next_unannounced(), &exchanges[1]);
  EXPECT_EQ(queue.pop(), &exchanges[0]);
  EXPECT_EQ(queue.next_unannounced(), &exchanges[2]);
  EXPECT_EQ(queue.next_unannounced(), nullptr);
  EXPECT_EQ(queue.pop(), &exchanges[1]);
  EXPECT_EQ(queue.pop(), &exchanges[2]);
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST(ExchangeQueue, OneThatLeftBeforeItWasAnnouncedIsNeverAnnounced) {
  ExchangeQueue queue;
  Exchange first, second;
  queue.push(&first);
  EXPECT_EQ(queue.pop(), &first);
  queue.push(&second);
  EXPECT_EQ(queue.next_unannounced(), &second);
  EXPECT_EQ(queue.next_unannounced(), nullptr);
}

TEST(ExchangeQueue, HoldsNoMoreThanItsBound) {
  ExchangeQueue queue;
  Exchange exchanges[kMaxOpenExchanges + 1];
  for (size_t i = 0; i < kMaxOpenExchanges; ++i) EXPECT_TRUE(queue.push(&exchanges[i]));
  EXPECT_FALSE(queue.push(&exchanges[kMaxOpenExchanges]));
  EXPECT_EQ(queue.size(), kMaxOpenExchanges);
  queue.pop();
  EXPECT_TRUE(queue.push(&exchanges[kMaxOpenExchanges]));
}

}  // namespace
}  // namespace filibuster::preload
