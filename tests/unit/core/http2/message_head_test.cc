#include "core/http2/message_head.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace filibuster::http2 {
namespace {

Hash128 words(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  HeadCollector collector;
  collector.clear();
  for (const auto& [name, value] : fields) collector.on_field({name, value});
  return collector.head().grpc_words;
}

// Failures are compared by it: whatever a client may read of a status is in it.
TEST(MessageHead, TheWordsOfAGrpcStatusAreItsMessageAndItsDetails) {
  EXPECT_TRUE(words({{"grpc-status", "14"}}).is_zero());
  EXPECT_TRUE(words({{"grpc-status", "14"}, {"grpc-message", ""}}).is_zero());
  const Hash128 told = words({{"grpc-status", "14"}, {"grpc-message", "no stock"}});
  EXPECT_FALSE(told.is_zero());
  EXPECT_EQ(words({{"grpc-status", "13"}, {"grpc-message", "no stock"}}), told);
  EXPECT_NE(words({{"grpc-message", "no stock left"}}), told);
  EXPECT_NE(words({{"grpc-message", "no stock"}, {"grpc-status-details-bin", "CA4"}}), told);
  EXPECT_NE(words({{"grpc-status-details-bin", "no stock"}}), told);
  // Beyond what is kept of the text.
  const std::string text(2000, 'x');
  EXPECT_NE(words({{"grpc-message", text + "a"}}), words({{"grpc-message", text + "b"}}));
}

}  // namespace
}  // namespace filibuster::http2
