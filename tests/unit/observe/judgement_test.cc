#include "daemon/observe/judgement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/fault/attempts.h"
#include "tests/unit/observe/record_recipe.h"

namespace filibuster::test {
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

ExecutionResult result_with_exit(int code) {
  ExecutionResult result;
  result.exit = ExitStatus{false, code};
  return result;
}

TEST(Judgement, APassIsAPassAndAFailureAFailure) {
  EXPECT_EQ(judge(result_with_exit(0), {}).verdict, Verdict::kPassed);
  EXPECT_EQ(judge(result_with_exit(1), {}).verdict, Verdict::kFailed);
  EXPECT_EQ(judge(result_with_exit(1), {}).detail, "exit status 1");
}

TEST(Judgement, AFailureWithoutItsFaultIsNoFinding) {
  PlannedRpcFault planned;
  planned.index = Hash128{1, 2};
  planned.fault = fault("refused");
  EXPECT_EQ(judge(result_with_exit(1), {planned}).verdict, Verdict::kPlanNotMet);
  EXPECT_EQ(judge(result_with_exit(0), {planned}).verdict, Verdict::kPlanNotMet);
  ExecutionResult result = result_with_exit(1);
  RpcRecord rpc;
  rpc.index = planned.index;
  rpc.injected = true;
  result.record.rpcs = {rpc};
  EXPECT_EQ(judge(result, {planned}).verdict, Verdict::kFailed);
  result.record.not_injected = {{NoConclusion::kBusyMachine, "lease expired"}};
  EXPECT_EQ(judge(result, {planned}).verdict, Verdict::kPlanNotMet);
}

TEST(Judgement, LostEventsAndNewNamesAreNeverAPass) {
  ExecutionResult lost = result_with_exit(0);
  lost.record.lost_events = 1;
  EXPECT_EQ(judge(lost, {}).verdict, Verdict::kIncomplete);
  ExecutionResult named = result_with_exit(0);
  named.record.names_changed = true;
  EXPECT_EQ(judge(named, {}).verdict, Verdict::kIncomplete);
}

TEST(Judgement, WhatWentUnseenIsRepeatedAndThenListed) {
  ExecutionResult result = result_with_exit(0);
  EXPECT_TRUE(is_settled(result.record));
  result.record.unseen = {{"users", "127.0.0.1:5001", "movies", 2},
                          {"users", "127.0.0.1:5002", "", 1}};
  const Judgement judgement = judge(result, {});
  EXPECT_EQ(judgement.verdict, Verdict::kIncomplete);
  EXPECT_NE(judgement.detail.find("2 of users to movies; 1 of users to 127.0.0.1:5002"),
            std::string::npos)
      << judgement.detail;
  EXPECT_FALSE(is_settled(result.record));
  KeptConnections kept;
  kept.leave_out(&result.record);
  EXPECT_FALSE(is_settled(result.record));
  ExecutionResult next = result;
  next.record.unseen.push_back({"users", "127.0.0.1:5003", "", 1});
  kept.settle_as_it_is(&result.record);
  EXPECT_TRUE(is_settled(result.record));
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kPassed);
  ASSERT_EQ(result.record.not_interposed.size(), 2u);
  EXPECT_EQ(result.record.not_interposed[0].target_service, "movies");
  EXPECT_EQ(result.record.not_interposed[0].reason, "http2-open-before");
  EXPECT_EQ(result.record.not_interposed[0].times, 2u);
  kept.leave_out(&next.record);
  ASSERT_EQ(next.record.unseen.size(), 1u) << "only those that were listed";
  EXPECT_EQ(next.record.unseen[0].peer, "127.0.0.1:5003");
}

TEST(Judgement, ConnectionsOfAnAttachedServiceFromBeforeAreAReasonToRepeatHoweverOftenTheyComeUp) {
  ExecutionResult result = result_with_exit(0);
  result.record.unseen = {{"users", "", "", 2, /*attached=*/true}};
  EXPECT_TRUE(uses_old_connections(result.record));
  KeptConnections kept;
  kept.settle_as_it_is(&result.record);
  kept.leave_out(&result.record);
  EXPECT_FALSE(is_settled(result.record)) << "each of them ends, so they grow fewer";
  const Judgement judgement = judge(result, {});
  EXPECT_EQ(judgement.verdict, Verdict::kIncomplete);
  EXPECT_EQ(judgement.cause, NoConclusion::kOpenBefore);
  EXPECT_EQ(
      judgement.detail,
      "requests from or to users were not seen, since they went over connections that were open before it was attached");
  result.record.unseen.clear();
  EXPECT_FALSE(uses_old_connections(result.record));
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kPassed);
}

TEST(Judgement, ACrashIsNamedWithItsSignalEvenIfTheTestPasses) {
  ExecutionResult result = result_with_exit(0);
  result.ended = {{"users", ExitStatus{true, 11}, ""}, {"movies", ExitStatus{false, 3}, ""}};
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kCrashed);
  EXPECT_EQ(judge(result, {}).detail, "users ended by SIGSEGV; movies ended with exit status 3");
}

TEST(Judgement, ACrashIsAFindingWhicheverFaultsFired) {
  PlannedRpcFault planned;
  planned.index = Hash128{1, 2};
  planned.fault = fault("refused");
  ExecutionResult result = result_with_exit(0);
  result.ended = {{"users", ExitStatus{true, 11}, ""}};
  const Judgement judgement = judge(result, {planned});
  EXPECT_EQ(judgement.verdict, Verdict::kCrashed);
  EXPECT_FALSE(judgement.plan_met);
  EXPECT_NE(judgement.detail.find("users ended by SIGSEGV; plan not met: "), std::string::npos);
}

TEST(Judgement, AServiceStartedByHandThatEndedIsNamed) {
  ExecutionResult result = result_with_exit(0);
  result.ended = {{"users", {}, "", true}};
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kCrashed);
  EXPECT_EQ(judge(result, {}).detail, "users (started by hand) ended");
}

TEST(Judgement, ASilenceThatLastedUntilTheHangLimitIsAFinding) {
  ExecutionResult result = result_with_exit(0);
  RpcRecord rpc;
  rpc.caller = "users";
  rpc.hang_limit = {HangLimit::Reached::kBySilence, 6'000'000'000};
  result.record.rpcs = {rpc};
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kNoTimeout);
  EXPECT_EQ(judge(result, {}).detail, "users: caller still waited after 6 s for an answer");
  result.record.rpcs[0].hang_limit.without_limit = true;
  EXPECT_EQ(judge(result, {}).detail, "users: caller has no timeout (hang limit 6.0 s reached)");
}

TEST(Judgement, OfATestThatFailsItSaysWhoStillWaited) {
  ExecutionResult result = result_with_exit(1);
  RpcRecord rpc;
  rpc.caller = "users";
  rpc.hang_limit = {HangLimit::Reached::kByStall, 6'000'000'000};
  result.record.rpcs = {RpcRecord{}, rpc};
  const Judgement judgement = judge(result, {});
  EXPECT_EQ(judgement.verdict, Verdict::kFailed);
  EXPECT_EQ(judgement.detail,
            "exit status 1; users: caller still waited after 6 s for the rest of the body");
}

TEST(Judgement, ATestThatDoesNotEndIsAFinding) {
  ExecutionResult result;
  result.timed_out = true;
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kTestTimeout);
}

TEST(Judgement, OpenRpcsAfterAPassAreNotQuiescent) {
  ExecutionResult result = result_with_exit(0);
  result.record.quiescent = false;
  result.record.still_open = {"users -> movies"};
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kNotQuiescent);
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
}  // namespace filibuster::test
