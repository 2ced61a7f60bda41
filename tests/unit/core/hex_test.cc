#include "core/text/hex.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <string_view>

namespace filibuster {
namespace {

TEST(Hex, AGroupIsWhatPrintfWritesAndIsReadAgain) {
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto value = i == 0 ? 0u : i == 1 ? ~0u : static_cast<uint32_t>(random());
    char wanted[kHexGroup + 1], written[kHexGroup];
    std::snprintf(wanted, sizeof wanted, "%08x", value);
    put_hex_group(value, written);
    ASSERT_EQ(std::string_view(written, kHexGroup), wanted);
    uint32_t read = ~value;
    ASSERT_TRUE(read_hex_group(written, &read));
    ASSERT_EQ(read, value);
  }
}

TEST(Hex, EveryOtherByteIsRefusedWhereverItStands) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char* around : {"00000000", "ffffffff", "9a9a9a9a", "0f0f0f0f"}) {
    for (size_t at = 0; at < kHexGroup; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text = around;
        text[at] = static_cast<char>(byte);
        uint32_t read = 0;
        ASSERT_EQ(read_hex_group(text.data(), &read), kDigits.find(text[at]) != std::string::npos)
            << around << " with byte " << byte << " at " << at;
      }
    }
  }
}

}  // namespace
}  // namespace filibuster
