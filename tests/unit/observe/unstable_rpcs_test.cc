#include "daemon/observe/unstable_rpcs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/index/masks.h"
#include "daemon/observe/path_index.h"

namespace filibuster {
namespace {

std::vector<uint32_t> found(const PathIndex& index, std::string_view path) {
  std::vector<uint32_t> out;
  index.each(path, [&](uint32_t number) { out.push_back(number); });
  std::sort(out.begin(), out.end());
  return out;
}

using Numbers = std::vector<uint32_t>;

TEST(PathIndex, FindsWhatThePatternsMatch) {
  PathIndex index;
  uint32_t number = 0;
  for (const char* const pattern :
       {"", "/", "/orders/7", "/orders/*", "/orders/*/items", "/orders/?", "/orders/item-*",
        "/orders/7", "/*/7", "orders", "*"})
    index.add(pattern, number++);
  EXPECT_EQ(found(index, "/orders/7"), (Numbers{0, 2, 3, 5, 7, 8}));
  EXPECT_EQ(found(index, "/orders/item-12"), (Numbers{0, 3, 6}));
  EXPECT_EQ(found(index, "/orders/12/items"), (Numbers{0, 4}));
  EXPECT_EQ(found(index, "/orders/12/items/3"), Numbers{0});
  EXPECT_EQ(found(index, "/"), (Numbers{0, 1}));
  EXPECT_EQ(found(index, ""), (Numbers{0, 10}));
  EXPECT_EQ(found(index, "orders"), (Numbers{0, 9, 10}));
  EXPECT_EQ(index.at("/orders/7"), (Numbers{2, 7}));
  EXPECT_EQ(index.at("/orders/*"), Numbers{3});
  EXPECT_EQ(index.at(""), Numbers{0});
  EXPECT_TRUE(index.at("/orders").empty());
  EXPECT_TRUE(index.at("/orders/8").empty());
  EXPECT_TRUE(index.at("/orders/item-*/x").empty());
}

TEST(PathIndex, AgreesWithAComparisonOfEachPattern) {
  std::mt19937 chance(7);
  const auto text = [&](const char* bytes, size_t count) {
    std::string out;
    const size_t size = chance() % 9;
    for (size_t i = 0; i < size; ++i) out += bytes[chance() % count];
    return out;
  };
  PathIndex index;
  std::vector<std::string> patterns;
  for (uint32_t i = 0; i < 3000; ++i) {
    patterns.push_back(text("ab/*?", 5));
    index.add(patterns.back(), i);
  }
  size_t matches = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string path = text("ab/", 3);
    Numbers expected;
    for (uint32_t k = 0; k < patterns.size(); ++k)
      if (patterns[k].empty() || path_matches(patterns[k], path)) expected.push_back(k);
    EXPECT_EQ(found(index, path), expected) << path;
    matches += expected.size();
  }
  EXPECT_GT(matches, 3000u);
}

RpcRecord rpc(const std::string& path) {
  RpcRecord out;
  out.caller = "web";
  out.service = "shop";
  out.method = "GET";
  out.target = path;
  out.index = Hash128{1, 2};
  out.stack = Hash128{3, 4};
  out.open = false;
  out.outcome = RpcOutcome::kAnswered;
  out.status = 200;
  return out;
}

UnstableKind kind(const std::string& path, const std::string& reason) {
  UnstableKind out;
  out.caller = "web";
  out.service = "shop";
  out.method = "GET";
  out.path = path;
  out.reason = reason;
  return out;
}

TEST(UnstableRpcs, TheFirstKindThatMatchesSaysWhy) {
  UnstableRpcs unstable;
  UnstableKind elsewhere = kind("/orders/*", "another call site");
  elsewhere.stack = Hash128{9, 9};
  unstable.add(elsewhere);
  UnstableKind answer = kind("/orders/*", "the answer");
  answer.answer = true;
  unstable.add(answer);
  unstable.add(kind("/*/7", "first"));
  unstable.add(kind("/orders/7", "second"));
  unstable.add(kind("", "any"));
  ASSERT_NE(unstable.find(rpc("/orders/7?x=1")), nullptr);
  EXPECT_EQ(unstable.find(rpc("/orders/7?x=1"))->reason, "first");
  EXPECT_EQ(unstable.find(rpc("/users"))->reason, "any");
  RpcRecord other = rpc("/orders/7");
  other.stack = Hash128{9, 9};
  EXPECT_EQ(unstable.find(other)->reason, "another call site");
  other.method = "POST";
  EXPECT_EQ(unstable.find(other), nullptr);
  EXPECT_TRUE(unstable.answer_varies(rpc("/orders/7")));
  EXPECT_FALSE(unstable.answer_varies(rpc("/users")));
  RpcRecord failed = rpc("/orders/7");
  failed.status = 500;
  EXPECT_FALSE(unstable.answer_varies(failed));
}

TEST(UnstableRpcs, ConcernsWhateverTheCallSite) {
  UnstableRpcs unstable;
  UnstableKind elsewhere = kind("/orders/*", "another call site");
  elsewhere.stack = Hash128{9, 9};
  unstable.add(elsewhere);
  EXPECT_EQ(unstable.find(rpc("/orders/7")), nullptr);
  EXPECT_TRUE(unstable.concerns(rpc("/orders/7")));
  EXPECT_FALSE(unstable.concerns(rpc("/users")));
}

TEST(UnstableRpcs, EachKindIsKeptOnceAndSurvivesTheStore) {
  UnstableRpcs unstable;
  for (int i = 0; i < 3; ++i) unstable.add(kind("/orders/*", "varies"));
  unstable.add(kind("/orders/*", "another reason"));
  UnstableKind sometimes = kind("/late", "sometimes");
  sometimes.sometimes = true;
  unstable.add(sometimes);
  auto kept = UnstableRpcs::from_json(unstable.to_json());
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->to_json(), unstable.to_json());
  const std::string text = unstable.to_json();
  size_t kinds = 0;
  for (size_t at = text.find("\"caller\""); at != std::string::npos;
       at = text.find("\"caller\"", at + 1))
    ++kinds;
  EXPECT_EQ(kinds, 3u);
  EXPECT_EQ(kept->find(rpc("/orders/1"))->reason, "varies");
  EXPECT_NE(kept->find(rpc("/late")), nullptr);
  const UnstableRpcs lasting = kept->lasting();
  EXPECT_EQ(lasting.find(rpc("/late")), nullptr);
  EXPECT_EQ(lasting.find(rpc("/orders/1"))->reason, "varies");
}

TEST(UnstableRpcs, WhatHasComeAgainIsFaultedAndStillComesSometimes) {
  UnstableRpcs unstable;
  EXPECT_FALSE(unstable.has_sometimes());
  unstable.add_index(rpc("/late").index, "seen in 2 of 4 executions");
  UnstableKind sometimes = kind("", "seen in 2 of 4 executions");
  sometimes.sometimes = true;
  unstable.add(sometimes);
  RpcRecord other = rpc("/later");
  other.index = Hash128{5, 5};
  for (const RpcRecord& one : {rpc("/late"), other}) {
    EXPECT_NE(unstable.find(one), nullptr);
    unstable.comes_again(one.index);
    EXPECT_EQ(unstable.find(one), nullptr);
    EXPECT_NE(unstable.comes_sometimes(one), nullptr);
    EXPECT_NE(unstable.without_recurring().find(one), nullptr);
  }
  auto kept = UnstableRpcs::from_json(unstable.to_json());
  ASSERT_TRUE(kept.ok());
  EXPECT_TRUE(kept->has_sometimes());
  EXPECT_EQ(kept->find(other), nullptr);
  // What varies besides is not faulted, however often it comes.
  unstable.add(kind("/late", "path segment 1 varies"));
  EXPECT_EQ(unstable.find(rpc("/late"))->reason, "path segment 1 varies");
}

}  // namespace
}  // namespace filibuster
