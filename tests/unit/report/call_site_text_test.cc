#include "daemon/report/call_site_text.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

TEST(CallSiteText, LeavesTemplateArgumentsAndParametersOfNativeFunctionsOut) {
  EXPECT_EQ(call_site_text("bank.cc:17 (once(char const*, std::__cxx11::basic_string<char, "
                           "std::char_traits<char>, std::allocator<char> > const&, long))"),
            "bank.cc:17 (once)");
  EXPECT_EQ(call_site_text("a.cc:1 (shop::Client<std::map<int, int> >::get(int) const)"),
            "a.cc:1 (shop::Client::get)");
  EXPECT_EQ(call_site_text("a.cc:1 ((anonymous namespace)::ask(int))"),
            "a.cc:1 ((anonymous namespace)::ask)");
  EXPECT_EQ(call_site_text("shop.go:9 (main.(*Shop).order)"), "shop.go:9 (main.(*Shop).order)");
  EXPECT_EQ(call_site_text("shop.go:9 (main.(*Shop).order.func1)"),
            "shop.go:9 (main.(*Shop).order.func1)");
  EXPECT_EQ(call_site_text("a.cc:1 (Log::operator<<(char const*))"), "a.cc:1 (Log::operator<<)");
  EXPECT_EQ(call_site_text("a.cc:1 (Call::operator()(int) const)"), "a.cc:1 (Call::operator())");
}

TEST(CallSiteText, LeavesNamesOfOtherLanguagesAsTheyAre) {
  for (const char* frame :
       {"Bank.java:19 (shop.Bank.<init>)", "desk.py:3 (<module>)", "desk.py:31 (add)", "bank.js:4",
        "a.cc:1 (main)", "", "a.cc:1 (odd>(int))"})
    EXPECT_EQ(call_site_text(frame), frame);
}

TEST(CallSiteText, LeavesThemOutOfEachFrameOfACallSiteWithItsCaller) {
  EXPECT_EQ(call_site_text("a.cc:9 (add(int)) via a.cc:1 (set_(std::vector<int> const&))"),
            "a.cc:9 (add) via a.cc:1 (set_)");
  EXPECT_EQ(call_site_text("a.py:9 (add) via a.py:5 (put) via a.py:1 (_set)"),
            "a.py:9 (add) via a.py:5 (put) via a.py:1 (_set)");
}

}  // namespace
}  // namespace filibuster
