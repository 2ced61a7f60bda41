#include "daemon/lint/probes.h"

#include <gtest/gtest.h>

#include "tests/unit/lint/recipe.h"

namespace filibuster::lint {
namespace {

constexpr uint64_t kMs = Recipe::kMillisecond;

// Attempts at one request that fail by our fault but for the last; `gaps` between them.
Recipe retries(const std::vector<uint64_t>& gaps, const char* fault = "status:503") {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  uint64_t now = 20 * kMs;
  for (size_t i = 0; i <= gaps.size(); ++i) {
    RpcRecord& rpc = recipe.call(1, "front", "users", "GET /users/7");
    rpc.issued_ns = now;
    rpc.finished_ns = now + kMs / 10;
    rpc.injected = i < gaps.size();
    if (rpc.injected) rpc.fault = parse_fault(fault).value();
    if (i < gaps.size()) now = rpc.finished_ns + gaps[i];
  }
  return recipe;
}

std::optional<Finding> judged(const Recipe& recipe) {
  const Rpcs attempts = attempts_of(recipe.record, Hash128{1, 2});
  RetryGaps gaps;
  gaps.add(attempts);
  if (!gaps.immediate()) return std::nullopt;
  return retry_without_backoff(attempts, gaps);
}

TEST(RetryWithoutBackoffTest, TwoRetriesAtOnceAreFoundWithTheirGaps) {
  const auto finding = judged(retries({kMs / 2, kMs}));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_NE(finding->text.find("2 times under status:503, 0.5 ms and 1.0 ms after"),
            std::string::npos)
      << finding->text;
  EXPECT_EQ(finding->calls.size(), 3u);
}

TEST(SilenceTest, AClientThatCancelsItsStreamGaveUp) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  RpcRecord& rpc = recipe.call(1, "front", "cart", "POST /shop.CartService/GetCart");
  Recipe::grpc(&rpc, kNoGrpcStatus);
  rpc.injected = true;
  rpc.fault = parse_fault("timeout").value();
  rpc.outcome = RpcOutcome::kReset;
  rpc.stream_error = 8;  // CANCEL
  EXPECT_EQ(judge_silence(recipe.record, rpc.index), Silence::kGaveUp);
  rpc.stream_error = 2;
  EXPECT_EQ(judge_silence(recipe.record, rpc.index), Silence::kNotSeen);
}

TEST(RetryWithoutBackoffTest, OneRetryProvesNothing) {
  EXPECT_FALSE(judged(retries({kMs})));
}

TEST(RetryWithoutBackoffTest, AWaitIsABackoff) {
  EXPECT_FALSE(judged(retries({10 * kMs, 10 * kMs})));
  EXPECT_FALSE(judged(retries({kMs / 2, 100 * kMs})));
  EXPECT_FALSE(judged(retries({100 * kMs, kMs})));
}

TEST(RetryWithoutBackoffTest, AGapThatGrowsIsABackoffWithinTheBoundOfASchedulerToo) {
  EXPECT_FALSE(judged(retries({1 * kMs, 9 * kMs})));
  EXPECT_TRUE(judged(retries({1 * kMs, 5 * kMs})));
}

TEST(RetryWithoutBackoffTest, ARequestSentBeforeTheFailureIsNoRetry) {
  Recipe recipe = retries({kMs, kMs});
  recipe.record.rpcs[2].issued_ns = recipe.record.rpcs[1].finished_ns - 1;
  EXPECT_FALSE(judged(recipe));
}

TEST(RetryWithoutBackoffTest, TheShortestGapOfSeveralExecutionsCounts) {
  RetryGaps gaps;
  for (const auto& measured : {std::vector<uint64_t>{60 * kMs, kMs}, {kMs, 30 * kMs}}) {
    EXPECT_FALSE(gaps.immediate());
    const Recipe recipe = retries(measured);
    gaps.add(attempts_of(recipe.record, Hash128{1, 2}));
    EXPECT_TRUE(gaps.worth_measuring());
  }
  EXPECT_TRUE(gaps.immediate());
  EXPECT_EQ(gaps.shortest(), (std::vector<uint64_t>{kMs, kMs}));
}

TEST(RetryWithoutBackoffTest, AWaitThatIsLongEnoughIsNotMeasuredAgain) {
  RetryGaps gaps;
  const Recipe recipe = retries({kMs, 100 * kMs});
  gaps.add(attempts_of(recipe.record, Hash128{1, 2}));
  EXPECT_FALSE(gaps.worth_measuring());
}

TEST(AttemptsTest, OnlyTheSameRequestForTheSameIncomingRequestIsAnAttempt) {
  Recipe recipe = retries({kMs});
  recipe.call(1, "front", "users", "GET /users/8");
  recipe.call(1, "front", "movies", "GET /users/7");
  recipe.from_test("front", "GET /");
  recipe.call(6, "front", "users", "GET /users/7");
  EXPECT_EQ(attempts_of(recipe.record, Hash128{1, 2}).size(), 2u);
  EXPECT_TRUE(attempts_of(recipe.record, Hash128{1, 99}).empty());
}

Recipe silent(HangLimit::Reached reached, RpcOutcome outcome) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  RpcRecord& rpc = recipe.call(1, "front", "users", "GET /users/7");
  rpc.injected = true;
  rpc.fault = parse_fault("timeout").value();
  rpc.hang_limit.reached = reached;
  rpc.outcome = outcome;
  return recipe;
}

TEST(NoTimeoutTest, ASilenceThatLastsUntilTheLimitIsFound) {
  const Recipe recipe = silent(HangLimit::Reached::kBySilence, RpcOutcome::kReset);
  EXPECT_EQ(judge_silence(recipe.record, Hash128{1, 2}), Silence::kWaitsOn);
  const Finding finding = no_timeout(recipe.record.rpcs[1], std::chrono::milliseconds(1500));
  EXPECT_EQ(finding.severity, Severity::kError);
  EXPECT_NE(finding.text.find("after 1.5 s of silence it still waited"), std::string::npos)
      << finding.text;
}

TEST(NoTimeoutTest, ACallerThatGivesUpHasATimeout) {
  EXPECT_EQ(
      judge_silence(silent(HangLimit::Reached::kNot, RpcOutcome::kTimedOut).record, Hash128{1, 2}),
      Silence::kGaveUp);
}

TEST(NoTimeoutTest, ASilenceThatDidNotHappenProvesNothing) {
  EXPECT_EQ(
      judge_silence(silent(HangLimit::Reached::kNot, RpcOutcome::kReset).record, Hash128{1, 2}),
      Silence::kNotSeen);
  EXPECT_EQ(
      judge_silence(silent(HangLimit::Reached::kNot, RpcOutcome::kTimedOut).record, Hash128{1, 1}),
      Silence::kNotSeen);
  EXPECT_EQ(judge_silence({}, Hash128{1, 2}), Silence::kNotSeen);
}

TEST(ObstacleTest, OnlyWhatHasACauseAndAFinalIndexIsProbed) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  RpcRecord& rpc = recipe.call(1, "front", "users", "GET /users/7");
  EXPECT_EQ(obstacle_to_probe(rpc), "");
  rpc.flags = kRpcPreliminary;
  EXPECT_NE(obstacle_to_probe(rpc), "");
  rpc.flags = 0;
  rpc.cause = Cause::kNone;
  EXPECT_NE(obstacle_to_probe(rpc), "");
}

}  // namespace
}  // namespace filibuster::lint
