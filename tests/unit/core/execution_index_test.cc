#include "core/index/execution_index.h"

#include <gtest/gtest.h>

#include <set>

namespace filibuster {
namespace {

TEST(Signature, IsServiceMethodPathAndArgumentNames) {
  EXPECT_EQ(http_signature_text("movies", "GET", "/movies/1"), "movies|GET /movies/1|");
  EXPECT_EQ(http_signature_text("movies", "GET", "/m?b=2&a=1&b=3"), "movies|GET /m|b,a,b");
  EXPECT_EQ(http_signature_text("movies", "GET", "/m?"), "movies|GET /m|");
  EXPECT_EQ(http_signature_text("movies", "GET", "/m?x"), "movies|GET /m|x");
  EXPECT_EQ(http_signature_text("movies", "GET", "/m?&&x=&=y&"), "movies|GET /m|x,");
  EXPECT_EQ(http_signature_text("movies", "GET", "/m?q=a=b?c"), "movies|GET /m|q");
  EXPECT_EQ(http_signature_text("", "OPTIONS", "*"), "|OPTIONS *|");
  EXPECT_EQ(http_signature_text("s", "GET", ""), "s|GET |");
}

TEST(Signature, NeverHoldsHostOrPort) {
  EXPECT_EQ(http_signature_text("s", "GET", "http://h:8080/a?b=1"), "s|GET /a|b");
  EXPECT_EQ(http_signature_text("s", "GET", "HTTPS://h"), "s|GET /|");
  EXPECT_EQ(http_signature_text("s", "GET", "http://h:1?b=1"), "s|GET /|b");
  EXPECT_EQ(http_signature_text("s", "GET", "http:/x"), "s|GET http:/x|");
  EXPECT_EQ(http_signature_text("s", "CONNECT", "h:443"), "s|CONNECT |");
}

TEST(Signature, HashIsTheHashOfTheTextForEveryLength) {
  for (size_t size = 0; size < 2000; size += 37) {
    const std::string target = "/" + std::string(size, 'p') + "?" + std::string(size, 'a') + "=1&b";
    EXPECT_EQ(http_signature_hash("service", "POST", target),
              hash_text(http_signature_text("service", "POST", target)));
  }
}

TEST(Target, IsSplitAtTheFirstQuestionMark) {
  EXPECT_EQ(split_target("/a?b?c").path, "/a");
  EXPECT_EQ(split_target("/a?b?c").query, "b?c");
  EXPECT_EQ(split_target("/a").path, "/a");
  EXPECT_EQ(split_target("/a").query, "");
  EXPECT_EQ(split_target("?").path, "");
  EXPECT_EQ(split_target("").path, "");
}

TEST(Payload, IsTheQueryAndTheBodyAndNotThePath) {
  const Hash128 body = hash_text("body");
  EXPECT_EQ(http_payload_hash("/a?x=1", body), http_payload_hash("/b?x=1", body));
  EXPECT_NE(http_payload_hash("/a?x=1", body), http_payload_hash("/a?x=2", body));
  EXPECT_NE(http_payload_hash("/a?x=1", body), http_payload_hash("/a?x=1", hash_text("other")));
}

class IndexParts16 : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(All, IndexParts16, testing::Range(0u, 16u));

TEST_P(IndexParts16, ExactlyTheOnesThatAreOnMatter) {
  const uint32_t parts = GetParam();
  const Hash128 s = hash_text("s"), p = hash_text("p"), t = hash_text("t"), parent = hash_text("q");
  const Hash128 other = hash_text("other");
  const Hash128 r = invocation_signature(s, p, t, parts);
  EXPECT_NE(r, invocation_signature(other, p, t, parts));
  EXPECT_EQ(r != invocation_signature(s, other, t, parts), (parts & kIndexPayload) != 0);
  EXPECT_EQ(r != invocation_signature(s, p, other, parts), (parts & kIndexStack) != 0);

  const Hash128 index = extend_path(parent, r, 1, parts);
  EXPECT_NE(index, extend_path(parent, other, 1, parts));
  EXPECT_EQ(index != extend_path(other, r, 1, parts), (parts & kIndexPath) != 0);
  EXPECT_EQ(index != extend_path(parent, r, 2, parts), (parts & kIndexCount) != 0);

  const Hash128 key = counter_key(parent, r, parts);
  EXPECT_NE(key, counter_key(parent, other, parts));
  EXPECT_EQ(key != counter_key(other, r, parts), (parts & kIndexPath) != 0);
  EXPECT_NE(key, index);
}

TEST(InvocationSignature, PayloadAndStackCannotStandForEachOther) {
  const Hash128 s = hash_text("s"), x = hash_text("x");
  std::set<Hash128> all;
  for (uint32_t parts : {0u, uint32_t{kIndexPayload}, uint32_t{kIndexStack}, uint32_t{kIndexAll}}) {
    all.insert(invocation_signature(s, x, x, parts));
  }
  EXPECT_EQ(all.size(), 4u);
  EXPECT_NE(invocation_signature(s, x, s, kIndexAll), invocation_signature(s, s, x, kIndexAll));
}

TEST(Path, TellsTheEntryPointFromEveryOtherPlaceAndOrderMatters) {
  const Hash128 a = hash_text("a"), b = hash_text("b");
  const Hash128 ab = extend_path(extend_path({}, a, 1, kIndexAll), b, 1, kIndexAll);
  const Hash128 ba = extend_path(extend_path({}, b, 1, kIndexAll), a, 1, kIndexAll);
  EXPECT_NE(ab, ba);
  EXPECT_NE(ab, extend_path({}, b, 1, kIndexAll));
  EXPECT_FALSE(ab.is_zero());
}

TEST(Path, IsTheSameInEveryBuild) {
  // Stored sessions and counterexamples hold these: a change needs a new major version.
  const Hash128 r = invocation_signature(http_signature_hash("movies", "GET", "/movies/1"),
                                         http_payload_hash("/movies/1", hash_text("")),
                                         hash_text("users.py:31"), kIndexAll);
  EXPECT_EQ(to_hex(extend_path({}, r, 1, kIndexAll)), "4fba9d05af657976f5cea5e7be76ad4b");
}

TEST(CallPlace, TellsPathServiceAndStackApart) {
  const Hash128 place = call_place({1, 1}, {2, 2}, {3, 3});
  EXPECT_NE(place, call_place({1, 2}, {2, 2}, {3, 3}));
  EXPECT_NE(place, call_place({1, 1}, {2, 3}, {3, 3}));
  EXPECT_NE(place, call_place({1, 1}, {2, 2}, {3, 4}));
  EXPECT_NE(place, counter_key({1, 1}, {2, 2}, kIndexAll));
}

}  // namespace
}  // namespace filibuster
