#include "core/text/escapes.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

TEST(Escapes, OfTerminalsAreTakenOut) {
  EXPECT_EQ(without_escapes("\x1b[2mexpect(\x1b[22m\x1b[1;31mtotal\x1b[0m)"), "expect(total)");
  EXPECT_EQ(without_escapes("a\x1b[K\x1b[1Gb"), "ab");
  EXPECT_EQ(without_escapes("#x1B[31mE   assert 1 == 2#x1B[0m"), "E   assert 1 == 2");
}

TEST(Escapes, WhatIsNoSequenceStays) {
  for (const char* const text : {"", "a[0] = 3m", "\x1b[", "\x1b[12", "\x1b[1\n", "#x1B", "\x1bM"})
    EXPECT_EQ(without_escapes(text), text);
}

}  // namespace
}  // namespace filibuster
