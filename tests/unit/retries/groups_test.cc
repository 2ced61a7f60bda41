#include "daemon/retries/groups.h"

#include <gtest/gtest.h>

#include "tests/unit/retries/recipe.h"

namespace filibuster::retries {
namespace {

// "0 1 | 2": the RPCs of each group.
std::string grouped(const ExecutionRecord& execution) {
  std::string out;
  for (const RetryGroup& group : group_attempts(execution)) {
    if (!out.empty()) out += " | ";
    for (size_t i = 0; i < group.rpcs.size(); ++i)
      out += (i > 0 ? " " : "") + std::to_string(group.rpcs[i]);
  }
  return out;
}

TEST(RetryGroups, TheSameRequestAfterAnErrorOrATimeoutIsAnotherAttempt) {
  const auto execution =
      record({timed_out(rpc("GET", "/a")), answered(rpc("GET", "/a"), 503), rpc("GET", "/a")});
  EXPECT_EQ(grouped(execution), "0 1 2");
  EXPECT_EQ(group_attempts(execution)[0].grouped_by[2], GroupedBy::kSameRequest);
}

TEST(RetryGroups, TheSameRequestAfterASuccessIsAnotherCall) {
  EXPECT_EQ(grouped(record({rpc("GET", "/a"), rpc("GET", "/a")})), "0 | 1");
}

TEST(RetryGroups, ARequestThatWasIssuedBeforeTheEarlierOneFailedIsAnotherCall) {
  auto execution = record({answered(rpc("GET", "/a"), 503), rpc("GET", "/a")});
  execution.rpcs[1].issued_ns = execution.rpcs[0].finished_ns - 1;
  EXPECT_EQ(grouped(execution), "0 | 1");
}

TEST(RetryGroups, AnotherPayloadPathCauseOrCallSiteIsAnotherCall) {
  const RpcRecord failed = answered(rpc("PUT", "/a"), 503);
  RpcRecord payload = rpc("PUT", "/a"), cause = payload, site = payload, caller = payload;
  payload.payload = hash_text("other");
  cause.parent_rpc = 2;
  site.stack_text = {"shop.py:9 (refund)"};
  caller.caller = "cart";
  for (const RpcRecord& other : {payload, cause, site, caller, rpc("PUT", "/b"), rpc("GET", "/a")})
    EXPECT_EQ(grouped(record({failed, other})), "0 | 1");
}

TEST(RetryGroups, NothingIsConcludedOfAnRpcWithoutAKnownCause) {
  RpcRecord lost = rpc("GET", "/a");
  lost.cause = Cause::kNone;
  EXPECT_EQ(grouped(record({answered(rpc("GET", "/a"), 503), lost})), "0 | 1");
}

TEST(RetryGroups, CallsThatTakeTurnsKeepTheirAttempts) {
  const RpcRecord a = answered(rpc("GET", "/a"), 503), b = answered(rpc("GET", "/b"), 503);
  EXPECT_EQ(grouped(record({a, b, a, b, a})), "0 2 4 | 1 3");
  const RpcRecord here = answered(rpc("GET", "/a", {"shop.py:3 (pay)"}), 503),
                  there = answered(rpc("GET", "/a", {"shop.py:9 (refund)"}), 503);
  EXPECT_EQ(grouped(record({here, there, here, there})), "0 2 | 1 3");
}

TEST(RetryGroups, ARequestIdTellsAttemptsWhateverTheAnswerWas) {
  const auto id = [](const char* value) {
    return with_id(rpc("PUT", "/a"), "x-ms-client-request-id", value);
  };
  RpcRecord moved = id("1");
  moved.target = "/a?timeout=5";
  const auto execution = record({id("1"), id("2"), moved});
  EXPECT_EQ(grouped(execution), "0 2 | 1");
  const RetryGroup group = group_attempts(execution)[0];
  EXPECT_EQ(group.grouped_by[1], GroupedBy::kRequestId);
  EXPECT_EQ(group.request_id_name, "x-ms-client-request-id");
}

TEST(RetryGroups, DifferentRequestIdsAreDifferentCallsAlsoAfterAnError) {
  const auto id = [](const char* value) {
    return answered(with_id(rpc("PUT", "/a"), "amz-sdk-invocation-id", value), 503);
  };
  EXPECT_EQ(grouped(record({id("1"), id("2")})), "0 | 1");
}

TEST(RetryGroups, XRequestIdNeedsTheSameMethodAndPath) {
  const auto id = [](RpcRecord one) { return with_id(std::move(one), "x-request-id", "1"); };
  EXPECT_EQ(grouped(record({id(rpc("GET", "/a")), id(rpc("GET", "/b")), id(rpc("GET", "/a"))})),
            "0 2 | 1");
}

TEST(RetryGroups, GrpcSaysThatThereWereAttempts) {
  RpcRecord first = rpc("POST", "/shop.Cart/Add"), retry = first;
  first.flags = retry.flags = kRpcHttp2 | kRpcGrpc;
  retry.flags |= kRpcWasAttempted;
  retry.stack_text = {"channel.cc:1 (retry)"};
  const auto execution = record({first, retry});
  EXPECT_EQ(grouped(execution), "0 1");
  EXPECT_EQ(group_attempts(execution)[0].grouped_by[1], GroupedBy::kGrpcAttempts);
  EXPECT_EQ(group_attempts(execution)[0].retried_by, RetriedBy::kLibrary) << "it says so";
}

TEST(RetryGroups, AttemptsOfAPlannedSequenceAreThoseThatTheAgentsFound) {
  RpcRecord moved = rpc("GET", "/a");
  moved.attempt_of = hash_text("/a");
  moved.target = "/a?retry=1";
  moved.attempt = 2;
  moved.grouped_by = GroupedBy::kRequestId;
  EXPECT_EQ(
      grouped(record({attempt(rpc("GET", "/a"), 1, "timeout:after"), rpc("GET", "/b"), moved})),
      "0 2 | 1");
}

TEST(RetryGroups, TheFrameInWhichTheStacksPartTellsWhoRetries) {
  const auto made_at = [](std::vector<std::string> stack) {
    return answered(rpc("GET", "/a", std::move(stack)), 503);
  };
  const std::string site = "shop.py:3 (fetch)", outer = "shop.py:40 (main)";
  const auto by = [&](std::vector<std::string> second) {
    return group_attempts(
        record({made_at({site, "shop.py:20 (pay)", outer}), made_at(std::move(second))}))[0];
  };
  const RetryGroup own = by({site, "shop.py:22 (pay)", outer});
  EXPECT_EQ(own.retried_by, RetriedBy::kApplication);
  EXPECT_EQ(own.shared_frame, outer);
  EXPECT_EQ(own.first_frame, "shop.py:20 (pay)");
  EXPECT_EQ(own.second_frame, "shop.py:22 (pay)");
  const RetryGroup library =
      by({site, "/usr/lib/python3/dist-packages/urllib3/connectionpool.py:876 (urlopen)",
          "shop.py:20 (pay)", outer});
  EXPECT_EQ(library.retried_by, RetriedBy::kLibrary);
  EXPECT_EQ(by({site, "shop.py:20 (pay)", outer}).retried_by, RetriedBy::kUnknown);
  EXPECT_EQ(by({site, "shop.py:20 (async pay)", outer}).retried_by, RetriedBy::kUnknown)
      << "Node's name of the same frame";
}

TEST(RetryGroups, ALibraryGivesItsCallOneId) {
  const RpcRecord one = answered(with_id(rpc("GET", "/a"), "amz-sdk-invocation-id", "1"), 503);
  EXPECT_EQ(group_attempts(record({one, one}))[0].retried_by, RetriedBy::kLibrary);
  EXPECT_EQ(group_attempts(record({one}))[0].retried_by, RetriedBy::kNobody);
  // That of an application says nothing of who has sent it again.
  const RpcRecord own = answered(with_id(rpc("GET", "/a"), "x-order-id", "1"), 503);
  EXPECT_EQ(group_attempts(record({own, own}))[0].retried_by, RetriedBy::kUnknown);
}

TEST(RetryGroups, MutationsAreUnsafeByMethodOrByData) {
  RpcRecord grpc = rpc("POST", "/shop.Cart/Add");
  grpc.flags = kRpcHttp2 | kRpcGrpc;
  EXPECT_TRUE(is_unsafe_mutation(rpc("POST", "/a"), {}));
  EXPECT_TRUE(is_unsafe_mutation(rpc("PATCH", "/a"), {}));
  for (const char* method : {"GET", "PUT", "DELETE", "HEAD"})
    EXPECT_FALSE(is_unsafe_mutation(rpc(method, "/a"), {}));
  EXPECT_FALSE(is_unsafe_mutation(grpc, {}));
  EXPECT_TRUE(is_unsafe_mutation(grpc, {{.grpc = "shop.Cart/*"}}));
  EXPECT_FALSE(
      is_unsafe_mutation(rpc("POST", "/search?q=1"), {{.path = "/search", .idempotent = true}}));
  EXPECT_TRUE(is_unsafe_mutation(rpc("GET", "/queue/messages"),
                                 {{.service = "store", .method = "GET", .path = "/queue/*"}}));
  EXPECT_FALSE(is_unsafe_mutation(rpc("GET", "/queue/messages"),
                                  {{.service = "other", .path = "/queue/*"}}));
}

TEST(RetryGroups, AnAttemptWithItsFaultAfterEffectCountsAsASuccessOfTheServer) {
  EXPECT_TRUE(succeeded_at_server(attempt(rpc("POST", "/a"), 1, "timeout:after")));
  EXPECT_FALSE(succeeded_at_server(attempt(rpc("POST", "/a"), 1, "status:503")));
  EXPECT_TRUE(succeeded_at_server(attempt(rpc("POST", "/a"), 2, "")));
  EXPECT_FALSE(succeeded_at_server(answered(rpc("POST", "/a"), 409)));
  EXPECT_FALSE(succeeded_at_server(timed_out(rpc("POST", "/a"))));
}

TEST(Groups, AClientBacksOffWhereItsPausesGrow) {
  const auto of = [](std::vector<uint64_t> at) {
    std::vector<RpcRecord> rpcs;
    for (size_t i = 0; i < at.size(); ++i)
      rpcs.push_back(attempt(rpc("GET", "/a"), static_cast<uint32_t>(i) + 1, "status:503"));
    ExecutionRecord out = record(std::move(rpcs));
    RetryGroup group;
    for (size_t i = 0; i < at.size(); ++i) {
      out.rpcs[i].issued_ns = at[i];
      group.rpcs.push_back(i);
    }
    return backs_off(out, group);
  };
  EXPECT_TRUE(of({0, 1, 3, 7, 15}));
  EXPECT_FALSE(of({0, 1, 2, 3, 4, 5})) << "a loop without an end";
  EXPECT_FALSE(of({0, 1, 60})) << "too few to tell";
}

}  // namespace
}  // namespace filibuster::retries
