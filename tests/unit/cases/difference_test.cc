#include "daemon/cases/difference.h"

#include <gtest/gtest.h>

#include "tests/unit/cases/recipe.h"

namespace filibuster::cases {
namespace {

// A service that is replayed: what it sends, in order, each call behind the answer of the one
// before it.
class Replayed : public ::testing::Test {
 protected:
  Replayed() : case_(order_case()) {
    for (const Call& call : case_.calls) sent_.push_back(live(call.input, call.site));
    end_.answer = case_.answer;
  }

  Verdict replay(const std::vector<std::string>& doubts = {}) {
    matcher_.begin(&case_);
    for (const LiveCall& call : sent_) matcher_.answered(matcher_.arrive(call).arrival);
    return judge(case_, matcher_, end_, rules_, doubts);
  }

  static std::vector<std::string> kinds(const Verdict& verdict) {
    std::vector<std::string> out;
    for (const Difference& each : verdict.differences) out.emplace_back(difference_name(each.kind));
    return out;
  }

  Case case_;
  std::vector<LiveCall> sent_;
  EntryEnd end_;
  Rules rules_ = plain_rules();
  Matcher matcher_{&rules_, nullptr};
};

using Kinds = std::vector<std::string>;

TEST_F(Replayed, TheSameCallsAndAnswerPass) {
  const Verdict verdict = replay();
  EXPECT_EQ(verdict.judged, Judged::kPassed);
  EXPECT_TRUE(verdict.differences.empty());
  EXPECT_EQ(verdict.served, 4u);
}

TEST_F(Replayed, ACaseWithoutCallsPassesByItsAnswer) {
  case_.calls.clear();
  sent_.clear();
  EXPECT_EQ(replay().judged, Judged::kPassed);
}

TEST_F(Replayed, ExchangedCallsAreAnotherOrder) {
  std::swap(sent_[1], sent_[2]);
  const Verdict verdict = replay();
  EXPECT_EQ(verdict.judged, Judged::kDiffers);
  EXPECT_EQ(kinds(verdict), Kinds{"order"});
  EXPECT_EQ(verdict.differences[0].call, 2u);
  EXPECT_EQ(verdict.differences[0].before, 1u);
}

TEST_F(Replayed, CallsBesideEachOtherMayBeExchanged) {
  std::swap(sent_[2], sent_[3]);  // the mail stands behind the price alone
  EXPECT_EQ(replay().judged, Judged::kPassed);
}

TEST_F(Replayed, AnotherQueryIsAnotherInput) {
  sent_[1].input.http.target = "/prices/7?vat=1";
  const Verdict verdict = replay();
  ASSERT_EQ(kinds(verdict), Kinds{"input"});
  EXPECT_EQ(verdict.differences[0].call, 1u);
  EXPECT_EQ(verdict.differences[0].fields,
            (std::vector<FieldDifference>{{"/query/vat", "", "\"1\""}}));
}

TEST_F(Replayed, AnotherKeyIsAnotherInput) {
  sent_[2].input = redis_input(R"(["SET", "price:8", "950"])");
  const Verdict verdict = replay();
  ASSERT_EQ(kinds(verdict), Kinds{"input"});
  EXPECT_EQ(verdict.differences[0].fields,
            (std::vector<FieldDifference>{{"/call/1", "\"price:7\"", "\"price:8\""}}));
}

TEST_F(Replayed, ACallByAnotherPathIsAnotherInput) {
  sent_[1].input.http.target = "/v2/price?of=7";
  sent_.resize(2);  // it got an error, and the service gave up
  end_.answer.status = 502;
  const Verdict verdict = replay();
  ASSERT_EQ(kinds(verdict), (Kinds{"input", "missing", "missing", "answer"}));
  EXPECT_EQ(verdict.differences[0].call, 1u);
  EXPECT_TRUE(verdict.differences[0].is_moved);
  EXPECT_EQ(verdict.differences[0].text,
            "call 1, GET /prices/7 of pricing, brings something else: /target: \"/v2/price\", not "
            "\"/prices/7\"; /query/of is new: \"7\"");
}

TEST_F(Replayed, WhichOfTwoExtraCallsAMissingOneBecameIsNotKnown) {
  sent_[1].input.http.target = "/v2/price";
  sent_.insert(sent_.begin() + 1, live(http_input("pricing", "GET", "/v2/vat")));
  EXPECT_EQ(kinds(replay()), (Kinds{"extra", "extra", "missing"}));
}

TEST_F(Replayed, ACallToAnotherServiceIsAnotherCall) {
  sent_[1].input.to = "prices";
  sent_[1].input.http.target = "/v2/price";
  EXPECT_EQ(kinds(replay()), (Kinds{"extra", "missing"}));
}

TEST_F(Replayed, ADroppedWriteIsMissing) {
  sent_.erase(sent_.begin() + 2);
  const Verdict verdict = replay();
  ASSERT_EQ(kinds(verdict), Kinds{"missing"});
  EXPECT_EQ(verdict.differences[0].call, 2u);
  EXPECT_EQ(verdict.differences[0].text, "call 2 did not come: SET price:7 950 of cache");
}

TEST_F(Replayed, AFurtherCallIsExtra) {
  sent_.insert(sent_.begin() + 1, live(http_input("audit", "POST", "/log")));
  const Verdict verdict = replay();
  ASSERT_EQ(kinds(verdict), Kinds{"extra"});
  EXPECT_EQ(verdict.differences[0].arrival, 1u);
}

TEST_F(Replayed, AnAnswerDiffersByField) {
  end_.answer.body = "{\"id\":7,\"total\":960,\"note\":\"x\"}\n";
  end_.answer.status = 200;
  const Verdict verdict = replay();
  ASSERT_EQ(kinds(verdict), Kinds{"answer"});
  EXPECT_EQ(verdict.differences[0].text,
            "the answer is another: /status: 200, not 201; /json/total: 960, not 950; "
            "/json/note is new: \"x\"");
}

TEST_F(Replayed, NoAnswerIsAnotherAnswer) {
  end_.answer = {};
  end_.answer.silence = true;
  ASSERT_EQ(kinds(replay()), Kinds{"answer"});
}

TEST_F(Replayed, WhatFollowsTheFirstDivergenceComesAfterwards) {
  sent_.resize(2);
  sent_[1].input.http.target = "/prices/8";
  end_.answer.status = 500;
  const Verdict verdict = replay();
  EXPECT_EQ(kinds(verdict), (Kinds{"input", "missing", "missing", "answer"}));
  EXPECT_EQ(verdict.differences[0].call, 1u);
}

TEST_F(Replayed, AMissingCallBeforeAnExtraOneIsTheFinding) {
  sent_.erase(sent_.begin());
  sent_.push_back(live(http_input("audit", "POST", "/log")));
  EXPECT_EQ(kinds(replay()), (Kinds{"missing", "extra"}));
}

TEST_F(Replayed, AnExtraCallIsTheFindingWhereItsErrorKeepsTheNextOnesAway) {
  sent_.resize(3);
  sent_[2] = live(http_input("audit", "POST", "/log"));
  end_.answer.status = 502;
  EXPECT_EQ(kinds(replay()), (Kinds{"extra", "missing", "missing", "answer"}));
}

TEST_F(Replayed, AMissingAttemptIsNamedWithItsNumber) {
  Call again = case_.calls[3];
  again.after = {3};
  again.attempt_of = 3;
  case_.calls.push_back(again);
  const Verdict verdict = replay();
  ASSERT_EQ(kinds(verdict), Kinds{"missing"});
  EXPECT_NE(verdict.differences[0].text.find("attempt 2 of call 3"), std::string::npos);
}

TEST_F(Replayed, AnInputIsThatOfTheSameSiteFirst) {
  case_.calls[1].site = "other";
  Call same = case_.calls[1];
  same.site = "same";
  same.after = {};
  case_.calls.push_back(same);
  sent_[1].input.http.target = "/prices/8";
  sent_[1].site = "same";
  EXPECT_EQ(replay().differences[0].call, 4u);
}

TEST_F(Replayed, WithoutAProofNothingIsConcluded) {
  const Verdict lost = replay({"3 events were lost"});
  EXPECT_EQ(lost.judged, Judged::kNoConclusion);
  EXPECT_EQ(lost.why, "3 events were lost");
  end_.not_sent = "connection refused";
  EXPECT_EQ(replay().judged, Judged::kNoConclusion);
}

TEST_F(Replayed, ACallThatCouldNotBeFollowedIsNoConclusion) {
  sent_[1].cause = Cause::kUnseen;
  EXPECT_EQ(replay().judged, Judged::kNoConclusion);
}

TEST_F(Replayed, AnUnrecordedCallOfTheProcessIsNoDivergenceOfTheCase) {
  sent_.push_back(live(http_input("config", "GET", "/poll"), "", Cause::kProcess));
  const Verdict verdict = replay();
  EXPECT_EQ(verdict.judged, Judged::kNoConclusion);
  EXPECT_TRUE(verdict.differences.empty());
}

TEST_F(Replayed, ASetOfWhichNothingCameProvesNothing) {
  const Verdict passed = replay();
  sent_.clear();
  const Verdict silent = replay();
  EXPECT_EQ(silent.judged, Judged::kDiffers);
  EXPECT_EQ(judge_set({silent, silent}), Judged::kNoConclusion);
  EXPECT_EQ(judge_set({silent, passed}), Judged::kDiffers);
  EXPECT_EQ(judge_set({passed, passed}), Judged::kPassed);
  EXPECT_EQ(judge_set({}), Judged::kNoConclusion);
  EXPECT_EQ(judge_set({passed, replay({"doubt"})}), Judged::kNoConclusion);
}

}  // namespace
}  // namespace filibuster::cases
