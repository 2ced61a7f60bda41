#include "daemon/retries/expected_errors.h"

#include <gtest/gtest.h>

#include "daemon/model/caller.h"
#include "tests/unit/retries/recipe.h"

namespace filibuster::retries {
namespace {

// A call of the suite's own process, from `line` of the application and from `test`.
RpcRecord own(uint16_t status, const std::string& line, const std::string& test) {
  RpcRecord out = answered(rpc("PUT", "/" + line, {"store.py:" + line + " (put)", test}), status);
  out.caller = kTestService;
  out.parent_rpc = 0;
  out.cause = Cause::kProgram;
  return out;
}

bool goes_on(std::vector<RpcRecord> rpcs, size_t group = 0) {
  const ExecutionRecord execution = record(std::move(rpcs));
  return goes_on_after(execution, group_attempts(execution)[group], {},
                       "test_store.py::test_open[1]");
}

constexpr char kBody[] = "test_store.py:7 (test_open)";

TEST(ExpectedErrors, AnotherCallOfTheApplicationFollows) {
  EXPECT_TRUE(goes_on({own(409, "3", kBody), own(200, "4", kBody)}));
  EXPECT_TRUE(goes_on({own(409, "3", kBody), own(200, "4", "test_store.py:8 (test_open)")}));
}

TEST(ExpectedErrors, NothingFollowsWhereTheTestEndsByTheError) {
  EXPECT_FALSE(goes_on({own(409, "3", kBody)}));
  EXPECT_FALSE(goes_on({own(200, "2", kBody), own(409, "3", kBody)}, 1));
  // What the test has set up is torn down, by the application or by the test itself.
  EXPECT_FALSE(goes_on({own(409, "3", kBody), own(200, "9", "test_store.py:4 (store)")}));
  RpcRecord by_test = own(200, "9", kBody);
  by_test.stack_text = {kBody};
  EXPECT_FALSE(goes_on({own(409, "3", kBody), by_test}));
}

TEST(ExpectedErrors, SetUpsGoOnWithTheTest) {
  EXPECT_TRUE(goes_on({own(409, "3", "conftest.py:4 (store)"), own(200, "4", kBody)}));
}

TEST(ExpectedErrors, WhatCausedTheCallIsAnsweredWell) {
  RpcRecord cause = own(200, "3", kBody);
  RpcRecord call = answered(rpc("PUT", "/container"), 409);
  const auto caused = [&](uint16_t status) {
    ExecutionRecord execution = record({answered(cause, status), call});
    execution.rpcs[1].parent_rpc = execution.rpcs[0].rpc;
    return goes_on_after(execution, group_attempts(execution)[1], {}, "test_store.py::test_open");
  };
  EXPECT_TRUE(caused(200));
  EXPECT_FALSE(caused(409)) << "it is passed on to the test";
}

TEST(ExpectedErrors, AClientThatTriesAgainGoesOnIfItSucceeds) {
  RpcRecord first = own(503, "3", kBody), second = own(200, "3", kBody);
  EXPECT_TRUE(goes_on({first, second}));
  EXPECT_FALSE(goes_on({first, answered(second, 503)}));
}

}  // namespace
}  // namespace filibuster::retries
