#include "core/text/size.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

TEST(Size, HasUnitsOfPowersOf1024) {
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("500K"), 512'000u);
  EXPECT_EQ(parse_size("64M"), 67'108'864u);
  EXPECT_EQ(parse_size("1g"), 1'073'741'824u);
}

TEST(Size, IsNoneWhereItIsNotWholeOrTooLarge) {
  for (const char* text : {"", "0", "0M", "M", "-1", "1.5M", "64MB", " 1", "1 M", "1T",
                           "18446744073709551616", "17179869184G"})
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  EXPECT_EQ(parse_size("17179869183G"), 18'446'744'072'635'809'792u);
}

}  // namespace
}  // namespace filibuster
