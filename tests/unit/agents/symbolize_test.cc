#include "daemon/agents/symbolize.h"

#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <charconv>
#include <climits>

namespace filibuster::test {

__attribute__((noinline)) int a_function_to_be_found(int x) { return x * 3 + 1; }

namespace {

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return {path, static_cast<size_t>(size)};
}

// As the preload counts: from the load address of the object.
std::string own_offset(const void* address) {
  ElfW(Addr) base = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<ElfW(Addr)*>(out) = info->dlpi_addr;
        return 1;  // the first object is the program
      },
      &base);
  char text[16];
  const auto end = std::to_chars(text, text + 16, reinterpret_cast<uint64_t>(address) - base, 16).ptr;
  return {text, end};
}

const void* inside_function() {
  return reinterpret_cast<const char*>(&a_function_to_be_found) + 2;
}

TEST(Symbolize, FramesOfARuntimeAreReformatted) {
  Symbolizer symbolizer;
  EXPECT_EQ(symbolizer.line("F users.py:31 get_bookings"), "users.py:31 (get_bookings)");
  EXPECT_EQ(symbolizer.line("F /a b/users.py:31 <lambda>"), "/a b/users.py:31 (<lambda>)");
  EXPECT_EQ(symbolizer.line("F a.cc:7 Foo::bar()"), "a.cc:7 (Foo::bar())");
  EXPECT_EQ(symbolizer.line("F strange"), "strange");
}

TEST(Symbolize, ANativeFrameGetsFileLineAndFunction) {
  Symbolizer symbolizer;
  const std::string line =
      symbolizer.line("N +" + own_offset(inside_function()) + " " + own_path());
  EXPECT_NE(line.find("symbolize_test.cc:"), std::string::npos) << line;
  EXPECT_NE(line.find("(filibuster::test::a_function_to_be_found(int))"), std::string::npos) << line;
}

TEST(Symbolize, AFileThatIsNotTheOneThatRanIsNotGuessed) {
  Symbolizer symbolizer;
  const std::string line = symbolizer.line("N 0123456789abcdef0123456789abcdef01234567+" +
                                           own_offset(inside_function()) + " " + own_path());
  EXPECT_EQ(line.find("a_function_to_be_found"), std::string::npos) << line;
  EXPECT_NE(line.find("+0x"), std::string::npos) << line;
}

TEST(Symbolize, WhatCannotBeReadStaysRecognisable) {
  Symbolizer symbolizer;
  EXPECT_EQ(symbolizer.line("N ab12+1f4 /nowhere/libx.so"), "libx.so+0x1f4");
  EXPECT_EQ(symbolizer.line("N ab12+1f4 /dev/zero"), "zero+0x1f4");
  EXPECT_EQ(symbolizer.line("N ab12+zz /nowhere/libx.so"), "ab12+zz /nowhere/libx.so");
  EXPECT_EQ(symbolizer.line("N "), "");
  EXPECT_EQ(symbolizer.line("anything"), "anything");
  EXPECT_EQ(symbolizer.line(""), "");
}

}  // namespace
}  // namespace filibuster::test
