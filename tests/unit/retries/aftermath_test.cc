#include "daemon/retries/aftermath.h"

#include <gtest/gtest.h>

#include "tests/unit/retries/recipe.h"

namespace filibuster::retries {
namespace {

TEST(Aftermath, OfACallAreItsAttemptsAndWhatWasCalledAfterIt) {
  const ExecutionRecord of =
      record({rpc("GET", "/before"), attempt(rpc("PUT", "/a"), 1, "reset:after"),
              answered(attempt(rpc("PUT", "/a"), 2, ""), 409), rpc("GET", "/list")});
  const auto groups = group_attempts(of);
  EXPECT_EQ(calls_since(of, groups.at(1)),
            (std::vector<std::string>{"shop -> store PUT /a: reset:after (injected)",
                                      "shop -> store PUT /a, attempt 2: 409",
                                      "shop -> store GET /list: 200"}));
}

TEST(Aftermath, ManyCallsAreCounted) {
  std::vector<RpcRecord> many;
  for (size_t i = 0; i < kMostCalls + 3; ++i) many.push_back(rpc("GET", "/" + std::to_string(i)));
  const ExecutionRecord of = record(many);
  const auto lines = calls_since(of, group_attempts(of).front());
  ASSERT_EQ(lines.size(), kMostCalls + 1);
  EXPECT_EQ(lines.back(), "and 3 more");
}

TEST(Aftermath, WhatALibraryDoesByItselfIsSaidWhereTheRetryIsItsOwn) {
  const std::string frame = "/usr/lib/python3/dist-packages/botocore/endpoint.py:281 (_send)";
  const ExecutionRecord of =
      record({with_id(timed_out(rpc("PUT", "/a", {frame})), "amz-sdk-invocation-id", "1"),
              with_id(rpc("PUT", "/a", {frame}), "amz-sdk-invocation-id", "1")});
  RetryGroup group = group_attempts(of).front();
  EXPECT_TRUE(said_of_retries(of, group).starts_with("botocore calls again by itself"));
  group.retried_by = RetriedBy::kApplication;
  EXPECT_EQ(said_of_retries(of, group), "");
}

}  // namespace
}  // namespace filibuster::retries
