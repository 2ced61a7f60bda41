#include "daemon/search/search.h"

#include <gtest/gtest.h>

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
