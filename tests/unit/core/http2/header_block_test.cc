#include "core/http2/header_block.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/core/http2/wire.h"

namespace filibuster::http2 {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct alignas(64) Memory {
  char bytes[kDecoderMemory];
};

class Decoder final : public FieldHandler {
 public:
  Decoder() : decoder(memory_->bytes, sizeof memory_->bytes) {}
  Decoder(size_t size) : decoder(memory_->bytes, size) {}
  void on_field(const Field& f) override {
    fields.emplace_back(f.name, f.value);
    if (f.never_indexed) secrets.emplace_back(f.name);
  }
  // One block in pieces.
  Error block(const Parts& pieces) {
    fields.clear();
    if (decoder.begin() != Error::kNone) return decoder.error();
    for (std::string_view piece : pieces) {
      const std::vector<char> copy(piece.begin(), piece.end());
      decoder.feed(copy.data(), copy.size(), this);
    }
    return decoder.end(this);
  }
  Error block(std::string_view bytes) { return block(Parts{bytes}); }

  std::unique_ptr<Memory> memory_{new Memory};
  HeaderDecoder decoder;
  Fields fields;
  std::vector<std::string> secrets;
};

std::string from_hex(std::string_view hex) {
  std::string bytes;
  std::string digits;
  for (char c : hex) {
    if (c != ' ') digits += c;
  }
  for (size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

struct Vector {
  const char* hex;
  Fields fields;
};

// RFC 7541 Appendix C.2 to C.6: each list is one connection, in order.
const Fields kFirst = {
    {":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "www.example.com"}};
const Fields kSecond = {{":method", "GET"},
                        {":scheme", "http"},
                        {":path", "/"},
                        {":authority", "www.example.com"},
                        {"cache-control", "no-cache"}};
const Fields kThird = {{":method", "GET"},
                       {":scheme", "https"},
                       {":path", "/index.html"},
                       {":authority", "www.example.com"},
                       {"custom-key", "custom-value"}};
const Fields kRedirect = {{":status", "302"},
                          {"cache-control", "private"},
                          {"date", "Mon, 21 Oct 2013 20:13:21 GMT"},
                          {"location", "https://www.example.com"}};
const Fields kRedirect307 = {{":status", "307"},
                             {"cache-control", "private"},
                             {"date", "Mon, 21 Oct 2013 20:13:21 GMT"},
                             {"location", "https://www.example.com"}};
const Fields kCookie = {{":status", "200"},
                        {"cache-control", "private"},
                        {"date", "Mon, 21 Oct 2013 20:13:22 GMT"},
                        {"location", "https://www.example.com"},
                        {"content-encoding", "gzip"},
                        {"set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"}};

const std::vector<std::pair<uint32_t, std::vector<Vector>>> kVectors = {
    {4096,
     {{"400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
       {{"custom-key", "custom-header"}}}}},
    {4096, {{"040c 2f73 616d 706c 652f 7061 7468", {{":path", "/sample/path"}}}}},
    {4096, {{"1008 7061 7373 776f 7264 0673 6563 7265 74", {{"password", "secret"}}}}},
    {4096, {{"82", {{":method", "GET"}}}}},
    {4096,
     {{"8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", kFirst},
      {"8286 84be 5808 6e6f 2d63 6163 6865", kSecond},
      {"8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", kThird}}},
    {4096,
     {{"8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", kFirst},
      {"8286 84be 5886 a8eb 1064 9cbf", kSecond},
      {"8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", kThird}}},
    {256,
     {{"4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a "
       "3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
       kRedirect},
      {"4803 3330 37c1 c0bf", kRedirect307},
      {"88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 "
       "677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 "
       "553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
       kCookie}}},
    {256,
     {{"4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e "
       "919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
       kRedirect},
      {"4883 640e ffc1 c0bf", kRedirect307},
      {"88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 "
       "821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed "
       "4ee5 b106 3d50 07",
       kCookie}}},
};

TEST(HeaderBlocks, AreDecodedAsTheVectorsOfRfc7541) {
  for (const auto& [table, blocks] : kVectors) {
    Decoder d;
    for (size_t i = 0; i < blocks.size(); ++i) {
      std::string bytes = from_hex(blocks[i].hex);
      if (i == 0 && table != 4096) {  // the examples' limit, which an encoder has to announce
        d.decoder.limit_table(table, table);
        bytes = from_hex("3fe101") + bytes;  // 256
      }
      ASSERT_EQ(d.block(bytes), Error::kNone);
      EXPECT_EQ(d.fields, blocks[i].fields);
      uint64_t size = 0;
      for (const auto& [name, value] : d.fields) size += name.size() + value.size() + 32;
      EXPECT_EQ(d.decoder.list_size(), size);
    }
  }
}

TEST(HeaderBlocks, AreDecodedTheSameInEverySplit) {
  for (const auto& [table, blocks] : kVectors) {
    if (table != 4096) continue;
    for_every_split(from_hex(blocks[0].hex), [&own = blocks](const Parts& pieces) {
      Decoder d;
      ASSERT_EQ(d.block(pieces), Error::kNone);
      ASSERT_EQ(d.fields, own[0].fields);
      for (size_t i = 1; i < own.size(); ++i) {
        ASSERT_EQ(d.block(from_hex(own[i].hex)), Error::kNone);
        ASSERT_EQ(d.fields, own[i].fields);
      }
    });
  }
}

std::string dump(const HeaderDecoder& decoder) {
  char bytes[16 * 1024];
  Output out(bytes, sizeof bytes);
  decoder.dump_table(out);
  EXPECT_TRUE(out.ok());
  return std::string(out.view());
}

TEST(HeaderBlocks, ADumpedTableGoesOnInAnotherDecoder) {
  for (const auto& [table, blocks] : kVectors) {
    for (size_t cut = 0; cut <= blocks.size(); ++cut) {
      Decoder first, second;
      for (size_t i = 0; i < blocks.size(); ++i) {
        if (i == cut) {
          second.decoder.limit_table(kUnlimited, kUnlimited);
          const std::string table_block = dump(first.decoder);
          EXPECT_EQ(table_block.empty(), cut == 0);
          if (cut != 0) {
            ASSERT_EQ(second.block(table_block), Error::kNone);
          }
          EXPECT_EQ(dump(second.decoder), table_block);
        }
        std::string bytes = from_hex(blocks[i].hex);
        if (i == 0 && table != 4096) {
          first.decoder.limit_table(table, table);
          bytes = from_hex("3fe101") + bytes;  // 256
        }
        ASSERT_EQ(first.block(bytes), Error::kNone);
        if (i < cut) continue;
        ASSERT_EQ(second.block(bytes), Error::kNone);
        EXPECT_EQ(second.fields, blocks[i].fields);
      }
      if (cut < blocks.size()) {
        EXPECT_EQ(dump(second.decoder), dump(first.decoder));
      }
    }
  }
}

TEST(HeaderBlocks, ATableThatDoesNotFitIsNotDumped) {
  Decoder d;
  ASSERT_EQ(d.block(from_hex(kVectors[0].second[0].hex)), Error::kNone);
  char bytes[8];
  Output out(bytes, sizeof bytes);
  d.decoder.dump_table(out);
  EXPECT_FALSE(out.ok());
}

TEST(HeaderBlocks, SayWhichFieldsAreNeverIndexed) {
  Decoder d;
  d.block(from_hex("1008 7061 7373 776f 7264 0673 6563 7265 74"));
  EXPECT_EQ(d.secrets, std::vector<std::string>{"password"});
}

TEST(HeaderBlocks, MalformedOnesAreErrorsForGood) {
  for (const char* hex : {"80",          // index 0
                          "be",          // nothing in the dynamic table
                          "400a6375",    // cut short
                          "ffffffffff",  // an integer without end
                          "3fe1ff03",    // a table larger than was allowed
                          "8220",        // a size update after a field
                          "0081ff"}) {   // Huffman padding of a whole byte
    Decoder d;
    EXPECT_EQ(d.block(from_hex(hex)), Error::kCompression) << hex;
    EXPECT_EQ(d.block(from_hex("82")), Error::kCompression);
    EXPECT_TRUE(d.fields.empty());
  }
}

TEST(HeaderBlocks, AnEmptyOneHasNoFields) {
  Decoder d;
  EXPECT_EQ(d.block(""), Error::kNone);
  EXPECT_EQ(d.block(Parts{"", ""}), Error::kNone);
  EXPECT_TRUE(d.fields.empty());
}

TEST(HeaderBlocks, ASmallerTableHasToBeSaid) {
  Decoder d;
  ASSERT_EQ(d.block(from_hex(kVectors[4].second[0].hex)), Error::kNone);
  d.decoder.limit_table(0, 0);
  d.decoder.limit_table(100, 4096);  // twice between two blocks: the smallest counts
  ASSERT_EQ(d.block(from_hex("203fe11f 82")), Error::kNone);
  EXPECT_EQ(d.block(from_hex("be")), Error::kCompression) << "the table was emptied";
  Decoder silent;
  silent.decoder.limit_table(100, 100);
  EXPECT_EQ(silent.block(from_hex("82")), Error::kCompression);
}

TEST(HeaderBlocks, ALargerTableIsAllowedAsSoonAsItWasAnnounced) {
  Decoder d;
  d.decoder.allow_table(8192);
  d.decoder.allow_table(4096);
  EXPECT_EQ(d.block(from_hex("3fe13f 82")), Error::kNone);
  d.decoder.limit_table(8192, 8192);
  EXPECT_EQ(d.block(from_hex("82")), Error::kNone);
}

TEST(HeaderBlocks, ABombIsBounded) {
  Decoder d;
  // One field of 4000 bytes enters the table, then one byte each repeats it.
  std::string bomb = from_hex("4001 61 7fa11e") + std::string(4000, 'x');
  bomb += std::string(60000, '\xbe');
  EXPECT_EQ(d.block(bomb), Error::kHeaderListTooLarge);
  EXPECT_LE(d.fields.size(), kMaxHeaderList / 4000 + 1);
}

TEST(HeaderBlocks, MoreMemoryThanGivenIsAnError) {
  Decoder d(20000);
  Output none(nullptr, 0);
  std::string field(20000, '\0');
  Output out(field.data(), field.size());
  write_indexed_literal("name", std::string(15000, 'v'), out);
  EXPECT_EQ(d.block(out.view()), Error::kHeaderMemory);
  EXPECT_TRUE(d.decoder.memory().refused());
}

// Law 2: what a connection of any length leaves behind is its table and nothing else.
TEST(HeaderBlocks, MemoryDoesNotGrowWithTheConnection) {
  nghttp2_hd_deflater* deflater = nullptr;
  ASSERT_EQ(nghttp2_hd_deflate_new(&deflater, 4096), 0);
  Decoder d;
  size_t after_a_while = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string value = "value-" + std::to_string(i * 7919 % 1000);
    value.resize(6 + i % 300, 'x');
    std::string name = "x-name-" + std::to_string(i % 37);
    auto bytes = [](std::string& s) { return reinterpret_cast<uint8_t*>(s.data()); };
    nghttp2_nv nv = {bytes(name), bytes(value), name.size(), value.size(), 0};
    uint8_t buffer[1024];
    const ssize_t size = nghttp2_hd_deflate_hd(deflater, buffer, sizeof buffer, &nv, 1);
    ASSERT_GT(size, 0);
    ASSERT_EQ(d.block({reinterpret_cast<char*>(buffer), static_cast<size_t>(size)}), Error::kNone);
    ASSERT_EQ(d.fields, (Fields{{name, value}}));
    if (i == 10000) after_a_while = d.decoder.memory().used();
  }
  EXPECT_LT(d.decoder.memory().used(), after_a_while * 3 / 2);
  EXPECT_LT(d.decoder.memory().used(), d.decoder.memory().capacity() / 4);
  nghttp2_hd_deflate_del(deflater);
}

TEST(HeaderBlocks, LiteralsAreWhatADecoderReads) {
  for (size_t size : {0, 1, 10, 126, 127, 128, 254, 255, 300, 16510, 16511, 20000}) {
    std::string bytes(50000, '\0');
    Output out(bytes.data(), bytes.size());
    write_size_update(0, out);
    const size_t before = out.size();
    write_literal("x-name", std::string(size, 'v'), out);
    EXPECT_EQ(out.size() - before, literal_size("x-name", std::string(size, 'v')));
    write_literal({"secret", "s", true}, out);
    ASSERT_TRUE(out.ok());
    Decoder d;
    ASSERT_EQ(d.block(out.view()), Error::kNone);
    EXPECT_EQ(d.fields, (Fields{{"x-name", std::string(size, 'v')}, {"secret", "s"}}));
    EXPECT_EQ(d.secrets, std::vector<std::string>{"secret"});
  }
}

TEST(HeaderBlocks, WhatDoesNotFitIsNotWritten) {
  char small[10];
  Output out(small, sizeof small);
  out.append("12345678");
  write_literal("x-name", "value", out);
  EXPECT_FALSE(out.ok());
  EXPECT_LE(out.size(), sizeof small);
  out.append("");
  EXPECT_FALSE(out.ok());
}

TEST(Arena, GivesBackWholeWhatWasGivenBack) {
  alignas(64) static char memory[64 * 1024 + 1024];
  Arena arena(memory, sizeof memory);
  EXPECT_EQ(arena.capacity(), 64u * 1024);
  std::vector<std::pair<char*, size_t>> held;
  uint32_t seed = 7;
  for (int i = 0; i < 20000; ++i) {
    seed = seed * 1664525 + 1013904223;
    const size_t size = (seed >> 8) % (1u << (seed >> 28));
    if (seed % 3 != 0) {
      auto* block = static_cast<char*>(arena.allocate(size));
      if (block == nullptr) continue;
      ASSERT_GE(block, memory);
      ASSERT_LE(block + size, memory + sizeof memory);
      std::fill(block, block + size, static_cast<char>(held.size()));
      held.emplace_back(block, size);
      // What others hold is not touched (checked when it is given back).
    } else if (!held.empty()) {
      std::swap(held[(seed >> 4) % held.size()], held.back());
      const auto [block, n] = held.back();
      for (size_t k = 1; k < n; ++k) ASSERT_EQ(block[k], block[0]);
      if (seed % 2 == 0) {
        auto* moved = static_cast<char*>(arena.reallocate(block, n * 2));
        if (moved != nullptr) {
          for (size_t k = 1; k < n; ++k) ASSERT_EQ(moved[k], moved[0]);
          held.back().first = moved;
          continue;
        }
      }
      arena.release(block);
      held.pop_back();
    }
  }
  for (const auto& [block, n] : held) arena.release(block);
  EXPECT_TRUE(arena.empty());
  EXPECT_NE(arena.allocate(64 * 1024), nullptr);
  EXPECT_EQ(arena.allocate(1), nullptr);
}

TEST(Arena, TooSmallAMemoryGivesNothing) {
  alignas(64) char memory[100];
  Arena arena(memory, sizeof memory);
  EXPECT_EQ(arena.allocate(1), nullptr);
  EXPECT_TRUE(arena.refused());
}

}  // namespace
}  // namespace filibuster::http2
