#include "daemon/retries/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "daemon/retries/pair_cover.h"
#include "daemon/retries/plan_file.h"

namespace filibuster::retries {
namespace {

// The four of the paper.
std::vector<Policy> published() {
  return choose_policies(all_policies({}), "P1,P2,P3,P4").value();
}

// The pairs of a plan, "0:1 1:0", each once.
std::string pairs(const CoveragePlan& plan) {
  std::string out;
  Pair last{UINT32_MAX, 0};
  for (const Choice& choice : plan.choices) {
    if (Pair{choice.test, choice.site} == last) continue;
    last = {choice.test, choice.site};
    out +=
        (out.empty() ? "" : " ") + std::to_string(choice.test) + ":" + std::to_string(choice.site);
  }
  return out;
}

// Three tests of 1, 2 and 4 seconds, and three call sites.
Reference small() {
  Reference out;
  out.sites = {"a.py:1", "a.py:2", "a.py:3"};
  const auto at = [](uint32_t site) {
    return SiteReached{.site = site, .retries = true, .attempts = 3};
  };
  out.tests = {
      {"cheap", 1, {at(1), at(0)}}, {"middle", 2, {at(1)}}, {"dear", 4, {at(0), at(2), at(1)}}};
  return out;
}

CoveragePlan plan(const Reference& reference, Metric metric) {
  auto made = plan_coverage(reference, metric, published());
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  return made.ok() ? std::move(made).value() : CoveragePlan{};
}

TEST(Coverage, C1TakesEveryTestAtItsFirstCall) {
  EXPECT_EQ(pairs(plan(small(), Metric::kC1)), "0:1 1:1 2:0");
}

TEST(Coverage, C2TakesEveryCallSiteOnceInTheCheapestTest) {
  EXPECT_EQ(pairs(plan(small(), Metric::kC2)), "0:1 0:0 2:2");
}

TEST(Coverage, C3TakesEveryTestAndEveryCallSiteAtTheLeastTime) {
  EXPECT_EQ(pairs(plan(small(), Metric::kC3)), "0:0 1:1 2:2");
}

// The server answers the first call of `cheap` with an error of its own.
TEST(Coverage, CallsThatFewerPoliciesFitStandForNoOthers) {
  Reference reference = small();
  reference.tests[0].sites[0].own_error = true;
  EXPECT_EQ(pairs(plan(reference, Metric::kC1)), "0:0 1:1 2:0");
  EXPECT_EQ(pairs(plan(reference, Metric::kC2)), "0:0 1:1 2:2");
  EXPECT_EQ(pairs(plan(reference, Metric::kC3)), "0:0 1:1 2:2");
  const CoveragePlan all = plan(reference, Metric::kC4);
  std::string policies;
  for (const Choice& choice : all.choices)
    if (choice.test == 0) policies += std::to_string(choice.site) + choice.policy + " ";
  EXPECT_EQ(policies, "1P3 0P1 0P2 0P3 0P4 ");
}

TEST(Coverage, WhatNoOtherTestReachesIsTakenAsItIs) {
  Reference reference = small();
  for (ReferenceTest& test : reference.tests) {
    for (SiteReached& site : test.sites) site.own_error = site.site == 1;
  }
  EXPECT_EQ(pairs(plan(reference, Metric::kC1)), "0:0 1:1 2:0");
  EXPECT_EQ(pairs(plan(reference, Metric::kC2)), "0:1 0:0 2:2");
}

TEST(Coverage, C4TakesEveryCallSiteOfEveryTest) {
  const CoveragePlan all = plan(small(), Metric::kC4);
  EXPECT_EQ(pairs(all), "0:1 0:0 1:1 2:0 2:2 2:1");
  EXPECT_TRUE(all.untried.empty());
  EXPECT_EQ(all.choices.size(), 6u * 4);
  EXPECT_DOUBLE_EQ(all.seconds, 4 * (2 * 1 + 2 + 3 * 4));
}

TEST(Coverage, SaysWhatIsLeftUntried) {
  EXPECT_EQ(plan(small(), Metric::kC1).untried, (std::vector<Pair>{{0, 0}, {2, 1}, {2, 2}}));
  EXPECT_EQ(plan(small(), Metric::kC3).untried, (std::vector<Pair>{{0, 1}, {2, 0}, {2, 1}}));
}

TEST(Coverage, TakesTwoPoliciesWhereAClientDoesNotRetry) {
  Reference reference = small();
  reference.tests.resize(1);
  reference.tests[0].sites = {{.site = 0, .retries = false}};
  const CoveragePlan made = plan(reference, Metric::kC4);
  ASSERT_EQ(made.choices.size(), 2u);
  EXPECT_EQ(made.choices[0].policy, "P1");
  EXPECT_EQ(made.choices[1].policy, "P3");
}

TEST(Coverage, EstimatesWhatSilencesWait) {
  const ReferenceTest test{"t", 0.25, {}};
  const SiteReached site{.site = 0, .retries = true, .attempts = 3, .timeout_seconds = 0.5};
  const auto all = published();
  EXPECT_DOUBLE_EQ(estimate(test, site, all[0]), 0.25 + 0.5);
  EXPECT_DOUBLE_EQ(estimate(test, site, all[1]), 0.25 + 1.5);
  EXPECT_DOUBLE_EQ(estimate(test, site, all[2]), 0.25);
  EXPECT_DOUBLE_EQ(estimate(test, site, all[3]), 0.25 + 0.5);
}

TEST(Coverage, EstimatesWhatAClientWaitsBeforeItTriesAgain) {
  const ReferenceTest test{"t", 0.25, {}};
  SiteReached site{.site = 0, .retries = true, .attempts = 3, .backoff_seconds = 2};
  const auto all = published();
  EXPECT_DOUBLE_EQ(estimate(test, site, all[0]), 0.25) << "what a silence takes has the wait in it";
  EXPECT_DOUBLE_EQ(estimate(test, site, all[2]), 0.25 + 2 * 2) << "nothing follows the last one";
  EXPECT_DOUBLE_EQ(estimate(test, site, all[3]), 0.25 + 2);
  site.retries = false;
  EXPECT_DOUBLE_EQ(estimate(test, site, all[2]), 0.25);
}

TEST(Coverage, AnEstimateDoesNotWrapAfterADayNorLoseItsFraction) {
  EXPECT_EQ(duration_text(100'000.25), "27 h 46 min 40.25 s");
  EXPECT_EQ(duration_text(3'600'000.001), "1000 h 0 min 0.001 s");
  EXPECT_EQ(duration_text(61), "1 min 1 s");
  EXPECT_EQ(duration_text(0.5), "0.5 s");
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(59.9999), "1 min 0 s");
  EXPECT_EQ(duration_text(-1), "unknown");
  Reference reference;
  reference.sites = {"a"};
  reference.tests = {{"long", 90'000.125, {{.site = 0, .retries = true}}}};
  EXPECT_DOUBLE_EQ(plan(reference, Metric::kC4).seconds, 4 * 90'000.125);
}

TEST(Coverage, WhatTheReferenceCannotHaveIsAnError) {
  const auto error = [](Reference reference) {
    const auto made = plan_coverage(reference, Metric::kC1, published());
    return made.ok() ? std::string("none") : made.error().message;
  };
  Reference reference = small();
  reference.tests[1].sites.clear();
  EXPECT_NE(error(reference).find("'middle' reaches no call site"), std::string::npos);
  reference = small();
  reference.tests[0].sites[0].site = 3;
  EXPECT_NE(error(reference).find("not there"), std::string::npos);
  reference = small();
  reference.tests[0].sites[0].site = 0;
  EXPECT_NE(error(reference).find("twice"), std::string::npos);
  reference = small();
  reference.tests[0].seconds = std::nan("");
  EXPECT_NE(error(reference).find("duration"), std::string::npos);
  EXPECT_TRUE(plan_coverage({}, Metric::kC3, published())->choices.empty());
}

TEST(Coverage, MetricsHaveNames) {
  for (const Metric metric : {Metric::kC1, Metric::kC2, Metric::kC3, Metric::kC4})
    EXPECT_EQ(parse_metric(metric_name(metric)).value(), metric);
  EXPECT_FALSE(parse_metric("C5").ok());
}

// The least cost of all covers, by trying every set of pairs.
double by_brute_force(uint32_t left, uint32_t right, const std::vector<CoverEdge>& edges) {
  double best = std::numeric_limits<double>::max();
  for (uint32_t set = 0; set < 1u << edges.size(); ++set) {
    std::set<uint32_t> lefts, rights;
    double cost = 0;
    for (size_t e = 0; e < edges.size(); ++e) {
      if ((set >> e & 1) == 0) continue;
      lefts.insert(edges[e].left);
      rights.insert(edges[e].right);
      cost += edges[e].cost;
    }
    if (lefts.size() == left && rights.size() == right) best = std::min(best, cost);
  }
  return best;
}

TEST(PairCover, IsAsCheapAsTheBestOfAllSetsOfPairs) {
  std::mt19937 random(20);
  for (int round = 0; round < 300; ++round) {
    const uint32_t left = 1 + random() % 5, right = 1 + random() % 5;
    // Costs of tests alone make ties; a part of each pair breaks them.
    const bool ties = round % 2 == 0;
    std::vector<double> seconds(left);
    for (double& one : seconds) one = 0.1 + static_cast<double>(random() % 50) / 10;
    std::set<std::pair<uint32_t, uint32_t>> there;
    for (uint32_t l = 0; l < left; ++l) there.insert({l, random() % right});
    for (uint32_t r = 0; r < right; ++r) there.insert({random() % left, r});
    while (there.size() < std::min<size_t>({14, size_t{left} * right, 3 + random() % 12}))
      there.insert({random() % left, random() % right});
    std::vector<CoverEdge> edges;
    for (const auto& [l, r] : there)
      edges.push_back({l, r, seconds[l] + (ties ? 0 : static_cast<double>(random() % 100) / 37)});
    const auto cover = cheapest_cover(left, right, edges, 10);
    ASSERT_TRUE(cover.ok()) << cover.error().message;
    const double best = by_brute_force(left, right, edges);
    EXPECT_NEAR(cover->cost, best, 1e-9) << "round " << round;
    EXPECT_NEAR(cover->lower_bound, best, 1e-6) << "round " << round;
    double cost = 0;
    std::set<uint32_t> lefts, rights;
    for (const size_t e : cover->edges) {
      cost += edges[e].cost;
      lefts.insert(edges[e].left);
      rights.insert(edges[e].right);
    }
    EXPECT_DOUBLE_EQ(cost, cover->cost);
    EXPECT_EQ(lefts.size(), left);
    EXPECT_EQ(rights.size(), right);
  }
}

TEST(PairCover, WhatNothingCoversIsAnError) {
  EXPECT_FALSE(cheapest_cover(2, 1, {{0, 0, 1}}, 1).ok());
  EXPECT_FALSE(cheapest_cover(1, 2, {{0, 0, 1}}, 1).ok());
  EXPECT_FALSE(cheapest_cover(1, 1, {{0, 1, 1}}, 1).ok());
  EXPECT_FALSE(cheapest_cover(1, 1, {{0, 0, 0}}, 1).ok());
  EXPECT_TRUE(cheapest_cover(0, 0, {}, 1)->edges.empty());
}

TEST(PairCover, ASolverThatIsStoppedStillGivesACoverAndSaysHowFarItMayBeOff) {
  std::mt19937 random(3);
  constexpr uint32_t kLeft = 3000, kRight = 800;
  std::vector<CoverEdge> edges;
  for (uint32_t l = 0; l < kLeft; ++l) {
    for (int i = 0; i < 12; ++i)
      edges.push_back({l, static_cast<uint32_t>(random() % kRight),
                       0.1 + static_cast<double>(random() % 10'000) / 1000});
  }
  for (uint32_t r = 0; r < kRight; ++r)
    edges.push_back({static_cast<uint32_t>(random() % kLeft), r, 1});
  const auto cover = cheapest_cover(kLeft, kRight, edges, 0);
  ASSERT_TRUE(cover.ok()) << cover.error().message;
  EXPECT_TRUE(cover->stopped);
  EXPECT_LE(cover->lower_bound, cover->cost);
  std::vector<bool> lefts(kLeft), rights(kRight);
  for (const size_t e : cover->edges) lefts[edges[e].left] = rights[edges[e].right] = true;
  EXPECT_EQ(std::count(lefts.begin(), lefts.end(), false), 0);
  EXPECT_EQ(std::count(rights.begin(), rights.end(), false), 0);
}

TEST(PlanFile, IsReadAsItWasWritten) {
  const Reference reference = small();
  const PlanFile file = to_file(plan(reference, Metric::kC3), reference, published());
  const std::string json = to_json(file);
  const auto read = parse_plan(json);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), file);
  EXPECT_EQ(read->faults.front().attempts, "timeout:after when=1");
  EXPECT_EQ(to_json(read.value()), json);
}

TEST(PlanFile, SaysWhatIsWrongWithAText) {
  const auto error = [](const std::string& json) {
    const auto read = parse_plan(json);
    return read.ok() ? std::string("none") : read.error().message;
  };
  EXPECT_EQ(error("[]"), "the plan is no JSON object");
  EXPECT_NE(error(R"({"version": 2})").find("version 2"), std::string::npos);
  EXPECT_NE(error(R"({"metric": "C1"})").find("version is missing"), std::string::npos);
  const std::string head =
      R"({"version":1,"metric":"C1","estimate_seconds":1,"gap":0,"untried":[],"faults":)";
  EXPECT_EQ(error(head + "[]}"), "none");
  EXPECT_NE(error(head + R"([{"test":"a"}]})").find("faults[0] of the plan: call_site is missing"),
            std::string::npos);
  EXPECT_NE(
      error(
          head +
          R"([{"test":"a","call_site":"b","policy":"P1","attempts":"nothing","estimate_seconds":1}]})")
          .find("attempts: "),
      std::string::npos);
  EXPECT_NE(
      error(R"({"version":1,"metric":"C9","estimate_seconds":1,"gap":0,"untried":[],"faults":[]})")
          .find("C9"),
      std::string::npos);
  EXPECT_NE(
      error(R"({"version":1,"metric":"C1","estimate_seconds":-1,"gap":0,"untried":[],"faults":[]})")
          .find("below 0"),
      std::string::npos);
}

}  // namespace
}  // namespace filibuster::retries
