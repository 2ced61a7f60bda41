#include "daemon/explore/judgement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/fault/attempts.h"

namespace filibuster {
namespace {

// test -> a, and from there calls of the names given in turn, each caused by the one before.
ExecutionRecord chain(const std::vector<std::string>& names, size_t calls) {
  ExecutionRecord out;
  for (size_t i = 0; i <= calls; ++i) {
    RpcRecord rpc;
    rpc.rpc = i + 1;
    rpc.parent_rpc = i;
    rpc.caller = i == 0 ? "test" : names[(i - 1) % names.size()];
    rpc.service = names[i % names.size()];
    rpc.method = "GET";
    rpc.target = "/" + rpc.service;
    rpc.stack = hash_text(rpc.caller);
    rpc.stack_text = {rpc.caller + ".py:7 (get)"};
    out.rpcs.push_back(rpc);
  }
  return out;
}

TEST(CallsWithoutEnd, AreNamedWithTheirCallSite) {
  EXPECT_EQ(calls_without_end(chain({"a"}, 150)),
            "service 'a' seems to call itself without end: a -> a GET /a is 150 levels deep, at "
            "a.py:7 (get)");
  EXPECT_EQ(calls_without_end(chain({"a", "b", "c"}, 303)),
            "service 'a' seems to call itself without end, by way of 'b': a -> b GET /b is 101 "
            "levels deep, at a.py:7 (get)");
}

TEST(CallsWithoutEnd, AreNotThoseOfALongChainOrManyCallsSideBySide) {
  EXPECT_EQ(calls_without_end(chain({"a"}, 100)), "");
  ExecutionRecord loop = chain({"a"}, 1000);
  for (RpcRecord& rpc : loop.rpcs) rpc.parent_rpc = rpc.rpc == 1 ? 0 : 1;
  EXPECT_EQ(calls_without_end(loop), "");
  EXPECT_EQ(calls_without_end({}), "");
}

// Two attempts of one call under a sequence: the first acted and got no answer, the second was answered.
ExecutionResult twice(const std::string& method) {
  ExecutionResult out;
  out.exit = ExitStatus{};
  for (uint32_t attempt : {1u, 2u}) {
    RpcRecord rpc;
    rpc.rpc = attempt;
    rpc.index = Hash128{1, attempt};
    rpc.attempt_of = Hash128{1, 1};
    rpc.attempt = attempt;
    rpc.caller = "cart";
    rpc.service = "orders";
    rpc.method = method;
    rpc.target = "/orders";
    rpc.open = false;
    rpc.outcome = attempt == 1 ? RpcOutcome::kTimedOut : RpcOutcome::kAnswered;
    rpc.status = attempt == 1 ? 0 : 200;
    if (attempt == 1) {
      rpc.injected = true;
      rpc.fault = default_mutation_fault().attempts.rules[0].outcome;
    }
    out.record.rpcs.push_back(rpc);
  }
  return out;
}

TEST(Judgement, APassIsAFindingWhereTheServerDidTwiceWhatItMustDoOnce) {
  PlannedRpcFault planned;
  planned.index = Hash128{1, 1};
  planned.fault = default_mutation_fault();
  const Judgement judgement = judge(twice("POST"), {planned});
  EXPECT_EQ(judgement.verdict, Verdict::kDoneTwice);
  EXPECT_TRUE(is_failure(judgement.verdict));
  EXPECT_EQ(verdict_name(judgement.verdict), "possible-silent-violation");
  EXPECT_NE(
      judgement.detail.find("POST /orders succeeded at the server by attempt 1 and attempt 2"),
      std::string::npos)
      << judgement.detail;
  EXPECT_EQ(judge(twice("PUT"), {planned}).verdict, Verdict::kPassed);
  MutationRule once;
  once.path = "/orders";
  once.idempotent = true;
  EXPECT_EQ(judge(twice("POST"), {planned}, {once}).verdict, Verdict::kPassed);
  ExecutionResult failed = twice("POST");
  failed.exit->code = 1;
  EXPECT_EQ(judge(failed, {planned}).verdict, Verdict::kFailed) << "the failure says more";
}

}  // namespace
}  // namespace filibuster
