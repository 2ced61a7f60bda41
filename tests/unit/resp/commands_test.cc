#include "core/resp/commands.h"

#include <gtest/gtest.h>

#include <string>

#include "core/resp/key_pattern.h"

namespace filibuster::resp {
namespace {

bool has(std::string_view name, CommandFlag flag) {
  const CommandProperties* row = find_command(name);
  return row != nullptr && row->has(flag);
}

int key_of(std::string_view name) {
  const CommandProperties* row = find_command(name);
  return row == nullptr ? -1 : row->first_key;
}

TEST(RespCommands, AreFoundByTheirNameInCapitals) {
  for (const char* name : {"ACL", "GET", "ZUNIONSTORE", "XREADGROUP", "EVALSHA_RO"}) {
    ASSERT_NE(find_command(name), nullptr) << name;
    EXPECT_EQ(find_command(name)->name, name);
  }
  for (const char* name : {"", "get", "GETX", "GE", "ZZZ", "A", "JSON.SET"}) {
    EXPECT_EQ(find_command(name), nullptr) << name;
  }
}

TEST(RespCommands, SayWhatAReplicaOrAFullServerRefuses) {
  for (const char* name :
       {"SET", "DEL", "LPOP", "XREADGROUP", "EVAL", "FLUSHALL", "GETEX", "SORT"}) {
    EXPECT_TRUE(has(name, kWrites)) << name;
  }
  for (const char* name :
       {"GET", "PING", "EXISTS", "SORT_RO", "EVAL_RO", "PUBLISH", "TOUCH", "MULTI"}) {
    EXPECT_FALSE(has(name, kWrites)) << name;
    EXPECT_FALSE(has(name, kAllocates)) << name;
  }
  for (const char* name : {"SET", "INCR", "XADD", "EVAL", "COPY"})
    EXPECT_TRUE(has(name, kAllocates)) << name;
  for (const char* name : {"DEL", "LPOP", "EXPIRE", "SREM"})
    EXPECT_FALSE(has(name, kAllocates)) << name;
}

TEST(RespCommands, SayWhereTheFirstKeyStands) {
  EXPECT_EQ(key_of("GET"), 1);
  EXPECT_EQ(key_of("BITOP"), 2);
  EXPECT_EQ(key_of("OBJECT"), 2);
  EXPECT_EQ(key_of("EVAL"), 3);
  EXPECT_EQ(key_of("BLMPOP"), 3);
  EXPECT_EQ(key_of("XREAD"), 0);
  EXPECT_EQ(key_of("PUBLISH"), 0);
  EXPECT_EQ(key_of("WATCH"), 1);
}

TEST(RespCommands, SayWhatTheyDoToTheirConnection) {
  for (const char* name : {"HELLO", "AUTH", "SELECT", "CLIENT", "PING", "QUIT", "READONLY"}) {
    EXPECT_TRUE(has(name, kByLibrary)) << name;
  }
  for (const char* name : {"BLPOP", "BZPOPMIN", "BLMOVE", "WAIT"}) {
    EXPECT_TRUE(has(name, kBlocks)) << name;
  }
  EXPECT_TRUE(has("XREADGROUP", kBlocksByOption));
  for (const char* name : {"SUBSCRIBE", "SUNSUBSCRIBE", "MONITOR"}) {
    EXPECT_TRUE(has(name, kSubscription)) << name;
  }
  for (const char* name : {"MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH"}) {
    EXPECT_TRUE(has(name, kTransaction)) << name;
  }
  for (const char* name : {"SYNC", "PSYNC", "REPLCONF"}) {
    EXPECT_TRUE(has(name, kReplication)) << name;
  }
  EXPECT_TRUE(has("HELLO", kSetsProtocol));
  EXPECT_EQ(find_command("GET")->flags, 0);
}

std::string pattern(std::string_view key, bool truncated = false) {
  char out[256];
  return {out, key_pattern(key, out, sizeof out, truncated)};
}

TEST(RespKeyPattern, SegmentsThatVaryBecomeStars) {
  EXPECT_EQ(pattern("user:42:cart"), "user:*:cart");
  EXPECT_EQ(pattern("cart"), "cart");
  EXPECT_EQ(pattern(""), "");
  EXPECT_EQ(pattern(std::string_view()), "");
  EXPECT_EQ(pattern("42"), "*");
  EXPECT_EQ(pattern("{user:7}.name"), "{user:*}.name");
  EXPECT_EQ(pattern("a/b1/c-2_d"), "a/*/c-*_d");
  EXPECT_EQ(pattern("::x:"), "::x:");
  EXPECT_EQ(pattern("session:deadbeef"), "session:*");
  EXPECT_EQ(pattern("session:DEADBEEF"), "session:*");
  EXPECT_EQ(pattern("session:deadBEEF"), "session:deadBEEF");
  EXPECT_EQ(pattern("facade:defaced"), "facade:defaced");
}

TEST(RespKeyPattern, AUuidIsOneSegment) {
  EXPECT_EQ(pattern("job:550e8400-e29b-41d4-a716-446655440000:state"), "job:*:state");
  EXPECT_EQ(pattern("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"), "*");
  EXPECT_EQ(pattern("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeeex"), "*-bbbb-cccc-dddd-eeeeeeeeeeeex");
  EXPECT_EQ(pattern("aaaaaaaa-bbbb"), "*-bbbb");
}

TEST(RespKeyPattern, WhatWasCutOffIsNotGuessed) {
  EXPECT_EQ(pattern("user:42:ca", true), "user:*:*");
  EXPECT_EQ(pattern("user:42:", true), "user:*:*");
  EXPECT_EQ(pattern("job:aaaaaaaa-bbbb-cc", true), "job:*");
}

TEST(RespKeyPattern, IsAlwaysText) {
  EXPECT_EQ(pattern("a:\xff\xfe:b"), "a:*:b");
  EXPECT_EQ(pattern(std::string_view("a:\0:b c", 7)), "a:*:*");
  EXPECT_EQ(pattern("\n"), "*");
}

TEST(RespKeyPattern, FillsTheRoomThatItHas) {
  char out[8] = "#######";
  EXPECT_EQ(key_pattern("user:42:cart", out, 6), 6u);
  EXPECT_EQ(std::string(out, 7), "user:*#");
  EXPECT_EQ(key_pattern("user", out, 0), 0u);
  EXPECT_EQ(key_pattern("user", out, 2), 2u);
}

}  // namespace
}  // namespace filibuster::resp
