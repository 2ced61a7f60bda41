#include <gtest/gtest.h>

#include "daemon/lint/values.h"
#include "tests/unit/lint/recipe.h"

namespace filibuster::lint {
namespace {

// front asks `first` and then `second` for one request of the test.
struct Two {
  explicit Two(const std::string& answer, const std::string& request,
               const std::string& own = R"({"title": "Creed"})",
               const std::string& incoming = "GET /") {
    recipe.from_test("front", incoming, own);
    first = &recipe.call(1, "front", "users", "GET /users/7", answer, 10);
    second = &recipe.call(1, "front", "movies", request, R"({"title": "Creed"})", 20);
  }
  size_t forwarded() const { return found(recipe, Lint::kForwardedResponse).size(); }
  size_t chained() const { return found(recipe, Lint::kCallChain).size(); }
  Recipe recipe;
  RpcRecord *first, *second;
};

TEST(ForwardedResponseTest, AFieldThatBecomesASegmentOfThePathIsFound) {
  const Two two(R"({"favourite": "267e-edb8"})", "GET /movies/267e-edb8");
  const auto findings = found(two.recipe, Lint::kForwardedResponse);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  EXPECT_NE(findings[0].text.find("front takes 'favourite' of the answer to GET /users/7 of users "
                                  "straight into the path of GET /movies/267e-edb8 of movies"),
            std::string::npos)
      << findings[0].text;
  EXPECT_EQ(findings[0].calls[0].place(), "/app/front.py:20 (handle)");
}

TEST(ForwardedResponseTest, QueryBodyFormNumberAndEscapesAreRead) {
  EXPECT_EQ(Two(R"({"id": 41237})", "GET /movies?id=41237").forwarded(), 1u);
  EXPECT_EQ(Two(R"({"id": "a b/c"})", "GET /movies/a%20b%2Fc").forwarded(), 1u);
  EXPECT_EQ(Two(R"(["x", {"y": "267e-edb8"}])", "GET /movies?q=267e-edb8").forwarded(), 1u);
  EXPECT_EQ(Two("267e-edb8\n", "GET /movies/267e-edb8").forwarded(), 1u);
  EXPECT_EQ(Two(R"({"next": "/movies/1?page=2"})", "GET /movies/1?page=2").forwarded(), 1u);
  Two json(R"({"id": "267e-edb8"})", "POST /movies");
  json.recipe.body(json.second, R"({"movie": {"id": "267e-edb8"}})");
  EXPECT_EQ(json.forwarded(), 1u);
  Two form(R"({"id": "267e edb8"})", "POST /movies");
  form.recipe.body(form.second, "kind=a&movie=267e+edb8");
  EXPECT_EQ(form.forwarded(), 1u);
}

TEST(ForwardedResponseTest, ShortAndCommonValuesTellNothing) {
  EXPECT_EQ(Two(R"({"id": 412})", "GET /movies/412").forwarded(), 0u);
  EXPECT_EQ(Two(R"({"state": "Active"})", "GET /movies?state=Active").forwarded(), 0u);
  EXPECT_EQ(Two(R"({"ok": true})", "GET /movies?ok=true").forwarded(), 0u);
}

TEST(ForwardedResponseTest, WhatTheCallerHadBeforeIsNotTakenFromTheAnswer) {
  EXPECT_EQ(
      Two(R"({"user": "chris"})", "GET /movies?by=chris", "{}", "GET /users/chris").forwarded(),
      0u);
  EXPECT_EQ(Two(R"({"kind": "users"})", "GET /movies/users").forwarded(), 0u);
  Two earlier(R"({"id": "267e-edb8"})", "GET /movies/267e-edb8");
  earlier.second->issued_ns = earlier.first->finished_ns - 1;
  EXPECT_EQ(earlier.forwarded(), 0u);
}

TEST(ForwardedResponseTest, AFailureOrAnotherIncomingRequestPassesNothingOn) {
  Two failed(R"({"id": "267e-edb8"})", "GET /movies/267e-edb8");
  failed.first->status = 404;
  EXPECT_EQ(failed.forwarded(), 0u);
  Recipe other;
  other.from_test("front", "GET /");
  other.from_test("front", "GET /");
  other.call(1, "front", "users", "GET /users/7", R"({"id": "267e-edb8"})");
  other.call(2, "front", "movies", "GET /movies/267e-edb8");
  EXPECT_TRUE(found(other, Lint::kForwardedResponse).empty());
}

TEST(ForwardedResponseTest, AListThatIsWalkedIsOneFinding) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  recipe.call(1, "front", "users", "GET /users/7", R"({"movies": ["m-001", "m-002", "m-003"]})",
              10);
  for (const char* target : {"GET /movies/m-001", "GET /movies/m-002", "GET /movies/m-003"})
    recipe.call(1, "front", "movies", target, "{}", 20);
  const auto findings = found(recipe, Lint::kForwardedResponse);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].calls.size(), 4u);
  EXPECT_TRUE(found(recipe, Lint::kCallChain).empty());
  EXPECT_EQ(found(recipe, Lint::kNPlusOne).size(), 1u);
}

TEST(CallChainTest, AnAnswerThatOnlyNamesWhatIsAskedNextIsFound) {
  const Two two(R"({"favourite": "267e-edb8"})", "GET /movies/267e-edb8");
  const auto findings = found(two.recipe, Lint::kCallChain);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_NE(findings[0].text.find("front asks users (GET /users/7 of users) only to ask movies"),
            std::string::npos)
      << findings[0].text;
}

TEST(CallChainTest, AnAnswerOfWhichMoreIsUsedIsNone) {
  const std::string answer = R"({"favourite": "267e-edb8", "user": "Chris"})";
  EXPECT_EQ(Two(answer, "GET /movies/267e-edb8").chained(), 1u);
  EXPECT_EQ(Two(answer, "GET /movies/267e-edb8", R"({"of": "Chris", "title": "Creed"})").chained(),
            0u);
  EXPECT_EQ(Two(answer, "GET /movies/267e-edb8", R"({"id": "267e-edb8"})").chained(), 0u);
  // The name of a member can be data.
  EXPECT_EQ(
      Two(R"({"20151201": "267e-edb8"})", "GET /movies/267e-edb8", R"({"20151201": 1})").chained(),
      0u);
  Two third(answer, "GET /movies/267e-edb8");
  third.recipe.call(1, "front", "mail", "POST /mail?to=Chris", "{}", 30);
  EXPECT_EQ(third.chained(), 0u);
}

TEST(CallChainTest, WhatCannotBeSeenCountsAsUsed) {
  Two cut(R"({"favourite": "267e-edb8"})", "GET /movies/267e-edb8");
  cut.recipe.record.rpcs[0].response_size += 1;
  EXPECT_EQ(cut.chained(), 0u);
  EXPECT_EQ(cut.forwarded(), 1u);
  Two page(R"({"favourite": "267e-edb8"})", "GET /movies/267e-edb8", "<html> a page </html>");
  EXPECT_EQ(page.chained(), 0u);
  Two cut_source(R"({"favourite": "267e-edb8", "more": "ab)", "GET /movies/267e-edb8");
  cut_source.first->response_size += 100;
  EXPECT_EQ(cut_source.forwarded(), 1u);
  EXPECT_EQ(cut_source.chained(), 0u);
}

// --- values ---

TEST(ValuesTest, ACutTextGivesWhatStandsBeforeTheCut) {
  const Body body = read_body(R"({"a": "whole", "b": {"c": 12345}, "d": "cu)", false);
  ASSERT_EQ(body.values.size(), 2u);
  EXPECT_EQ(body.values[1].text, "12345");
  EXPECT_EQ(body.values[1].name, "c");
  EXPECT_FALSE(body.whole);
  EXPECT_TRUE(read_body(R"({"a": 1234)", false).values.empty()) << "may go on";
  EXPECT_EQ(read_body("a=xxxx&b=yyy", false).values.size(), 1u);
}

TEST(ValuesTest, NamesReturnAfterANestedObject) {
  const Body body = read_body(R"({"a": [{"b": "x"}, "y"], "c": -1.50})", true);
  ASSERT_EQ(body.values.size(), 3u);
  EXPECT_EQ(body.values[1].name, "a");
  EXPECT_EQ(body.values[2].text, "-1.50");
  EXPECT_TRUE(body.whole);
}

TEST(ValuesTest, ACommandToRedisHasItsArguments) {
  Recipe recipe;
  RpcRecord& rpc = recipe.from_test("cache", "GET user:*");
  Recipe::redis(&rpc, "");
  rpc.body_sample = R"(["user:4711","EX","60"])";
  std::vector<std::string> texts;
  for (const Value& value : values_of_request(rpc)) {
    EXPECT_EQ(value.name, "argument");
    texts.push_back(value.text);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"user:4711", "EX", "60"}));
}

TEST(ValuesTest, OtherTextsHoldNoValues) {
  EXPECT_TRUE(read_body("<html>hello there</html>", true).values.empty());
  EXPECT_TRUE(read_body("{not json", true).values.empty());
  EXPECT_FALSE(read_body("{not json", true).whole);
  EXPECT_TRUE(read_body("\x1f\x8b\x08", true).values.empty());
  EXPECT_TRUE(read_body("", true).whole);
}

}  // namespace
}  // namespace filibuster::lint
