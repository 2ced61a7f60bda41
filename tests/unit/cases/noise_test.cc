#include "daemon/cases/noise.h"

#include <gtest/gtest.h>

#include "tests/unit/cases/recipe.h"

namespace filibuster::cases {
namespace {

using Pointers = std::vector<std::string>;

class NoiseTest : public ::testing::Test {
 protected:
  NoiseTest() : case_(order_case()) {
    set_.service = "orders";
    case_.file = "/cases/a.json";
  }

  static Verdict answer(std::vector<FieldDifference> fields) {
    Verdict out;
    out.judged = Judged::kDiffers;
    out.differences.push_back({DifferenceKind::kAnswer, {}, {}, {}, std::move(fields), "", 0});
    return out;
  }
  static Verdict input(size_t call, std::vector<FieldDifference> fields) {
    Verdict out = answer(std::move(fields));
    out.differences[0].kind = DifferenceKind::kInput;
    out.differences[0].call = call;
    return out;
  }

  Case case_;
  CaseSet set_;
  Noise noise_{&set_};
};

TEST_F(NoiseTest, WhatHasAnotherValueInEachReplayIsMasked) {
  noise_.saw(case_, answer({{"/json/id", "7", "8"}, {"/json/total", "950", "1"}}));
  EXPECT_TRUE(noise_.is_open(case_));
  EXPECT_FALSE(noise_.take().any()) << "one replay says nothing";
  noise_.saw(case_, answer({{"/json/id", "7", "9"}, {"/json/total", "950", "1"}}));
  EXPECT_FALSE(noise_.is_open(case_));
  const Varying found = noise_.take();
  ASSERT_EQ(found.masks.size(), 1u);
  EXPECT_EQ(found.masks[0].response, Pointers{"/id"});
  EXPECT_EQ(found.masks[0].service, "orders");
  EXPECT_EQ(found.masks[0].path, "/orders");
  EXPECT_EQ(found.words, Pointers{"the answer to POST /orders: /json/id"});
  EXPECT_FALSE(noise_.take().any()) << "it is told once";
}

TEST_F(NoiseTest, AStatusAMissingFieldAndATextAreNoNoise) {
  for (const char* now : {"500", "502"})
    noise_.saw(case_, answer({{"/status", "201", now}, {"/text", "\"a\"", now}}));
  for (const char* now : {"", "1"}) noise_.saw(case_, answer({{"/json/id", "7", now}}));
  EXPECT_FALSE(noise_.take().any());
}

TEST_F(NoiseTest, AHeaderOfAnAnswer) {
  for (const char* now : {"\"a\"", "\"b\""})
    noise_.saw(case_, answer({{"/headers/x-request-id", "\"c\"", now}}));
  const Varying found = noise_.take();
  EXPECT_TRUE(found.masks.empty());
  EXPECT_EQ(found.headers, Pointers{"x-request-id"});
  ASSERT_TRUE(add(found, &set_).ok());
  EXPECT_EQ(set_.varying_headers, Pointers{"x-request-id"});
}

TEST_F(NoiseTest, ASegmentAQueryAndAMemberOfACall) {
  for (const char* name : {"x1", "y2"}) {
    noise_.saw(case_,
               input(1, {{"/target", "\"/prices/7\"", "\"/prices/" + std::string(name) + "\""},
                         {"/query/at~1by", "\"1\"", "\"" + std::string(name) + "\""}}));
    noise_.saw(case_, input(3, {{"/json/to", "\"ann\"", "\"" + std::string(name) + "\""}}));
  }
  const Varying found = noise_.take();
  ASSERT_EQ(found.masks.size(), 2u);
  EXPECT_EQ(found.masks[0].caller, "orders");
  EXPECT_EQ(found.masks[0].service, "pricing");
  EXPECT_EQ(found.masks[0].path, "/prices/*");
  EXPECT_EQ(found.masks[0].path_segments, std::vector<uint32_t>{2});
  EXPECT_EQ(found.masks[0].query, Pointers{"at/by"});
  EXPECT_EQ(found.masks[1].json, Pointers{"/to"});
}

TEST_F(NoiseTest, APathOfAnotherLengthIsAnotherCall) {
  for (const char* now : {"\"/prices/7/8\"", "\"/prices\""})
    noise_.saw(case_, input(1, {{"/target", "\"/prices/7\"", now}}));
  EXPECT_FALSE(noise_.take().any());
}

TEST_F(NoiseTest, AWordOfACommandButNotItsName) {
  for (const char* now : {"\"a\"", "\"b\""})
    noise_.saw(case_, input(2, {{"/call/0", "\"SET\"", now}, {"/call/2", "\"950\"", now}}));
  const Varying found = noise_.take();
  ASSERT_EQ(found.masks.size(), 1u);
  EXPECT_EQ(found.masks[0].method, "SET");
  EXPECT_EQ(found.masks[0].path, "price:*");
  EXPECT_EQ(found.masks[0].json, Pointers{"/2"});
}

TEST_F(NoiseTest, TheElementsOfAListAreOneIfAllOfThemVary) {
  case_.answer.body = R"({"items":[{"id":1,"n":1},{"id":2,"n":2},{"id":3,"n":3}]})";
  for (const char* now : {"8", "9"})
    noise_.saw(case_, answer({{"/json/items/0/id", "1", now},
                              {"/json/items/1/id", "2", now},
                              {"/json/items/2/id", "3", now},
                              {"/json/items/0/n", "1", now},
                              {"/json/items/1/n", "2", now}}));
  const Varying found = noise_.take();
  ASSERT_EQ(found.masks.size(), 1u);
  EXPECT_EQ(found.masks[0].response, (Pointers{"/items/*/id", "/items/0/n", "/items/1/n"}));
}

TEST_F(NoiseTest, AnythingOfSeveralTypesMayHaveAny) {
  for (const char* now : {"8", "9"})
    noise_.saw(case_, answer({{"/json/id", "7", now}, {"/json/by", "null", now}}));
  Varying found = noise_.take();
  ASSERT_EQ(found.masks.size(), 1u);
  EXPECT_EQ(found.masks[0].response, (Pointers{"/by", "/id"}));
  ASSERT_EQ(found.any_type.size(), 1u);
  EXPECT_EQ(found.any_type[0].response, Pointers{"/by"});
  ASSERT_TRUE(add(found, &set_).ok());
  // What is masked shows another type in a later replay.
  noise_.saw(case_, answer({{"/json/id", "a number", "no value"}}));
  found = noise_.take();
  EXPECT_TRUE(found.masks.empty());
  ASSERT_EQ(found.any_type.size(), 1u);
  EXPECT_EQ(found.any_type[0].response, Pointers{"/id"});
}

TEST_F(NoiseTest, AHeaderThatVariesMayBeMissingIfItWasOnce) {
  for (const char* now : {"\"a\"", "\"b\""})
    noise_.saw(case_, answer({{"/headers/x-id", "\"c\"", now}, {"/headers/via", "\"v\"", ""}}));
  Varying found = noise_.take();
  EXPECT_EQ(found.headers, Pointers{"x-id"});
  EXPECT_TRUE(found.optional_headers.empty());
  ASSERT_TRUE(add(found, &set_).ok());
  noise_.saw(case_, answer({{"/headers/x-id", "*", ""}}));
  found = noise_.take();
  EXPECT_EQ(found.optional_headers, Pointers{"x-id"});
  ASSERT_TRUE(add(found, &set_).ok());
  EXPECT_EQ(set_.optional_headers, Pointers{"x-id"});
}

TEST_F(NoiseTest, ACallThatIsMadeByAnotherPathByChanceIsNoNoise) {
  for (const char* now : {"\"/rates/7\"", "\"/costs/7\""}) {
    Verdict verdict = input(1, {{"/target", "\"/prices/7\"", now}});
    verdict.differences[0].is_moved = true;
    noise_.saw(case_, verdict);
  }
  EXPECT_FALSE(noise_.take().any());
}

TEST_F(NoiseTest, WhereOtherElementsComeInAnotherOrderTheyAreMasked) {
  case_.answer.body = R"({"tags":["a","b","c"]})";
  noise_.saw(case_,
             answer({{"/json/tags/0", "\"a\"", "\"b\""}, {"/json/tags/1", "\"b\"", "\"a\""}}));
  noise_.saw(case_,
             answer({{"/json/tags/0", "\"a\"", "\"x\""}, {"/json/tags/1", "\"b\"", "\"a\""}}));
  const Varying found = noise_.take();
  EXPECT_TRUE(found.unordered.empty());
  ASSERT_EQ(found.masks.size(), 1u);
  EXPECT_EQ(found.masks[0].response, Pointers{"/tags/*"});
}

TEST_F(NoiseTest, OfListsInListsTheInnerOneIsTheFirstWithoutAnOrder) {
  case_.answer.body = R"({"rows":[["a","b"],["c","d"]]})";
  const auto exchanged = [&](std::string now, std::string other) {
    for (int i = 0; i < 2; ++i)
      noise_.saw(case_, answer({{"/json/rows/0/" + std::to_string(i), now, other},
                                {"/json/rows/1/" + std::to_string(i), other, now}}));
    Verdict passed;
    passed.judged = Judged::kPassed;
    noise_.saw(case_, passed);
  };
  exchanged("\"a\"", "\"c\"");
  Varying found = noise_.take();
  ASSERT_EQ(found.unordered.size(), 1u);
  EXPECT_EQ(found.unordered[0].response, Pointers{"/rows/*/*"});
  ASSERT_TRUE(add(found, &set_).ok());
  exchanged("\"a\"", "\"c\"");
  found = noise_.take();
  ASSERT_EQ(found.unordered.size(), 1u);
  EXPECT_EQ(found.unordered[0].response, Pointers{"/rows/*"});
}

TEST_F(NoiseTest, AListWithoutAnOrderIsOneAlsoWhereAnElementStaysAtItsPlace) {
  case_.answer.body = R"({"tags":["a","b","c"]})";
  noise_.saw(case_,
             answer({{"/json/tags/0", "\"a\"", "\"b\""}, {"/json/tags/1", "\"b\"", "\"a\""}}));
  noise_.saw(case_,
             answer({{"/json/tags/0", "\"a\"", "\"c\""}, {"/json/tags/2", "\"c\"", "\"a\""}}));
  const Varying found = noise_.take();
  EXPECT_TRUE(found.masks.empty());
  ASSERT_EQ(found.unordered.size(), 1u);
  EXPECT_EQ(found.unordered[0].response, Pointers{"/tags/*"});
}

TEST_F(NoiseTest, ElementsThatComeToVaryLaterGoIntoTheRuleOfTheirList) {
  case_.answer.body = R"({"tags":[1,2]})";
  for (const char* now : {"8", "9"}) noise_.saw(case_, answer({{"/json/tags/0", "1", now}}));
  ASSERT_TRUE(add(noise_.take(), &set_).ok());
  EXPECT_EQ(set_.masks[0].response, Pointers{"/tags/0"});
  for (const char* now : {"8", "9"}) noise_.saw(case_, answer({{"/json/tags/1", "2", now}}));
  ASSERT_TRUE(add(noise_.take(), &set_).ok());
  EXPECT_EQ(set_.masks[0].response, Pointers{"/tags/*"});
}

TEST_F(NoiseTest, WhatWasAsRecordedOnceAndAnotherTimeIsNotVaries) {
  noise_.saw(case_, answer({{"/json/now", "100", "101"}}));
  noise_.saw(case_, answer({{"/json/now", "100", "101"}}));
  EXPECT_FALSE(noise_.take().any());
  Verdict passed;
  passed.judged = Judged::kPassed;
  noise_.saw(case_, passed);
  EXPECT_TRUE(noise_.take().any());
}

TEST_F(NoiseTest, AFieldThatOnlyOneOfTwoReplaysTellsOfVaries) {
  noise_.saw(case_, answer({{"/json/total", "950", "1"}, {"/json/id", "7", "8"}}));
  noise_.saw(case_, answer({{"/json/total", "950", "1"}}));
  const Varying found = noise_.take();
  ASSERT_EQ(found.masks.size(), 1u);
  EXPECT_EQ(found.masks[0].response, Pointers{"/id"});
}

TEST_F(NoiseTest, OnlyTheFirstDivergenceCounts) {
  for (const char* now : {"8", "9"}) {
    Verdict verdict = input(2, {{"/call/2", "\"950\"", "\"1\""}});
    verdict.differences.push_back(answer({{"/json/id", "7", now}}).differences[0]);
    noise_.saw(case_, verdict);
  }
  EXPECT_FALSE(noise_.take().any());
}

TEST_F(NoiseTest, MoreThanASetCanHaveIsRefused) {
  Varying all;
  for (int i = 0; i < 600; ++i) {
    NondeterminismRule rule;
    rule.service = "orders";
    rule.path = "/orders/" + std::to_string(i);
    rule.response = {"/id"};
    all.masks.push_back(rule);
  }
  EXPECT_FALSE(add(all, &set_).ok());
  EXPECT_TRUE(set_.masks.empty());
}

}  // namespace
}  // namespace filibuster::cases
