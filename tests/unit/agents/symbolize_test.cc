#include "daemon/agents/symbolize.h"

#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>

namespace filibuster::test {

__attribute__((noinline)) int a_function_to_be_found(int x) {
  return x * 3 + 1;
}

// Asks for the address that its caller will go on at.
__attribute__((noinline)) const void* return_address() {
  return __builtin_return_address(0);
}

__attribute__((always_inline)) inline const void* inlined_caller() {
  const void* address = return_address();
  asm volatile("" : : "r"(address));  // not a tail call
  return address;
}

__attribute__((noinline)) const void* calls_what_is_inlined() {
  const void* address = inlined_caller();
  asm volatile("" : : "r"(address));
  return address;
}

// std::for_each of a system header calls back.
__attribute__((noinline)) const void* calls_through_a_header() {
  const void* address = nullptr;
  const int once[] = {1};
  std::for_each(once, once + 1, [&](int) { address = return_address(); });
  return address;
}

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
  const auto end =
      std::to_chars(text, text + 16, reinterpret_cast<uint64_t>(address) - base, 16).ptr;
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
  EXPECT_NE(line.find("(filibuster::test::a_function_to_be_found(int))"), std::string::npos)
      << line;
}

// With -g1 clang leaves out the namespaces of what is inlined.
#ifdef __clang__
constexpr const char* kInlinedCaller = "inlined_caller";
#else
constexpr const char* kInlinedCaller = "(filibuster::test::inlined_caller())";
#endif

TEST(Symbolize, AnInlinedFunctionIsNamedWithItsOwnPlace) {
  Symbolizer symbolizer;
  const std::string line =
      symbolizer.line("N +" + own_offset(calls_what_is_inlined()) + " " + own_path());
  EXPECT_NE(line.find("symbolize_test.cc:"), std::string::npos) << line;
  EXPECT_NE(line.find(kInlinedCaller), std::string::npos) << line;
}

TEST(Symbolize, FramesOfHeadersAndGeneratedStubsAreNotTheCallSite) {
  Symbolizer symbolizer;
  std::vector<std::string> frames = {"F /usr/include/grpcpp/impl/call.h:971 grpc::Call::perform()",
                                     "F build/shop.grpc.pb.cc:12 shop::Cart::Stub::Notify()",
                                     "F order.cc:40 Order::notify()",
                                     "F /usr/include/c++/12/thread:10 std::thread::run()"};
  symbolizer.lines(&frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0], "order.cc:40 (Order::notify())");
  // Where there is nothing else, they stay.
  frames = {"F /usr/include/grpcpp/impl/call.h:971 grpc::Call::perform()"};
  symbolizer.lines(&frames);
  EXPECT_EQ(frames.size(), 1u);
  const std::string line =
      symbolizer.line("N +" + own_offset(calls_through_a_header()) + " " + own_path());
  EXPECT_NE(line.find("symbolize_test.cc:"), std::string::npos) << line;
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
