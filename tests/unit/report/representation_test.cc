// The three representations of an index, from records as agents make them.
#include "daemon/report/representation.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

std::vector<RpcRecord> two_rpcs() {
  RpcRecord users;
  users.rpc = 1;
  users.caller = "test";
  users.service = "users";
  users.method = "GET";
  users.target = "/users/7?verbose=1";
  users.payload = {1, 2};
  users.count = 1;
  users.cause = Cause::kEntry;
  users.stack_text = {"test.py:9 (test)"};
  RpcRecord bookings = users;
  bookings.rpc = 2;
  bookings.parent_rpc = 1;
  bookings.caller = "users";
  bookings.service = "bookings";
  bookings.target = "/bookings/7";
  bookings.count = 2;
  bookings.cause = Cause::kThread;
  bookings.flags = kRpcOpensConnection;
  bookings.stack_text = {"users.py:31 (get)", "users.py:50 (page)"};
  return {users, bookings};
}

TEST(Debugging, ShowsEveryPartOfEveryElementInClear) {
  const auto rpcs = two_rpcs();
  EXPECT_EQ(trace_text({rpcs[0]}, Representation::kDebugging, kIndexAll),
            "[[; test; users|GET /users/7|verbose; test.py:9 (test); "
            "00000000000000010000000000000002]|1]\n");
  const std::string nested =
      to_text(index_elements(rpcs, rpcs[1], kIndexAll), Representation::kDebugging);
  EXPECT_EQ(nested,
            "[[; test; users|GET /users/7|verbose; test.py:9 (test); "
            "00000000000000010000000000000002]|1 :: [by thread, opens a connection; users; "
            "bookings|GET /bookings/7|; users.py:31 (get) < users.py:50 (page); "
            "00000000000000010000000000000002]|2]");
}

TEST(Debugging, LeavesOutWhatTheIndexLeavesOut) {
  const auto rpcs = two_rpcs();
  const auto elements = index_elements(rpcs, rpcs[1], 0);
  ASSERT_EQ(elements.size(), 1u);  // no path
  EXPECT_TRUE(elements[0].stack.empty());
  EXPECT_TRUE(elements[0].payload.is_zero());
  EXPECT_EQ(elements[0].count, 0u);
  EXPECT_EQ(elements[0].signature, "bookings|GET /bookings/7|");
}

TEST(Tags, NameTheProtocol) {
  RpcRecord rpc = two_rpcs()[0];
  rpc.flags = kRpcRedis;
  EXPECT_EQ(tags_of(rpc), std::vector<std::string>{"Redis"});
}

TEST(Verbose, TellsEqualPartsByEqualHashes) {
  const auto rpcs = two_rpcs();
  const std::string text =
      to_text(index_elements(rpcs, rpcs[1], kIndexAll), Representation::kVerbose);
  EXPECT_NE(text.find(sha1("users.py:31 (get) < users.py:50 (page)")), std::string::npos);
  EXPECT_NE(text.find(sha1("bookings|GET /bookings/7|")), std::string::npos);
  EXPECT_EQ(text.find("users"), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 4), "]|2]");
}

TEST(Representations, HaveNames) {
  EXPECT_EQ(parse_representation("verbose"), Representation::kVerbose);
  EXPECT_EQ(parse_representation("debugging"), Representation::kDebugging);
  EXPECT_EQ(parse_representation("compact"), Representation::kCompact);
  EXPECT_FALSE(parse_representation("Compact"));
}

TEST(AConfusedAgent, CannotMakeAnEndlessIndex) {
  auto rpcs = two_rpcs();
  rpcs[0].parent_rpc = 2;
  EXPECT_LE(index_elements(rpcs, rpcs[1], kIndexAll).size(), 3u);
}

// FIPS 180-4, the examples of the standard.
TEST(Sha1, IsThatOfTheStandard) {
  EXPECT_EQ(sha1(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

}  // namespace
}  // namespace filibuster
