// Where RPCs share an index, or change places: the two rules by which an RPC is beyond the prefix
// (docs/execution-indexes.md, Table 7.1, "one connection error per RPC"), and the reduction under concurrency.
#include <gtest/gtest.h>

#include "tests/unit/search/simulated_application.h"

namespace filibuster::search {
namespace {

const std::string kRefused = "refused";
const SearchOptions kAll{.reduce = false};
const SearchOptions kAllByPlace{.reduce = false, .tell_apart_by_place = true};

// Run, concluded or not: a fault whose RPC does not come is an execution too.
uint64_t executions(SimulatedApplication app, const SearchOptions& options) {
  return 1 + explore(app, options).counts.scheduled;
}

SimulatedApplication cinema_3_without_count() {
  SimulatedApplication app;
  app.leave_out_count();
  for (const char* service : {"bookings", "movies"}) app.faults(service, {kRefused});
  app.service("bookings", [](Caller& c) { return c.call("movies") == kOk ? kOk : "status:503"; });
  app.service("users", [](Caller& c) {
    return c.call("bookings") == kOk || c.call("bookings") == kOk ? kOk : "status:503";
  });
  app.test([](Caller& c) { return c.call("users"); });
  return app;
}

TEST(TheSameIndexTwice, IsOneRpcWhereverItStands) {
  EXPECT_EQ(executions(cinema_3_without_count(), kAll), 3u);
}

TEST(TheSameIndexTwice, IsAnotherRpcAtAnotherPlaceIfAskedFor) {
  EXPECT_EQ(executions(cinema_3_without_count(), kAllByPlace), 4u);  // published
}

// What a list of RPCs under [] with these (name, outcome) pairs looks like to the search.
ObservedRpc seen(const char* name, OutcomeId outcome, OutcomeId injected = 0) {
  return {hash_text(name), {}, outcome, injected, {9}};
}

TEST(TheSamePrefixTwice, IsOneExecutionWithTheSameFaults) {
  for (const bool by_place : {false, true}) {
    SearchOptions options = kAll;
    options.tell_apart_by_place = by_place;
    Search search(options, nullptr);
    // cinema-10 without path, count and stack: b, then m of bookings, then m of users.
    ASSERT_TRUE(search
                    .executed(kReference,
                              std::vector<ObservedRpc>{seen("b", 1), seen("m", 1), seen("m", 1)})
                    .ok());
    EXPECT_EQ(search.counts().scheduled, by_place ? 3u : 2u);
  }
}

TEST(Reduction, SaysNothingOfAFaultThatStandsLater) {
  Search search({}, nullptr);
  // a and b are concurrent; each is faulted alone, with the other order than in the reference.
  ASSERT_TRUE(
      search.executed(kReference, std::vector<ObservedRpc>{seen("a", 1), seen("b", 1)}).ok());
  const auto b = search.next();
  ASSERT_TRUE(b && b->faults.back().index == hash_text("b"));
  ASSERT_TRUE(search.executed(b->id, std::vector<ObservedRpc>{seen("b", 9, 9), seen("a", 1)}).ok());
  const auto a = search.next();
  ASSERT_TRUE(a && a->faults.back().index == hash_text("a"));
  ASSERT_TRUE(search.executed(a->id, std::vector<ObservedRpc>{seen("b", 1), seen("a", 9, 9)}).ok());
  const auto both = search.next();
  ASSERT_TRUE(both) << "{a, b} was never executed";
  EXPECT_EQ(both->faults.size(), 2u);
}

}  // namespace
}  // namespace filibuster::search
