#include "core/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace filibuster {
namespace {

TEST(Result, HoldsAValueOrAnError) {
  Result<std::string> good(std::string("value"));
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(good.value(), "value");
  EXPECT_EQ(good->size(), 5u);
  const Result<std::string>& same = good;
  EXPECT_EQ(same.value(), "value");
  const Result<std::string> bad(Error{"why"});
  EXPECT_FALSE(bad.ok());
  EXPECT_FALSE(static_cast<bool>(bad));
  EXPECT_EQ(bad.error().message, "why");
}

TEST(Result, GivesUpItsValueWhenMovedFrom) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, OfNothingIsSuccessOrAnError) {
  const Result<void> good;
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  const Result<void> bad(Error{"why"});
  EXPECT_FALSE(bad.ok());
  EXPECT_FALSE(static_cast<bool>(bad));
  EXPECT_EQ(bad.error().message, "why");
}

}  // namespace
}  // namespace filibuster
