#include "core/text/duration.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

std::optional<uint64_t> milliseconds(std::string_view text) {
  const auto time = parse_duration(text);
  return time ? std::optional(time->milliseconds) : std::nullopt;
}

TEST(DurationText, HasTheUnitsOfTheConfiguration) {
  EXPECT_EQ(milliseconds("300ms"), 300u);
  EXPECT_EQ(milliseconds("0s"), 0u);
  EXPECT_EQ(milliseconds("2s"), 2000u);
  EXPECT_EQ(milliseconds("1.5s"), 1500u);
  EXPECT_EQ(milliseconds("0.25s"), 250u);
  EXPECT_EQ(milliseconds("0.0001s"), 0u);
  EXPECT_EQ(milliseconds("2m"), 120'000u);
  EXPECT_EQ(milliseconds("1h"), 3'600'000u);
  EXPECT_EQ(milliseconds("30"), 30'000u);
  EXPECT_TRUE(parse_duration("1h")->has_unit);
  EXPECT_FALSE(parse_duration("30")->has_unit);
}

TEST(DurationText, IsNothingElse) {
  for (const char* const text :
       {"", "s", "ms", ".5s", "1.s", "1..5s", "1.5.5s", "-1s", "+1s", "1 s", " 1s", "1s ", "1S",
        "1d", "1e3s", "1000000000000000h", "s1"})
    EXPECT_EQ(milliseconds(text), std::nullopt) << text;
}

}  // namespace
}  // namespace filibuster
