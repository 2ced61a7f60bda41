#include "daemon/explore/fault_places.h"

#include <gtest/gtest.h>

#include <memory>

namespace filibuster {
namespace {

constexpr search::OutcomeId kOk = 1, kFault = 2;

// The RPCs "a", "b" and "b2", and "c", which comes only under a fault. b and b2 are made at one place.
class FaultPlacesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = search::SearchStore::open(":memory:");
    ASSERT_TRUE(opened.ok());
    store_ = std::move(opened).value();
    known_ = std::make_unique<KnownRpcs>(store_.get());
    ExecutionRecord record;
    for (const char* name : {"a", "b", "b2", "c"}) {
      RpcRecord rpc;
      rpc.rpc = record.rpcs.size() + 1;
      rpc.caller = "front";
      rpc.service = "back";
      rpc.stack_text = {std::string(1, name[0])};
      rpc.index = hash_text(name);
      record.rpcs.push_back(rpc);
    }
    ASSERT_TRUE(known_->learn(record).ok());
    options_.standing = [](std::span<const search::PlannedFault>) { return search::Standing{}; };
  }

  static search::ObservedRpc seen(const char* name, bool injected = false) {
    return {hash_text(name), {}, injected ? kFault : kOk, injected ? kFault : 0, {kFault}};
  }
  static void run(search::Search* search, search::AbstractId id,
                  const std::vector<search::ObservedRpc>& rpcs) {
    ASSERT_TRUE(search->executed(id, rpcs).ok());
  }
  search::Places counts(const search::Search& search) {
    places_.see(search, known_.get());
    return places_.counts();
  }

  std::unique_ptr<search::SearchStore> store_;
  std::unique_ptr<KnownRpcs> known_;
  search::SearchOptions options_;
  FaultPlaces places_;
};

TEST_F(FaultPlacesTest, CountsACallSiteThatComesOnlyUnderAFault) {
  search::Search search(options_, store_.get());
  EXPECT_EQ(counts(search).known, 0u);
  run(&search, search::kReference, {seen("a"), seen("b"), seen("b2")});
  EXPECT_EQ(counts(search).known, 2u) << "b and b2 are one";
  EXPECT_EQ(counts(search).tried, 0u);
  const auto first = search.next();
  places_.ran(*first, known_.get());
  ASSERT_EQ(first->faults.front().index, hash_text("a"));
  run(&search, first->id, {seen("a", true), seen("c"), seen("b"), seen("b2")});
  EXPECT_EQ(counts(search).known, 3u) << "c can have a fault beside that of a";
  EXPECT_EQ(counts(search).tried, 1u);
  while (const auto next = search.next()) {
    places_.ran(*next, known_.get());
    ASSERT_TRUE(search.abandoned(next->id, "no conclusion").ok());
  }
  EXPECT_EQ(counts(search).tried, 3u);
}

TEST_F(FaultPlacesTest, OfAResumedSearchKnowsWhatHasRun) {
  {
    search::Search search(options_, store_.get());
    run(&search, search::kReference, {seen("a"), seen("b")});
    const auto first = search.next();
    run(&search, first->id, {seen("a", true), seen("b")});
    const auto second = search.next();
    ASSERT_TRUE(search.left_out(second->id, "it did not come").ok());
  }
  auto resumed = search::Search::resume(options_, store_.get());
  ASSERT_TRUE(resumed.ok());
  const search::Places now = counts(resumed.value());
  EXPECT_EQ(now.known, 2u);
  EXPECT_EQ(now.tried, 1u) << "that of a; what was left out has not run";
  ASSERT_EQ(places_.all().size(), 2u);
  EXPECT_EQ(places_.all()[0].call_site, "a");
  EXPECT_TRUE(places_.all()[0].tried);
}

}  // namespace
}  // namespace filibuster
