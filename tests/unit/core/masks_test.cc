#include "core/index/masks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

namespace filibuster {
namespace {

TEST(PathMatches, SegmentBySegment) {
  EXPECT_TRUE(path_matches("/orders/*", "/orders/7"));
  EXPECT_TRUE(path_matches("/orders/*", "/orders/"));
  EXPECT_FALSE(path_matches("/orders/*", "/orders/7/items"));
  EXPECT_FALSE(path_matches("/orders/*", "/orders"));
  EXPECT_TRUE(path_matches("/a*c/?", "/abbc/x"));
  EXPECT_FALSE(path_matches("/a*c/?", "/abbd/x"));
  EXPECT_FALSE(path_matches("/a*c/?", "/abbc/xy"));
  EXPECT_TRUE(path_matches("/*-*/x", "/1-2-3/x"));
  EXPECT_TRUE(path_matches("", ""));
  EXPECT_FALSE(path_matches("", "/"));
}

struct TableTest : testing::Test {
  std::unique_ptr<MaskTable> table = std::make_unique<MaskTable>();
  RequestMasks out;

  MaskRule& rule(const char* pattern) {
    MaskRule& row = table->rules[table->rule_count++];
    row.pattern_size = static_cast<uint16_t>(std::strlen(pattern));
    std::memcpy(row.pattern, pattern, row.pattern_size);
    row.first_field = static_cast<uint16_t>(table->field_count);
    return row;
  }
  void field(MaskRule* row, MaskPlace place, const char* name) {
    MaskField& added = table->fields[table->field_count++];
    added.place = place;
    added.depth = 1;
    added.names[0] = name_hash(name);
    ++row->field_count;
  }
  const RequestMasks& select(const char* caller = "users", const char* service = "orders",
                             const char* method = "POST", const char* path = "/orders/7",
                             bool grpc = false) {
    select_masks(*table, {caller, service, method, path, grpc}, &out);
    return out;
  }
  bool selects_call(const char* path, bool grpc = true) {
    return select("users", "cart", "POST", path, grpc).any();
  }
};

TEST_F(TableTest, EveryConditionCounts) {
  MaskRule& row = rule("/orders/*");
  row.caller = name_hash("users");
  row.service = name_hash("orders");
  row.method = name_hash("POST");
  row.path_segments = 2;
  EXPECT_TRUE(select().any());
  EXPECT_EQ(select().path_segments, 2u);
  EXPECT_FALSE(select("other").any());
  EXPECT_FALSE(select("users", "other").any());
  EXPECT_FALSE(select("users", "orders", "GET").any());
  EXPECT_FALSE(select("users", "orders", "POST", "/orders/7/8").any());
}

TEST_F(TableTest, WhatIsAbsentMatchesAndAllRulesThatMatchCount) {
  field(&rule(""), MaskPlace::kQuery, "ts");
  rule("/orders/*").path_segments = 2;
  EXPECT_EQ(select().count, 1u);
  EXPECT_EQ(select().path_segments, 2u);
  EXPECT_TRUE(select().has(MaskPlace::kQuery));
  EXPECT_FALSE(select().has(MaskPlace::kJson));
  EXPECT_EQ(select("a", "b", "c", "/").count, 1u);
}

TEST_F(TableTest, ANameOfGrpcIsNoPathAndOnlyForItsCalls) {
  MaskRule& row = rule("CartService/Get*");
  row.flags = kMaskGrpc | kMaskStack;
  EXPECT_TRUE(selects_call("/shop.CartService/GetCart"));
  EXPECT_TRUE(selects_call("/CartService/GetCart"));
  EXPECT_FALSE(selects_call("/shop.CartService/GetCart", false)) << "an HTTP request";
  EXPECT_FALSE(selects_call("/shop.CartService/PutCart"));
  EXPECT_FALSE(selects_call("/shop.OldCartService/GetCart"));
  row.caller = name_hash("other");
  EXPECT_FALSE(selects_call("/shop.CartService/GetCart")) << "the other conditions count, too";
}

TEST_F(TableTest, ANameOfGrpcMayBeThatOfAServiceOrHaveADot) {
  rule("shop.CartService").flags = kMaskGrpc | kMaskStack;
  EXPECT_TRUE(selects_call("/shop.CartService/GetCart"));
  EXPECT_FALSE(selects_call("/other.CartService/GetCart"));
  *table = {};
  rule("shop.Cart*.GetCart").flags = kMaskGrpc | kMaskStack;
  EXPECT_TRUE(selects_call("/shop.CartService/GetCart"));
  EXPECT_FALSE(selects_call("/shop.CartService/GetCarts"));
}

TEST_F(TableTest, MoreFieldsThanFitAreSaid) {
  for (int n = 0; n < 2; ++n) {
    MaskRule& row = rule("");
    for (size_t i = 0; i < kMaxRequestMasks - 4; ++i) field(&row, MaskPlace::kQuery, "x");
  }
  EXPECT_TRUE(select().too_many);
  EXPECT_EQ(select().count, kMaxRequestMasks);
}

TEST_F(TableTest, ATornTableIsBorne) {
  std::memset(static_cast<void*>(table.get()), 0xff, sizeof *table);
  for (MaskRule& row : table->rules) row.caller = row.service = row.method = kAnyName;
  selects_call("/shop.CartService/GetCart");
  for (MaskRule& row : table->rules) row.flags = row.pattern_size = 0;
  select();
  for (uint32_t i = 0; i < out.count; ++i) EXPECT_LE(out.fields[i].depth, kMaxMaskDepth);
  for (MaskRule& row : table->rules) row.first_field = 0;
  EXPECT_TRUE(select().too_many);
  for (uint32_t i = 0; i < out.count; ++i) EXPECT_LE(out.fields[i].depth, kMaxMaskDepth);
}

TEST(SegmentMasked, CountsFromOneToSixtyFour) {
  EXPECT_TRUE(segment_masked(1, 1));
  EXPECT_FALSE(segment_masked(~0ull, 0));
  EXPECT_TRUE(segment_masked(1ull << 63, 64));
  EXPECT_FALSE(segment_masked(~0ull, 65));
}

TEST(NameHash, IsNeverTheOneOfAnyName) {
  EXPECT_NE(name_hash(""), kAnyName);
  EXPECT_NE(name_hash("a"), name_hash("b"));
}

}  // namespace
}  // namespace filibuster
