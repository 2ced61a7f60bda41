#include "daemon/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "daemon/search/hash_table.h"
#include "daemon/search/rpc_list.h"
#include "tests/unit/search/simulated_application.h"

namespace filibuster::search {
namespace {

ObservedRpc rpc(uint64_t index, OutcomeId outcome, std::vector<OutcomeId> faults,
                uint64_t parent = 0) {
  return {Hash128{7, index}, parent == 0 ? Hash128{} : Hash128{7, parent}, outcome, 0,
          std::move(faults)};
}

TEST(Search, HandsOutTheLastScheduledFirst) {
  Search search({}, nullptr);
  const std::vector<ObservedRpc> rpcs = {rpc(1, 9, {1, 2}), rpc(2, 9, {3})};
  ASSERT_TRUE(search.executed(kReference, rpcs).ok());
  EXPECT_EQ(search.counts().scheduled, 3u);
  EXPECT_EQ(search.next()->faults, (std::vector<PlannedFault>{{{7, 2}, 3}}));
  EXPECT_EQ(search.next()->faults, (std::vector<PlannedFault>{{{7, 1}, 2}}));
  EXPECT_EQ(search.next()->faults, (std::vector<PlannedFault>{{{7, 1}, 1}}));
  EXPECT_FALSE(search.next().has_value());
  EXPECT_EQ(search.counts().open, 3u);  // handed out, not reported
}

TEST(Search, LooksAheadInTheOrderOfNextAndChangesNothing) {
  Search search({}, nullptr);
  const std::vector<ObservedRpc> rpcs = {rpc(1, 9, {1, 2}), rpc(2, 9, {3})};
  ASSERT_TRUE(search.executed(kReference, rpcs).ok());
  const SearchCounts before = search.counts();
  std::vector<AbstractId> ahead;
  for (const AbstractExecution& execution : search.ahead(10)) ahead.push_back(execution.id);
  EXPECT_EQ(search.ahead(2).size(), 2u);
  EXPECT_TRUE(search.ahead(0).empty());
  EXPECT_EQ(search.counts().open, before.open);
  EXPECT_EQ(search.counts().scheduled, before.scheduled);
  std::vector<AbstractId> handed_out;
  while (const auto next = search.next()) handed_out.push_back(next->id);
  EXPECT_EQ(ahead, handed_out);
  EXPECT_TRUE(search.ahead(10).empty());
}

TEST(Search, LeavesOutOfWhatIsAheadWhatIsRedundantNow) {
  Search search({}, nullptr);
  // 1 and 2 have the same cause; 3 is another group.
  const std::vector<ObservedRpc> rpcs = {rpc(1, 9, {5}), rpc(2, 9, {}, 1), rpc(3, 9, {5})};
  ASSERT_TRUE(search.executed(kReference, rpcs).ok());
  while (true) {
    std::vector<AbstractId> ahead;
    for (const AbstractExecution& execution : search.ahead(10)) ahead.push_back(execution.id);
    const auto next = search.next();
    if (!next) break;
    ASSERT_FALSE(ahead.empty());
    EXPECT_EQ(ahead.front(), next->id);
    auto seen = rpcs;
    for (const PlannedFault& fault : next->faults) {
      for (ObservedRpc& one : seen)
        if (one.index == fault.index) one.outcome = one.injected = fault.fault;
    }
    ASSERT_TRUE(search.executed(next->id, seen).ok());
  }
}

TEST(Search, LooksNoFurtherAheadThanTheBoundOnExecutions) {
  SearchOptions options;
  options.max_executions = 2;
  Search search(options, nullptr);
  ASSERT_TRUE(search.executed(kReference, std::vector{rpc(1, 9, {1, 2, 3})}).ok());
  EXPECT_EQ(search.ahead(10).size(), 1u);
}

TEST(Search, HandsOutTheLowestRankFirstAlsoWhenItIsResumed) {
  SearchOptions options;
  options.reduce = false;
  options.standing = [](std::span<const PlannedFault> faults) -> Standing {
    return {faults.size() > 1 || faults.back().fault == 1 ? 0u : 1u,
            0};  // fewer faults come first anyway
  };
  auto store = SearchStore::open(":memory:");
  ASSERT_TRUE(store.ok());
  const std::vector<ObservedRpc> rpcs = {rpc(1, 9, {1, 2}), rpc(2, 9, {3})};
  AbstractId first = 0;
  {
    Search search(options, store.value().get());
    ASSERT_TRUE(search.executed(kReference, rpcs).ok());
    const auto next = search.next();
    EXPECT_EQ(next->faults, (std::vector<PlannedFault>{{{7, 1}, 1}}));
    auto seen = rpcs;
    seen[0].outcome = seen[0].injected = 1;
    ASSERT_TRUE(search.executed(next->id, seen).ok());  // schedules the pair with {2: 3}
    first = next->id;
  }
  auto resumed = Search::resume(options, store.value().get());
  ASSERT_TRUE(resumed.ok());
  Search& search = resumed.value();
  std::vector<std::vector<PlannedFault>> order;
  while (const auto next = search.next()) order.push_back(next->faults);
  const PlannedFault a1{{7, 1}, 1}, a2{{7, 1}, 2}, b3{{7, 2}, 3};
  EXPECT_EQ(order, (std::vector<std::vector<PlannedFault>>{{a2}, {b3}, {a1, b3}}));
  std::map<AbstractId, size_t> faults;
  search.each_scheduled([&](const Search::Scheduled& row) {
    faults[row.id] = row.faults;
    EXPECT_EQ(row.state, row.id == first ? AbstractState::kExecuted : AbstractState::kOpen);
  });
  EXPECT_EQ(faults, (std::map<AbstractId, size_t>{{1, 1}, {2, 1}, {3, 1}, {4, 2}}));
}

TEST(Search, CountsTheFaultsThatCallSitesHaveHad) {
  SearchOptions options{.reduce = false};
  EXPECT_TRUE(Search(options, nullptr).sites().empty());
  // RPCs 1 and 2 are of one call site, RPC 3 is of another one; RPC 2 is suspect, and so takes turns of its own.
  options.standing = [](std::span<const PlannedFault> faults) {
    const uint64_t rpc = faults.front().index.lo;
    return Standing{rpc == 2 ? size_t{0} : size_t{1}, rpc == 3 ? uint64_t{30} : uint64_t{10}};
  };
  auto store = SearchStore::open(":memory:");
  ASSERT_TRUE(store.ok());
  auto search = Search::resume(options, store.value().get());
  ASSERT_TRUE(search.ok());
  ASSERT_TRUE(search
                  ->executed(kReference, std::vector<ObservedRpc>{rpc(1, 9, {1}), rpc(2, 9, {1}),
                                                                  rpc(3, 9, {1})})
                  .ok());
  const auto tried = [&] {
    const auto sites = search->sites();
    return std::count_if(sites.begin(), sites.end(),
                         [](const SiteFaults& site) { return site.taken > 0; });
  };
  std::vector<std::ptrdiff_t> after = {tried()};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(search->next());
    after.push_back(tried());
  }
  EXPECT_EQ(search->sites().size(), 2u);
  EXPECT_EQ(after, (std::vector<std::ptrdiff_t>{0, 1, 1, 2}));
}

TEST(Search, SaysWhatStandsBeforeTheNewestFault) {
  Search search({.reduce = false}, nullptr);
  const std::vector<ObservedRpc> rpcs = {rpc(1, 9, {1}), rpc(2, 9, {}, 1), rpc(3, 9, {2}),
                                         rpc(4, 9, {})};
  ASSERT_TRUE(search.executed(kReference, rpcs).ok());
  EXPECT_TRUE(search.prefix(kReference).empty());
  const auto prefix = search.prefix(search.next()->id);
  ASSERT_EQ(prefix.size(), 3u);
  EXPECT_EQ(prefix[1].index, (Hash128{7, 2}));
  EXPECT_EQ(prefix[1].parent, (Hash128{7, 1}));
  EXPECT_EQ(prefix[2].index, (Hash128{7, 3}));
  const auto first = search.next();
  auto seen = rpcs;
  seen[0].outcome = 5;  // delivered as something else than it is called
  seen[0].injected = 5;
  ASSERT_TRUE(search.executed(first->id, seen).ok());
  const auto both = search.prefix(search.next()->id);
  ASSERT_EQ(both.size(), 3u);
  EXPECT_EQ(both[0].outcome, 5u);
  EXPECT_EQ(both[0].injected, 5u);
  EXPECT_EQ(both[2].injected, 0u);
}

TEST(Search, SchedulesASetOfFaultsOnceWhenConcurrentRpcsChangePlaces) {
  SearchOptions options;
  options.reduce = false;
  Search search(options, nullptr);
  const auto a = rpc(1, 9, {1}), b = rpc(2, 9, {1});
  ASSERT_TRUE(search.executed(kReference, std::vector{a, b}).ok());
  auto faulted = [](ObservedRpc r) {
    r.outcome = r.injected = 1;
    return r;
  };
  const auto b_failed = search.next();
  ASSERT_TRUE(search.executed(b_failed->id, std::vector{faulted(b), a}).ok());
  const auto a_failed = search.next();
  ASSERT_TRUE(search.executed(a_failed->id, std::vector{b, faulted(a)}).ok());
  const auto both = search.next();
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->faults.size(), 2u);
  ASSERT_TRUE(search.executed(both->id, std::vector{faulted(b), faulted(a)}).ok());
  EXPECT_FALSE(search.next().has_value());
  EXPECT_EQ(search.counts().executed, 4u);
}

// The test calls a, b and c, whatever becomes of them: 8 combinations.
SimulatedApplication three_soft_calls() {
  SimulatedApplication app;
  for (const char* service : {"a", "b", "c"}) app.faults(service, {"refused"});
  app.test([](Caller& c) {
    for (const char* service : {"a", "b", "c"}) c.call(service);
    return kOk;
  });
  return app;
}

TEST(Search, BoundsAreCountedNotForgotten) {
  SimulatedApplication app = three_soft_calls();
  SearchOptions options;
  EXPECT_EQ(explore(app, options).counts.executed, 8u);
  options.max_faults = 1;
  SearchCounts counts = explore(app, options).counts;
  EXPECT_EQ(counts.executed, 4u);
  EXPECT_EQ(counts.beyond_bound, 3u);  // {a,b} {a,c} {b,c}
  options = {};
  options.max_executions = 3;
  counts = explore(app, options).counts;
  EXPECT_EQ(counts.executed, 3u);
  EXPECT_EQ(counts.beyond_bound, counts.open);
  EXPECT_GT(counts.open, 0u);
}

TEST(Search, ALargerBoundContinues) {
  auto store = SearchStore::open(":memory:");
  SimulatedApplication app = three_soft_calls();
  SearchOptions options;
  options.max_executions = 3;
  Exploration seen;
  auto bounded = Search::resume(options, store.value().get());
  explore(app, bounded.value(), &seen);
  auto unbounded = Search::resume({}, store.value().get());
  explore(app, unbounded.value(), &seen);
  EXPECT_EQ(seen.counts.executed, 8u);
  EXPECT_FALSE(seen.repeated);
}

TEST(Search, SaysWhichExecutionsMakeAnotherRedundant) {
  SimulatedApplication app;
  app.faults("bookings", {"status:500"});
  app.faults("movies", {"status:503"});
  app.service("bookings", [](Caller& c) { return c.call("movies") == kOk ? kOk : "status:500"; });
  app.service("users", [](Caller& c) { return c.call("bookings"); });
  app.test([](Caller& c) { return c.call("users"); });
  Search search({}, nullptr);
  Exploration seen;
  explore(app, search, &seen);
  EXPECT_EQ(seen.counts.redundant, 1u);
  // 1: {bookings: 500}, redundant because of 2: {movies: 503}.
  EXPECT_EQ(search.redundant_because(1), (std::vector<AbstractId>{0, 2}));
  EXPECT_TRUE(search.redundant_because(2).empty());
}

TEST(Search, AFaultAfterEffectDecidesItsOutcomeWhateverHappensBelow) {
  // bookings got the request, its answer was lost; its own calls are faulted too.
  SearchOptions options;
  Search search(options, nullptr);
  const auto users = rpc(1, 9, {}), bookings = rpc(2, 9, {5}, 1), movies = rpc(3, 9, {6}, 2);
  ASSERT_TRUE(search.executed(kReference, std::vector{users, bookings, movies}).ok());
  auto lost = bookings;
  lost.outcome = lost.injected = 5;
  auto failed = movies;
  failed.outcome = failed.injected = 6;
  const auto movies_failed = search.next();
  ASSERT_TRUE(search.executed(movies_failed->id, std::vector{users, bookings, failed}).ok());
  const auto answer_lost = search.next();
  ASSERT_TRUE(search.executed(answer_lost->id, std::vector{users, lost, movies}).ok());
  // {bookings: 5, movies: 6}: users sees 5 in both, and movies: 6 was seen under bookings.
  EXPECT_FALSE(search.next().has_value());
  EXPECT_EQ(search.counts().redundant, 1u);
}

// Executes everything as an application would in which all RPCs come in any case; `allow` is said when `with` was executed.
std::set<std::vector<std::pair<uint64_t, OutcomeId>>> executed_sets(
    Search& search, const std::vector<ObservedRpc>& rpcs, const std::function<void(Search&)>& allow,
    const std::vector<PlannedFault>& with) {
  std::set<std::vector<std::pair<uint64_t, OutcomeId>>> out;
  EXPECT_TRUE(search.executed(kReference, rpcs).ok());
  while (const auto next = search.next()) {
    std::vector<std::pair<uint64_t, OutcomeId>> set;
    std::vector<ObservedRpc> seen = rpcs;
    for (const PlannedFault& fault : next->faults) {
      set.emplace_back(fault.index.lo, fault.fault);
      for (ObservedRpc& one : seen)
        if (one.index == fault.index) one.outcome = one.injected = fault.fault;
    }
    std::sort(set.begin(), set.end());
    EXPECT_TRUE(out.insert(set).second) << "twice";
    // Every subset was decided before.
    for (size_t i = 0; set.size() > 1 && i < set.size(); ++i) {
      auto smaller = set;
      smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_TRUE(out.contains(smaller));
    }
    if (next->faults == with) allow(search);
    EXPECT_TRUE(search.executed(next->id, seen).ok());
  }
  return out;
}

TEST(Search, AFaultThatIsAllowedLaterIsTriedWhereverItWouldHaveBeen) {
  SearchOptions options;
  options.reduce = false;
  const std::vector<ObservedRpc> from_the_start = {rpc(1, 9, {1}), rpc(2, 9, {2, 7}),
                                                   rpc(3, 9, {3}), rpc(4, 9, {})},
                                 later = {rpc(1, 9, {1}), rpc(2, 9, {2}), rpc(3, 9, {3}),
                                          rpc(4, 9, {})};
  Search known(options, nullptr);
  const auto expected = executed_sets(known, from_the_start, {}, {});
  EXPECT_EQ(expected.size(), 2u * 3 * 2 - 1);
  // Seen at once, or only in an execution with several faults.
  for (const std::vector<PlannedFault>& with :
       {std::vector<PlannedFault>{{{7, 2}, 2}}, std::vector<PlannedFault>{{{7, 1}, 1}, {{7, 2}, 2}},
        std::vector<PlannedFault>{{{7, 1}, 1}, {{7, 2}, 2}, {{7, 3}, 3}}}) {
    Search search(options, nullptr);
    EXPECT_EQ(executed_sets(
                  search, later,
                  [](Search& one) {
                    EXPECT_TRUE(one.allow({7, 2}, 7).ok());
                    EXPECT_TRUE(one.allow({7, 2}, 7).ok()) << "again";
                    EXPECT_TRUE(one.allow({7, 4}, 7).ok()) << "it gets no fault";
                  },
                  with),
              expected);
    EXPECT_EQ(search.counts().open, 0u);
  }
}

TEST(Search, WhatIsAllowedIsSaidAgainWhenItIsResumed) {
  auto store = SearchStore::open(":memory:");
  ASSERT_TRUE(store.ok());
  const std::vector<ObservedRpc> rpcs = {rpc(1, 9, {1})};
  {
    Search search({}, store.value().get());
    ASSERT_TRUE(search.executed(kReference, rpcs).ok());
    ASSERT_TRUE(search.allow({7, 1}, 7).ok());
    EXPECT_EQ(search.next()->faults, (std::vector<PlannedFault>{{{7, 1}, 7}}));
  }
  auto resumed = Search::resume({}, store.value().get());
  ASSERT_TRUE(resumed.ok());
  const SearchCounts before = resumed->counts();
  ASSERT_TRUE(resumed->allow({7, 1}, 7).ok());
  EXPECT_EQ(resumed->counts().scheduled, before.scheduled);
  EXPECT_EQ(resumed->counts().duplicate, before.duplicate);
  EXPECT_EQ(resumed->next()->faults, (std::vector<PlannedFault>{{{7, 1}, 7}}));
}

TEST(Search, WhatDidNotComeIsLeftOutAndNotWithoutAConclusion) {
  auto store = SearchStore::open(":memory:");
  ASSERT_TRUE(store.ok());
  {
    Search search({}, store.value().get());
    ASSERT_TRUE(search.executed(kReference, std::vector{rpc(1, 9, {1})}).ok());
    const auto next = search.next();
    ASSERT_TRUE(search.left_out(next->id, "it did not come").ok());
    EXPECT_FALSE(search.left_out(next->id, "again").ok());
    EXPECT_EQ(search.counts().left_out, 1u);
  }
  auto resumed = Search::resume({}, store.value().get());
  ASSERT_TRUE(resumed.ok());
  const SearchCounts counts = resumed->counts();
  EXPECT_EQ(counts.left_out, 1u);
  EXPECT_EQ(counts.abandoned + counts.open, 0u);
  EXPECT_FALSE(resumed->next().has_value());
}

// What a service answers while its answer is lost is not seen by anybody, so a group that was first
// shown then says nothing of it: b answers 6 where c fails with 8, and not where it fails with 5.
TEST(Search, TheOutcomeOfAnInjectedParentIsNotWhatItsGroupMakesOfIt) {
  SearchOptions options;
  options.execute_single_faults = true;
  Search search(options, nullptr);
  const std::vector<ObservedRpc> reference{rpc(1, 9, {5}), rpc(2, 9, {6}), rpc(3, 9, {5, 8}, 2)};
  const Hash128 a = reference[0].index, c = reference[2].index;
  ASSERT_TRUE(search.executed(kReference, reference).ok());
  std::vector<std::vector<PlannedFault>> executed;
  while (const auto next = search.next()) {
    executed.push_back(next->faults);
    // So that the group of b is first shown where b is faulted after effect.
    if (next->faults == std::vector<PlannedFault>{{c, 5}}) {
      ASSERT_TRUE(search.abandoned(next->id, "plan not met").ok());
      continue;
    }
    std::vector<ObservedRpc> rpcs = reference;
    for (const PlannedFault& fault : next->faults) {
      ObservedRpc& faulted = rpcs[fault.index.lo - 1];
      faulted.outcome = faulted.injected = fault.fault;
    }
    if (rpcs[1].injected == 0 && rpcs[2].injected == 8) rpcs[1].outcome = 6;
    if (rpcs[1].injected == 0 && rpcs[2].injected == 5) rpcs[1].outcome = 7;
    ASSERT_TRUE(search.executed(next->id, rpcs).ok());
  }
  const std::vector<PlannedFault> both{{a, 5}, {c, 5}};
  EXPECT_EQ(std::count(executed.begin(), executed.end(), both), 1);
}

// b does not answer before its caller goes on, whichever way c fails; what it would have answered
// is not known, and may differ.
TEST(Search, AnOutcomeThatNobodySawIsNotForeseen) {
  SimulatedApplication app;
  app.faults("a", {"refused"});
  app.faults("c", {"refused", "timeout"});
  app.service("b", [](Caller& c) { return c.call("c") == kOk ? kOk : ""; });
  app.test([](Caller& c) {
    c.call("a");
    return c.call("b");
  });
  const Exploration seen = explore(app);
  EXPECT_EQ(seen.counts.executed, 1u + 1 + 2 + 1 * 2);
  EXPECT_EQ(seen.counts.redundant, 0u);
}

// Users reads what bookings says of its failure, which an injected one does not say.
SimulatedApplication telling_application() {
  SimulatedApplication app;
  app.faults("bookings", {"status:500"});
  app.faults("movies", {"status:503"});
  app.service("bookings",
              [](Caller& c) { return c.call("movies") == kOk ? kOk : "status:500=json"; });
  app.service("users", [](Caller& c) { return c.call("bookings"); });
  app.test([](Caller& c) { return c.call("users"); });
  return app;
}

SearchOptions by_status_alone(SimulatedApplication& app) {
  SearchOptions options;
  options.taken_as = [&app](OutcomeId outcome) {
    const std::string text = app.text(outcome);
    return app.outcome(text.substr(0, text.find('=')));
  };
  return options;
}

TEST(Search, AFailureWithAnotherBodyIsAnotherOutcome) {
  SimulatedApplication app = telling_application();
  Search search({}, nullptr);
  Exploration seen;
  explore(app, search, &seen);
  EXPECT_EQ(seen.counts.redundant, 0u);
  EXPECT_EQ(seen.counts.executed, 3u);
  EXPECT_TRUE(search.unlike().empty());
}

TEST(Search, ByStatusAloneItIsRedundantAndTold) {
  SimulatedApplication app = telling_application();
  auto store = SearchStore::open(":memory:");
  const Hash128 bookings = app.run({}).rpcs[1].index;
  const auto expect_told = [&](const Search& search) {
    EXPECT_EQ(search.counts().redundant, 1u);
    ASSERT_EQ(search.unlike().size(), 1u);
    EXPECT_EQ(search.unlike()[0].id, 1u);
    EXPECT_EQ(search.unlike()[0].like, 2u);
    EXPECT_EQ(search.unlike()[0].rpc, bookings);
  };
  auto search = Search::resume(by_status_alone(app), store.value().get());
  Exploration seen;
  explore(app, search.value(), &seen);
  EXPECT_EQ(seen.counts.executed, 2u);
  expect_told(search.value());
  auto resumed = Search::resume(by_status_alone(app), store.value().get());
  ASSERT_TRUE(resumed.ok()) << resumed.error().message;
  expect_told(resumed.value());
}

TEST(Search, ASingleFaultIsExecutedWhateverWasSeen) {
  SimulatedApplication app;
  app.faults("a", {"status:500"});
  app.faults("b", {"status:500"});
  app.faults("c", {"status:500"});
  app.service("a", [](Caller& c) { return c.call("b"); });
  app.test([](Caller& c) {
    c.call("c");
    return c.call("a");
  });
  EXPECT_EQ(explore(app).counts.redundant, 2u);  // {a} and {c, a}
  SearchOptions options;
  options.execute_single_faults = true;
  Search search(options, nullptr);
  Exploration seen;
  explore(app, search, &seen);
  EXPECT_EQ(seen.counts.redundant, 1u);
  EXPECT_EQ(seen.counts.executed, 1u + 3 + 1);
  const auto a = search.describe(2);
  ASSERT_EQ(a.faults, (std::vector<PlannedFault>{{app.run({}).rpcs[1].index, 1}}));
  EXPECT_TRUE(search.redundant_because(a.id).empty());
}

TEST(Search, AnExecutionIsReportedOnce) {
  Search search({}, nullptr);
  EXPECT_FALSE(search.executed(3, {}).ok());
  ASSERT_TRUE(search.executed(kReference, {}).ok());
  EXPECT_FALSE(search.executed(kReference, {}).ok());
  EXPECT_FALSE(search.abandoned(kReference, "x").ok());
}

TEST(RpcList, SurvivesPacking) {
  RpcList list(3);
  list[0] = {1, 0, 200, 0, false, kNowhere, {}, {}, {}};
  list[1] = {70000, 1, 3, 12, true, kNowhere, {}, {}, {}};
  list[2] = {UINT32_MAX, 70000, 0, 1, false, kNowhere, {}, {}, {}};
  std::string packed;
  pack(list, &packed);
  RpcList back;
  ASSERT_TRUE(unpack(packed, &back));
  ASSERT_EQ(back.size(), 3u);
  EXPECT_EQ(back[1].rpc, 70000u);
  EXPECT_EQ(back[1].faults, 12u);
  EXPECT_TRUE(back[1].injected);
  EXPECT_EQ(back[2].parent, 70000u);
  packed.pop_back();
  EXPECT_FALSE(unpack(packed, &back));
}

TEST(HashTable, HoldsWhatWasInserted) {
  HashTable<uint32_t> table;
  for (uint32_t i = 0; i < 100000; ++i) {
    EXPECT_TRUE(table.insert(hash_bytes(&i, sizeof i), i).added);
  }
  EXPECT_TRUE(table.insert(Hash128{}, 5).added);
  EXPECT_EQ(*table.find(Hash128{}), 5u);
  for (uint32_t i = 0; i < 100000; ++i) {
    const auto again = table.insert(hash_bytes(&i, sizeof i), 0);
    EXPECT_FALSE(again.added);
    EXPECT_EQ(*again.value, i);
  }
  const uint32_t absent = 100001;
  EXPECT_EQ(table.find(hash_bytes(&absent, sizeof absent)), nullptr);
  EXPECT_EQ(table.size(), 100001u);
}

}  // namespace
}  // namespace filibuster::search
