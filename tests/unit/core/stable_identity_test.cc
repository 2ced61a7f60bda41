#include "core/index/stable_identity.h"

#include <gtest/gtest.h>

#include <vector>

namespace filibuster {
namespace {

using Stack = std::vector<std::string>;
constexpr const char* kCall = "users -> bookings GET /bookings/1";

TEST(StableIdentity, AFrameKeepsItsFileAndItsFunction) {
  EXPECT_EQ(frame_without_line("/srv/shop/users.py:31 (get_bookings)"), "users.py get_bookings");
  EXPECT_EQ(frame_without_line("users.py:31 (get_bookings)"), "users.py get_bookings");
  EXPECT_EQ(frame_without_line("src/shop.cc:7 (shop::ask(int)::{lambda()#1}::operator()() const)"),
            "shop.cc shop::ask(int)::{lambda()#1}::operator()() const");
  EXPECT_EQ(frame_without_line("/usr/lib/libshop.so+0x1234 (ask)"), "libshop.so ask");
  EXPECT_EQ(frame_without_line("libshop.so+0x1234"), "libshop.so");
  EXPECT_EQ(frame_without_line("C:x.py:31 (f)"), "C:x.py f");
  EXPECT_EQ(frame_without_line("users.py:"), "users.py:");
  EXPECT_EQ(frame_without_line(""), "");
}

TEST(StableIdentity, ItIsTheSameWhereOnlyLinesAndFoldersDiffer) {
  const Stack here{"/srv/shop/users.py:31 (get_bookings)", "/srv/shop/users.py:80 (main)"};
  const Stack there{"/home/me/shop/users.py:35 (get_bookings)", "/home/me/shop/users.py:99 (main)"};
  EXPECT_EQ(stable_kind({}, kCall, here), stable_kind({}, kCall, there));
}

TEST(StableIdentity, EveryPartTellsApart) {
  const Stack stack{"users.py:31 (get_bookings)"};
  const Hash128 kind = stable_kind({}, kCall, stack);
  EXPECT_NE(kind, stable_kind({0, 1}, kCall, stack)) << "caused by another";
  EXPECT_NE(kind, stable_kind({}, "users -> bookings GET /bookings/2", stack));
  EXPECT_NE(kind, stable_kind({}, kCall, Stack{"users.py:31 (get_others)"}));
  EXPECT_NE(kind, stable_kind({}, kCall, Stack{"other.py:31 (get_bookings)"}));
  EXPECT_NE(kind, stable_kind({}, kCall, Stack{}));
  EXPECT_NE(stable_identity(kind, 1), stable_identity(kind, 2));
}

}  // namespace
}  // namespace filibuster
