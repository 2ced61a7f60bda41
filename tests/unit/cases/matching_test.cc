#include "daemon/cases/matching.h"

#include <gtest/gtest.h>

#include "tests/unit/cases/recipe.h"

namespace filibuster::cases {
namespace {

// The body of what answers, or "miss".
std::string asked(Matcher* matcher, const LiveCall& call) {
  const Decision decision = matcher->arrive(call);
  matcher->answered(decision.arrival);
  if (decision.answer == nullptr) return "miss";
  return decision.answer->reply ? decision.answer->reply->dump() : decision.answer->answer.body;
}

class Matching : public ::testing::Test {
 protected:
  Case case_;
  Rules rules_ = plain_rules();
  Matcher matcher_{&rules_, nullptr};
};

TEST_F(Matching, EachCallGetsItsOwnAnswer) {
  case_ = order_case();
  matcher_.begin(&case_);
  EXPECT_EQ(asked(&matcher_, live(redis_input(R"(["get", "price:7"])"))), "null");
  EXPECT_EQ(asked(&matcher_, live(http_input("pricing", "GET", "/prices/7"))), R"({"cents":950})");
  EXPECT_EQ(asked(&matcher_, live(http_input("mail", "POST", "/send", R"({ "to": "ann" })"))), "");
  EXPECT_EQ(asked(&matcher_, live(redis_input(R"(["SET", "price:7", "950"])"))),
            R"({"status":"OK"})");
  EXPECT_EQ(matcher_.pool().taken(), 4u);
  EXPECT_TRUE(matcher_.broken().empty());
}

TEST_F(Matching, EqualCallsAreAnsweredInTheirOrder) {
  add_call(&case_, http_input("ids", "POST", "/next"), "1");
  add_call(&case_, http_input("ids", "POST", "/next"), "2");
  matcher_.begin(&case_);
  EXPECT_EQ(asked(&matcher_, live(http_input("ids", "POST", "/next"))), "1");
  EXPECT_EQ(asked(&matcher_, live(http_input("ids", "POST", "/next"))), "2");
  EXPECT_EQ(asked(&matcher_, live(http_input("ids", "POST", "/next"))), "miss");
  EXPECT_NE(matcher_.arrivals().back().problem.find("answered already"), std::string::npos);
}

TEST_F(Matching, ACaseThatIsOverStillAnswersItsCalls) {
  ProcessRecord process;
  Matcher first(&rules_, &process);
  Case of = order_case(), next = order_case();
  first.begin(&of);
  first.end();
  Matcher second = first;
  second.begin(&next);
  EXPECT_EQ(asked(&first, live(redis_input(R"(["get", "price:7"])"))), "null");
  EXPECT_EQ(first.pool().taken(), 1u);
  EXPECT_EQ(second.pool().taken(), 0u);
  EXPECT_TRUE(second.arrivals().empty());
  // Both are of one process.
  LiveCall by_itself = live(http_input("ids", "GET", "/other"));
  by_itself.cause = Cause::kProcess;
  EXPECT_EQ(asked(&second, by_itself), "miss");
  EXPECT_EQ(first.process_misses().size(), 1u);
}

TEST_F(Matching, TheSiteTellsEqualCallsApart) {
  add_call(&case_, http_input("ids", "POST", "/next"), "first", "aaaa");
  add_call(&case_, http_input("ids", "POST", "/next"), "second", "bbbb");
  matcher_.begin(&case_);
  EXPECT_EQ(asked(&matcher_, live(http_input("ids", "POST", "/next"), "bbbb")), "second");
  EXPECT_EQ(asked(&matcher_, live(http_input("ids", "POST", "/next"), "aaaa")), "first");
}

TEST_F(Matching, ASiteThatIsNotKnownStopsNothing) {
  add_call(&case_, http_input("ids", "POST", "/next"), "first", "aaaa");
  matcher_.begin(&case_);
  EXPECT_EQ(asked(&matcher_, live(http_input("ids", "POST", "/next"), "moved")), "first");
}

TEST_F(Matching, AttemptsOfOneCallAreAnsweredInTheirOrderWhateverTheirSites) {
  add_call(&case_, http_input("pay", "POST", "/pay", "x"), "failed", "aaaa");
  add_call(&case_, http_input("pay", "POST", "/pay", "x"), "failed again", "bbbb")->attempt_of = 0;
  add_call(&case_, http_input("pay", "POST", "/pay", "x"), "done", "cccc")->attempt_of = 0;
  matcher_.begin(&case_);
  EXPECT_EQ(asked(&matcher_, live(http_input("pay", "POST", "/pay", "x"), "cccc")), "failed");
  EXPECT_EQ(asked(&matcher_, live(http_input("pay", "POST", "/pay", "x"), "cccc")), "failed again");
  EXPECT_EQ(asked(&matcher_, live(http_input("pay", "POST", "/pay", "x"), "aaaa")), "done");
}

TEST_F(Matching, AnAttemptThatBringsSomethingElseIsNoAnswer) {
  add_call(&case_, http_input("pay", "POST", "/pay", "1"), "failed");
  add_call(&case_, http_input("pay", "POST", "/pay", "2"), "done")->attempt_of = 0;
  matcher_.begin(&case_);
  EXPECT_EQ(asked(&matcher_, live(http_input("pay", "POST", "/pay", "2"))), "miss");
  EXPECT_EQ(asked(&matcher_, live(http_input("pay", "POST", "/pay", "1"))), "failed");
  EXPECT_EQ(asked(&matcher_, live(http_input("pay", "POST", "/pay", "2"))), "done");
}

TEST_F(Matching, TheNearestCallIsShownAndNeverServed) {
  case_ = order_case();
  matcher_.begin(&case_);
  const Decision decision =
      matcher_.arrive(live(http_input("mail", "POST", "/send", R"({"to":"eve"})"), "c7713b0e"));
  EXPECT_EQ(decision.answer, nullptr);
  EXPECT_EQ(decision.problem,
            "no recorded call answers POST /send of mail; the nearest is call 3, POST /send of "
            "mail (/json/to: \"eve\", not \"ann\")");
  EXPECT_EQ(matcher_.pool().taken(), 0u);
}

TEST_F(Matching, OfTwoNearOnesTheOneWithFewerDifferencesIsShown) {
  add_call(&case_, http_input("a", "POST", "/x", R"({"p":1,"q":1})"), "");
  add_call(&case_, http_input("a", "POST", "/x", R"({"p":2,"q":1})"), "");
  add_call(&case_, http_input("b", "POST", "/x", R"({"p":2,"q":2})"), "");
  matcher_.begin(&case_);
  EXPECT_NE(matcher_.arrive(live(http_input("a", "POST", "/x", R"({"p":2,"q":2})")))
                .problem.find("call 1"),
            std::string::npos);
}

TEST_F(Matching, ACallOfAnotherServiceIsNoAnswer) {
  add_call(&case_, http_input("a", "GET", "/x"), "a");
  matcher_.begin(&case_);
  EXPECT_EQ(asked(&matcher_, live(http_input("b", "GET", "/x"))), "miss");
}

TEST_F(Matching, ACallWithoutACauseGetsOnlyWhatWasRecordedWithoutOne) {
  add_call(&case_, http_input("a", "GET", "/x"), "with");
  add_call(&case_, http_input("a", "GET", "/x"), "without")->cause_known = false;
  matcher_.begin(&case_);
  EXPECT_EQ(asked(&matcher_, live(http_input("a", "GET", "/x"), "", Cause::kNone)), "without");
  EXPECT_EQ(asked(&matcher_, live(http_input("a", "GET", "/x"), "", Cause::kNone)), "miss");
  EXPECT_EQ(asked(&matcher_, live(http_input("a", "GET", "/x"))), "with");
}

TEST_F(Matching, ACallThatNobodyKnowsIsNeverAnswered) {
  add_call(&case_, http_input("a", "GET", "/x"), "x");
  matcher_.begin(&case_);
  EXPECT_EQ(asked(&matcher_, live(http_input("a", "GET", "/x"), "", Cause::kUnseen)), "miss");
}

TEST_F(Matching, AnEdgeIsBrokenWhereACallComesBeforeTheAnswer) {
  add_call(&case_, http_input("a", "GET", "/1"), "");
  add_call(&case_, http_input("a", "GET", "/2"), "");
  matcher_.begin(&case_);
  const Decision first = matcher_.arrive(live(http_input("a", "GET", "/1")));
  matcher_.arrive(live(http_input("a", "GET", "/2")));
  matcher_.answered(first.arrival);
  EXPECT_EQ(matcher_.broken(), (std::vector<std::pair<size_t, size_t>>{{0, 1}}));
  // The next replay of the case knows nothing of this one.
  matcher_.begin(&case_);
  EXPECT_TRUE(matcher_.broken().empty());
  EXPECT_EQ(asked(&matcher_, live(http_input("a", "GET", "/1"))), "");
  EXPECT_EQ(asked(&matcher_, live(http_input("a", "GET", "/2"))), "");
  EXPECT_TRUE(matcher_.broken().empty());
}

TEST_F(Matching, CallsThatStoodBesideEachOtherMayComeInAnyOrder) {
  add_call(&case_, http_input("a", "GET", "/1"), "");
  add_call(&case_, http_input("a", "GET", "/2"), "")->after = {};
  matcher_.begin(&case_);
  matcher_.arrive(live(http_input("a", "GET", "/2")));
  matcher_.arrive(live(http_input("a", "GET", "/1")));
  EXPECT_TRUE(matcher_.broken().empty());
}

class ProcessMatching : public ::testing::Test {
 protected:
  ProcessMatching() {
    for (const char* answer : {"one", "two"}) {
      Call call;
      call.input = http_input("config", "GET", "/poll");
      call.answer.status = 200;
      call.answer.body = answer;
      process_.calls.push_back(call);
    }
    process_.openings["cache"] = {
        {json_of_text(R"(["HELLO", "3"])"), json_of_text(R"({"map":[]})")},
        {json_of_text(R"(["SELECT", "2"])"), json_of_text(R"({"status":"OK"})")}};
  }
  ProcessRecord process_;
  Rules rules_ = plain_rules();
};

TEST_F(ProcessMatching, APollGoesOnWithTheLastAnswer) {
  Matcher matcher(&rules_, &process_);
  const LiveCall poll = live(http_input("config", "GET", "/poll"), "", Cause::kProcess);
  EXPECT_EQ(asked(&matcher, poll), "one");
  const Case running = order_case();
  matcher.begin(&running);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(asked(&matcher, poll), "two");
  EXPECT_TRUE(matcher.process_misses().empty());
  EXPECT_EQ(matcher.pool().taken(), 0u);
}

TEST_F(ProcessMatching, ACaseDoesNotTakeWhatBelongsToTheProcess) {
  Matcher matcher(&rules_, &process_);
  Case running = order_case();
  matcher.begin(&running);
  EXPECT_EQ(asked(&matcher, live(http_input("config", "GET", "/poll"))), "miss");
  EXPECT_TRUE(matcher.process_misses().empty());
}

TEST_F(ProcessMatching, WhereNoCaseRunsCallsAreThoseOfTheProcess) {
  Matcher matcher(&rules_, &process_);
  EXPECT_EQ(asked(&matcher, live(http_input("config", "GET", "/poll"), "", Cause::kNone)), "one");
  EXPECT_EQ(asked(&matcher, live(http_input("config", "GET", "/other"))), "miss");
  EXPECT_EQ(matcher.process_misses().size(), 1u);
}

TEST_F(ProcessMatching, EachConnectionIsOpenedWithTheSameReplies) {
  const Matcher matcher(&rules_, &process_);
  for (int i = 0; i < 2; ++i) {
    const Opening* opening = matcher.opening("cache", json_of_text(R"(["select", "2"])"));
    ASSERT_NE(opening, nullptr);
    EXPECT_EQ(opening->reply, json_of_text(R"({"status":"OK"})"));
  }
  EXPECT_EQ(matcher.opening("cache", json_of_text(R"(["SELECT", "3"])")), nullptr);
  EXPECT_EQ(matcher.opening("other", json_of_text(R"(["SELECT", "2"])")), nullptr);
}

TEST(CallPool, TwoReplaysDecideTheSame) {
  const Case of = order_case();
  const Rules rules = plain_rules();
  for (int round = 0; round < 2; ++round) {
    CallPool pool(&of.calls, rules, false);
    for (size_t i = 0; i < of.calls.size(); ++i) EXPECT_EQ(pool.take(pool.keys(i), "", false), i);
  }
}

}  // namespace
}  // namespace filibuster::cases
