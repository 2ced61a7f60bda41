#include "preload/runtimes/native/detour.h"

#include <gtest/gtest.h>

#include <string>

#ifdef __x86_64__
// Functions as compilers begin them: with a frame, and with a question whose answer is near.
asm(R"(
.text
.p2align 4
filibuster_test_sum:
  push %rbp
  mov %rsp, %rbp
  sub $0x48, %rsp
  lea (%rdi,%rsi), %eax
  leave
  ret
.p2align 4
filibuster_test_sign:
  xor %eax, %eax
  test %edi, %edi
  jle 1f
  mov $1, %eax
  ret
1:
  mov $-1, %eax
  ret
)");
extern "C" int filibuster_test_sum(int, int) __attribute__((visibility("hidden")));
extern "C" int filibuster_test_sign(int) __attribute__((visibility("hidden")));

namespace filibuster::preload {
namespace {

std::string moved(std::string_view code) {
  const std::string padded = std::string(code) + std::string(16, '\x90');
  const auto* bytes = reinterpret_cast<const uint8_t*>(padded.data());
  MovedCode out;
  if (!move_instructions(bytes, bytes, &out)) return "no";
  return std::string(reinterpret_cast<const char*>(out.bytes), out.size);
}

TEST(Detour, InstructionsThatMeanTheSameElsewhereAreMoved) {
  const std::string frame("\x55\x48\x89\xe5\x41\x56", 6);
  EXPECT_EQ(moved(frame + "\x41\x55"), frame);
  const std::string marked("\xf3\x0f\x1e\xfa\x55", 5);  // endbr64
  EXPECT_EQ(moved(marked), marked);
  const std::string stack("\x48\x83\xec\x48\x48\x85\xff", 7);
  EXPECT_EQ(moved(stack), stack);
}

TEST(Detour, WhatIsRelativeToItsPlaceIsLeft) {
  EXPECT_EQ(moved(std::string("\x48\x8b\x05\x10\x00\x00\x00", 7)), "no");  // mov 0x10(%rip), %rax
  EXPECT_EQ(moved(std::string("\xe8\x10\x00\x00\x00", 5)), "no");          // call
  EXPECT_EQ(moved(std::string("\x55\xc3", 2)), "no");                      // it ends too early
  EXPECT_EQ(moved(std::string("\x31\xc0\x7e\x00", 4)), "no");  // a jump into what is overwritten
}

int g_calls = 0;
void* g_sum = nullptr;
void* g_sign = nullptr;
int counted_sum(int a, int b) {
  ++g_calls;
  return reinterpret_cast<int (*)(int, int)>(g_sum)(a, b) + 100;
}
int counted_sign(int a) {
  ++g_calls;
  return reinterpret_cast<int (*)(int)>(g_sign)(a) * 2;
}

TEST(Detour, CallsReachUsAndTheOriginalIsStillThere) {
  g_calls = 0;
  EXPECT_EQ(filibuster_test_sum(2, 3), 5);
  ASSERT_TRUE(detour(reinterpret_cast<void*>(filibuster_test_sum),
                     reinterpret_cast<void*>(counted_sum), &g_sum));
  EXPECT_EQ(filibuster_test_sum(2, 3), 105);
  ASSERT_TRUE(detour(reinterpret_cast<void*>(filibuster_test_sign),
                     reinterpret_cast<void*>(counted_sign), &g_sign));
  EXPECT_EQ(filibuster_test_sign(7), 2);
  EXPECT_EQ(filibuster_test_sign(-7), -2);
  EXPECT_EQ(g_calls, 3);
}

}  // namespace
}  // namespace filibuster::preload
#endif
