#include "core/hash.h"

#include <gtest/gtest.h>

#include <unordered_set>
#include <vector>

namespace filibuster {
namespace {

TEST(Hash, OfNothingIsThePublishedValueOfXxh3) {
  EXPECT_EQ(to_hex(hash_bytes("", 0)), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_text(""), hash_bytes(nullptr, 0));
}

TEST(Hash, DiffersForDifferentBytes) {
  EXPECT_NE(hash_text("a"), hash_text("b"));
  EXPECT_NE(hash_text("a"), hash_text(std::string_view("a\0", 2)));
  EXPECT_FALSE(hash_text("a").is_zero());
  EXPECT_TRUE(Hash128{}.is_zero());
  EXPECT_FALSE((Hash128{0, 1}).is_zero());
  EXPECT_FALSE((Hash128{1, 0}).is_zero());
}

TEST(Hash, CombinationDependsOnTheOrderAndOnEveryPart) {
  const Hash128 a = hash_text("a");
  const Hash128 b = hash_text("b");
  EXPECT_NE(combine(a, b), combine(b, a));
  EXPECT_NE(combine(a, b), combine(a, a));
  EXPECT_NE(combine(a, uint64_t{1}), combine(a, uint64_t{2}));
  EXPECT_NE(combine(a, uint64_t{1}), combine(b, uint64_t{1}));
  EXPECT_NE(combine(a, uint64_t{7}), combine(a, Hash128{0, 7}));
  EXPECT_EQ(combine(a, b), combine(a, b));
}

TEST(Hash, CombinationIsTheHashOfTheBigEndianBytesOnEveryMachine) {
  const Hash128 a{0x0001020304050607, 0x08090a0b0c0d0e0f};
  const Hash128 b{0x1011121314151617, 0x18191a1b1c1d1e1f};
  unsigned char bytes[32];
  for (unsigned char i = 0; i < 32; ++i) bytes[i] = i;
  EXPECT_EQ(combine(a, b), hash_bytes(bytes, 32));
  EXPECT_EQ(combine(a, b.hi), hash_bytes(bytes, 24));
}

TEST(Hash, HexadecimalFormRoundTrips) {
  const Hash128 hash{0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(to_hex(hash), "0123456789abcdeffedcba9876543210");
  Hash128 back;
  ASSERT_TRUE(from_hex("0123456789abcdeffedcba9876543210", &back));
  EXPECT_EQ(back, hash);
  ASSERT_TRUE(from_hex("0123456789ABCDEFFEDCBA9876543210", &back));
  EXPECT_EQ(back, hash);
}

TEST(Hash, DamagedHexadecimalIsRefusedAndLeavesTheResultAlone) {
  const Hash128 before{1, 2};
  Hash128 out = before;
  EXPECT_FALSE(from_hex("", &out));
  EXPECT_FALSE(from_hex("0123456789abcdeffedcba987654321", &out));
  EXPECT_FALSE(from_hex("0123456789abcdeffedcba98765432100", &out));
  for (char bad : {'g', 'G', '/', ':', '@', '`', ' ', '-'}) {
    for (size_t at : {0u, 15u, 16u, 31u}) {
      std::string text = "0123456789abcdeffedcba9876543210";
      text[at] = bad;
      EXPECT_FALSE(from_hex(text, &out)) << text;
    }
  }
  EXPECT_EQ(out, before);
}

TEST(HashStream, EqualsTheHashOfTheWholeForEverySplit) {
  std::string bytes;
  for (int i = 0; i < 3000; ++i) bytes += static_cast<char>(i * 131 + i / 7);
  for (size_t size : {0u, 1u, 16u, 17u, 128u, 129u, 240u, 241u, 256u, 1024u, 1025u, 3000u}) {
    const std::string_view text = std::string_view(bytes).substr(0, size);
    for (size_t step : {1u, 3u, 63u, 64u, 255u, 256u, 257u, 3000u}) {
      HashStream stream;
      stream.reset();
      for (size_t at = 0; at < text.size(); at += step) stream.update(text.substr(at, step));
      stream.update(nullptr, 0);
      EXPECT_EQ(stream.digest(), hash_text(text)) << size << " bytes by " << step;
    }
  }
}

TEST(HashStream, WorksAtEveryAlignedAddress) {
  std::vector<unsigned char> room(sizeof(HashStream) + 64);
  for (size_t shift = 0; shift < 64; shift += alignof(HashStream)) {
    HashStream* stream = new (room.data() + shift) HashStream;
    stream->reset();
    stream->update("hello ");
    stream->update("world");
    EXPECT_EQ(stream->digest(), hash_text("hello world"));
    stream->reset();
    EXPECT_EQ(stream->digest(), hash_text(""));
  }
}

TEST(Hash128Hasher, SpreadsValuesThatDifferInOneHalf) {
  std::unordered_set<size_t> seen;
  for (uint64_t i = 0; i < 1000; ++i) {
    seen.insert(Hash128Hasher()(Hash128{i, 0}));
    seen.insert(Hash128Hasher()(Hash128{~uint64_t{0}, i}));
  }
  EXPECT_EQ(seen.size(), 2000u);
}

}  // namespace
}  // namespace filibuster
