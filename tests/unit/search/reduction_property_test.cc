// Reduction against an explorer that shares nothing with it: every set of faults that can be met at
// all is run. What is claimed (search.h "Expansion"): each group of RPCs with outcomes that any
// of those runs shows is shown by some run of the reduced search, hence each outcome of each
// service.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "tests/unit/search/simulated_application.h"

namespace filibuster::search {
namespace {

// A random but deterministic application: services 0..n-1 call services of higher number. What a
// service does next is a function of its name and of the outcomes it saw.
SimulatedApplication random_application(uint64_t seed) {
  std::mt19937_64 random(seed);
  const int services = 2 + static_cast<int>(random() % 4);
  const int calls = 1 + static_cast<int>(random() % 3);
  SimulatedApplication app;
  for (int i = 0; i < services; ++i) {
    const std::string name = "s" + std::to_string(i);
    app.service(name, [=](Caller& c) -> std::string {
      Hash128 state = combine(hash_text(name), seed);
      for (int done = 0;; ++done) {
        for (size_t at = c.seen().size() - (done > 0 ? 1 : 0); at < c.seen().size(); ++at) {
          state = combine(state, hash_text(c.seen()[at]));
        }
        const uint64_t choice = state.lo >> 8;
        if (i + 1 == services || done == calls || choice % 4 == 0) {
          // "status:418" and the fallback's answer are no configured faults, and what stands behind
          // '=' is the body of a failure.
          constexpr const char* kAnswers[] = {"status:200", "status:200",
                                              "status:500", "status:500=json",
                                              "status:418", "status:200 fallback"};
          return kAnswers[choice / 4 % 6];
        }
        c.call("s" + std::to_string(i + 1 + static_cast<int>(choice / 4 % (services - i - 1))));
      }
    });
    const char* kSets[][2] = {
        {"status:503", "status:500"}, {"refused", "timeout"}, {"timeout:after", "status:500"}};
    const auto& set = kSets[random() % 3];
    if (random() % 8 != 0) app.faults(name, {set[0]});
    if (random() % 2 == 0) app.faults(name, {set[1]});
  }
  const int first = static_cast<int>(random() % 2);
  app.test([first](Caller& c) {
    c.call("s0");
    return first == 0 ? kOk : c.call("s" + std::to_string(first));
  });
  return app;
}

struct BruteForce {
  std::set<GroupSeen> groups;
  size_t runs = 0;
  bool complete = true;
};

BruteForce brute_force(SimulatedApplication& app, size_t limit, bool in_order = true) {
  BruteForce seen;
  std::set<FaultSet> known{{}};
  std::vector<FaultSet> waiting{{}};
  while (!waiting.empty()) {
    if (seen.runs == limit) {
      seen.complete = false;
      break;
    }
    const FaultSet plan = std::move(waiting.back());
    waiting.pop_back();
    const SimulatedRun run = app.run(plan);
    if (run.faults_met < plan.size()) continue;  // some fault prevents the RPC of another
    ++seen.runs;
    seen.groups.merge(groups_of(run, in_order));
    for (const ObservedRpc& rpc : run.rpcs) {
      for (OutcomeId fault : rpc.faults) {
        FaultSet more = plan;
        if (more.emplace(rpc.index, fault).second && known.insert(more).second) {
          waiting.push_back(std::move(more));
        }
      }
    }
  }
  return seen;
}

void expect_all_shown(const Exploration& reduced, const BruteForce& all) {
  ASSERT_FALSE(reduced.repeated);
  ASSERT_LE(reduced.counts.executed, all.runs);
  for (const GroupSeen& group : all.groups) {
    ASSERT_TRUE(reduced.groups.contains(group)) << "a group was not shown";
  }
}

enum class Order { kDepthFirst, kBreadthFirst, kRanked, kInTurns };

class Reduction : public testing::TestWithParam<Order> {
 protected:
  static void set_order(const SimulatedApplication& app, SearchOptions* options) {
    options->explore_first_scheduled_first = GetParam() == Order::kBreadthFirst;
    if (GetParam() == Order::kInTurns) {
      options->standing = [&app](std::span<const PlannedFault> faults) -> Standing {
        const uint64_t site = app.site(faults.back().index);
        for (const PlannedFault& fault : faults)
          if (app.site(fault.index) != site) return {};
        return {0, site};
      };
    }
    if (GetParam() != Order::kRanked) return;
    // Which of the executions with equally many faults comes next has nothing to do with its place.
    options->standing = [](std::span<const PlannedFault> faults) -> Standing {
      Hash128 all;
      for (const PlannedFault& fault : faults)
        all = combine(combine(all, fault.index.lo), uint64_t{fault.fault});
      return {static_cast<size_t>(all.lo), 0};
    };
  }
};

// Under a sanitizer everything takes five times as long, and each order sees every fifth application only.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kStep = 5;
#else
constexpr uint64_t kStep = 1;
#endif

TEST_P(Reduction, ShowsEveryGroupThatBruteForceShows) {
  size_t compared = 0, smaller = 0;
  uint64_t reduced_runs = 0, all_runs = 0;
  for (uint64_t seed = 0; seed < 600; seed += kStep) {
    SimulatedApplication app = random_application(seed);
    const BruteForce all = brute_force(app, 250);
    if (!all.complete) continue;
    SearchOptions options;
    set_order(app, &options);
    const Exploration reduced = explore(app, options);
    ASSERT_NO_FATAL_FAILURE(expect_all_shown(reduced, all)) << "seed " << seed;
    ++compared;
    smaller += reduced.counts.executed < all.runs ? 1 : 0;
    reduced_runs += reduced.counts.executed;
    all_runs += all.runs;
  }
  RecordProperty("compared", static_cast<int>(compared));
  std::printf("%zu applications, fewer executions in %zu, %lu instead of %lu executions\n",
              compared, smaller, static_cast<unsigned long>(reduced_runs),
              static_cast<unsigned long>(all_runs));
  EXPECT_GT(compared, 400 / kStep);
  EXPECT_GT(smaller, compared / 10);
}

// `reduce`: sound. What is left out is left out in combination with other faults only.
TEST_P(Reduction, WithoutTheSingleFaultsShowsEveryGroupAndRunsEverySingleFault) {
  size_t compared = 0, smaller = 0;
  for (uint64_t seed = 0; seed < 300; seed += kStep) {
    SimulatedApplication app = random_application(seed);
    const BruteForce all = brute_force(app, 250);
    if (!all.complete) continue;
    SearchOptions options;
    options.execute_single_faults = true;
    set_order(app, &options);
    const Exploration reduced = explore(app, options);
    ASSERT_NO_FATAL_FAILURE(expect_all_shown(reduced, all)) << "seed " << seed;
    for (const ObservedRpc& rpc : app.run({}).rpcs) {
      for (const OutcomeId fault : rpc.faults)
        ASSERT_TRUE(reduced.plans.contains({{rpc.index, fault}})) << "seed " << seed;
    }
    ++compared;
    smaller += reduced.counts.executed < all.runs ? 1 : 0;
  }
  EXPECT_GT(compared, 150 / kStep);
  EXPECT_GT(smaller, compared / 20);
}

// `reduce`: published. Where nothing is told to be redundant for its status alone, nothing was
// lost.
TEST_P(Reduction, ByStatusAloneSaysWhereItMayHaveMissedAGroup) {
  size_t told = 0, lost = 0;
  for (uint64_t seed = 0; seed < 300; seed += kStep) {
    SimulatedApplication app = random_application(seed);
    const BruteForce all = brute_force(app, 250);
    if (!all.complete) continue;
    SearchOptions options;
    set_order(app, &options);
    options.taken_as = [&](OutcomeId outcome) {
      const std::string text = app.text(outcome);
      return app.outcome(text.substr(0, text.find('=')));
    };
    Search search(options, nullptr);
    Exploration reduced;
    explore(app, search, &reduced);
    if (search.unlike().empty()) {
      ASSERT_NO_FATAL_FAILURE(expect_all_shown(reduced, all)) << "seed " << seed;
      continue;
    }
    ++told;
    lost += std::includes(reduced.groups.begin(), reduced.groups.end(), all.groups.begin(),
                          all.groups.end())
                ? 0
                : 1;
  }
  EXPECT_GT(told, 0u);
  EXPECT_GT(lost, told / 4);  // it is told for a reason
}

TEST_P(Reduction, SwitchedOffRunsEverySetOfFaultsOnce) {
  for (uint64_t seed = 0; seed < 200; seed += kStep) {
    SimulatedApplication app = random_application(seed);
    const BruteForce all = brute_force(app, 250);
    if (!all.complete) continue;
    SearchOptions options;
    options.reduce = false;
    set_order(app, &options);
    const Exploration unreduced = explore(app, options);
    ASSERT_EQ(unreduced.counts.executed, all.runs) << "seed " << seed;
    ASSERT_FALSE(unreduced.repeated) << "seed " << seed;
  }
}

// As above, but a service calls one to four others at once, once or twice.
SimulatedApplication random_concurrent_application(uint64_t seed) {
  std::mt19937_64 random(seed);
  const int services = 2 + static_cast<int>(random() % 3);
  const int rounds = 1 + static_cast<int>(random() % 2);
  SimulatedApplication app;
  app.chance().seed(seed);
  for (int i = 0; i < services; ++i) {
    const std::string name = "s" + std::to_string(i);
    app.service(name, [=](Caller& c) -> std::string {
      Hash128 state = combine(hash_text(name), seed);
      for (int done = 0;; ++done) {
        const uint64_t choice = state.lo >> 8;
        if (i + 1 == services || done == rounds) {
          constexpr const char* kAnswers[] = {"status:200", "status:200", "status:500",
                                              "status:418", "status:200 fallback"};
          return kAnswers[choice % 5];
        }
        std::vector<std::pair<std::string, std::string>> calls;
        for (uint64_t n = 0; n <= choice % 3; ++n) {
          const uint64_t other = combine(state, n).lo >> 8;
          calls.emplace_back(
              "s" + std::to_string(i + 1 + static_cast<int>(other % (services - i - 1))),
              std::to_string(n));
        }
        for (const std::string& outcome : c.call_at_once(calls)) {
          state = combine(state, hash_text(outcome));
        }
      }
    });
    if (random() % 8 != 0) app.faults(name, {random() % 2 == 0 ? "status:503" : "status:500"});
  }
  app.test([](Caller& c) { return c.call("s0"); });
  return app;
}

TEST_P(Reduction, ShowsEveryGroupWhereCallsAreMadeAtOnceToo) {
  size_t compared = 0, smaller = 0;
  for (uint64_t seed = 0; seed < 800; seed += kStep) {
    SimulatedApplication app = random_concurrent_application(seed);
    if (app.run({}).rpcs.size() > 10) continue;  // too many sets of faults for brute force
    const BruteForce all = brute_force(app, 250, false);
    if (!all.complete || all.runs < 3) continue;
    SearchOptions options;
    set_order(app, &options);
    Search search(options, nullptr);
    Exploration reduced;
    reduced.in_order = false;
    explore(app, search, &reduced);
    ASSERT_NO_FATAL_FAILURE(expect_all_shown(reduced, all)) << "seed " << seed;
    ++compared;
    smaller += reduced.counts.executed < all.runs ? 1 : 0;
  }
  std::printf("%zu applications, fewer executions in %zu\n", compared, smaller);
  EXPECT_GT(compared, 300 / kStep);
  EXPECT_GT(smaller, compared / 10);
}

INSTANTIATE_TEST_SUITE_P(EveryOrder, Reduction,
                         testing::Values(Order::kDepthFirst, Order::kBreadthFirst, Order::kRanked,
                                         Order::kInTurns));

// The smallest application for which pruning without expansion is not complete: B falls back to C,
// and answers 418, which is no configured fault, when C fails too. A's failure combined with that
// answer is reached only through {a, b}, which is redundant in itself (A: 500 and B: 200 were
// seen).
TEST(Reduction, ExpandsARedundantExecutionInAContextThatNoOtherHas) {
  SimulatedApplication app;
  for (const char* service : {"A", "a", "b", "c"}) app.faults(service, {"status:500"});
  app.service("A", [](Caller& c) { return c.call("a"); });
  app.service("B", [](Caller& c) -> std::string {
    return c.call("b") == kOk || c.call("c") == kOk ? kOk : "status:418";
  });
  bool both_failed = false;
  app.service("users", [&](Caller& c) -> std::string {
    const std::string a = c.call("A");
    const std::string b = c.call("B");
    both_failed = both_failed || (a != kOk && b == "status:418");
    return kOk;
  });
  app.test([](Caller& c) { return c.call("users"); });
  const Exploration seen = explore(app);
  EXPECT_TRUE(both_failed);
  EXPECT_GT(seen.counts.redundant, 0u);
}

}  // namespace
}  // namespace filibuster::search
