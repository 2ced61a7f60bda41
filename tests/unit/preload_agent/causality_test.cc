// Which incoming request caused an RPC: the rules, over a table and plain memory.
#include "preload/rpc/causality.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "daemon/agents/lane_writer.h"
#include "preload/rpc/counters.h"

namespace filibuster::preload {
namespace {

class Causality : public ::testing::Test {
 protected:
  Incoming* open(uint64_t rpc, ThreadRequests* thread, bool multiplexed = false) {
    Incoming* incoming = table_->claim();
    incoming->rpc = rpc;
    incoming->execution = 1;
    incoming->multiplexed = multiplexed;
    incoming->paths[0] = {rpc, rpc};
    table_->open(incoming, thread);
    return incoming;
  }
  void give_up(Incoming* incoming) {
    table_->note_given_up(*incoming, lane_->session, query_.execution);
    table_->close(incoming);
  }
  CauseOf cause(ThreadRequests* thread, uint64_t site = 1) {
    query_.thread = thread;
    query_.lane = lane_.get();
    query_.site = {site, 0};
    return find_cause(*table_, query_);
  }

  std::unique_ptr<LaneMemory> lane_ = std::make_unique<LaneMemory>();
  std::unique_ptr<IncomingTable> table_ = std::make_unique<IncomingTable>();
  ThreadRequests mine_{};
  ThreadRequests other_{};
  CauseQuery query_;
};

TEST_F(Causality, TheThreadThatReadTheRequestIsCausedByIt) {
  open(7, &mine_);
  open(8, &other_);
  const CauseOf found = cause(&mine_);
  EXPECT_EQ(found.cause, Cause::kThread);
  EXPECT_EQ(found.rpc, 7u);
  EXPECT_EQ(found.path, (Hash128{7, 7}));
}

TEST_F(Causality, AThreadWithTwoOpenRequestsProvesNothing) {
  Incoming* first = open(7, &mine_);
  open(8, &mine_);
  EXPECT_EQ(cause(&mine_).cause, Cause::kNone);
  table_->close(first);
  EXPECT_EQ(cause(&mine_).cause, Cause::kThread);
  EXPECT_EQ(cause(&mine_).rpc, 8u);
}

TEST_F(Causality, AClosedRequestIsNoCauseEvenWhenItsSlotIsUsedAgain) {
  Incoming* first = open(7, &mine_);
  table_->close(first);
  Incoming* second = open(8, &other_);
  EXPECT_EQ(first, second) << "the freed slot is taken first";
  open(9, &other_);
  EXPECT_EQ(cause(&mine_).cause, Cause::kNone);
}

TEST_F(Causality, AThreadWithMoreRequestsThanItRemembersProvesNothingUntilAllAreClosed) {
  std::vector<Incoming*> all;
  for (uint64_t i = 0; i <= ThreadRequests::kMax; ++i) all.push_back(open(i + 1, &mine_));
  for (size_t i = 1; i + 1 < all.size(); ++i) table_->close(all[i]);
  EXPECT_EQ(cause(&mine_).cause, Cause::kNone) << "the ninth is open and not remembered";
  table_->close(all.front());
  table_->close(all.back());
  open(20, &mine_);
  EXPECT_EQ(cause(&mine_).cause, Cause::kThread);
}

TEST_F(Causality, AnEventLoopFallsBackToTheOnlyActiveRequest) {
  open(7, &mine_, true);
  const CauseOf found = cause(&mine_);
  EXPECT_EQ(found.cause, Cause::kOnlyActive);
  EXPECT_EQ(found.rpc, 7u);
  query_.multiplexing = true;
  EXPECT_EQ(cause(&mine_).cause, Cause::kOnlyActive);
}

TEST_F(Causality, AThreadFoundToMultiplexLaterProvesNothing) {
  open(7, &mine_);
  open(8, &other_);
  query_.multiplexing = true;
  EXPECT_EQ(cause(&mine_).cause, Cause::kNone);
}

TEST_F(Causality, TheOnlyActiveRequestCausesCallsOfOtherThreads) {
  open(7, &other_);
  EXPECT_EQ(cause(&mine_).cause, Cause::kOnlyActive);
}

TEST_F(Causality, AHeartbeatIsNotCausedByTheRequestThatHappensToBeThere) {
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone);
  open(7, &other_);
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone) << "seen with none open";
  EXPECT_EQ(cause(&mine_, 6).cause, Cause::kOnlyActive) << "another call site";
}

TEST_F(Causality, ASiteSeenAmongSeveralIsNotTrustedAfterwards) {
  open(7, &other_);
  Incoming* second = open(8, &other_);
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone);
  table_->close(second);
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone);
}

TEST_F(Causality, WhatASiteIsSeenDoingWithoutFaultsHoldsForTheSession) {
  query_.execution = 1;
  open(7, &other_);
  Incoming* second = open(8, &other_);
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone);
  table_->close(second);
  query_.execution = 2;
  lane_->plan_count = 1;
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone);
}

TEST_F(Causality, ConcurrencyThatAFaultBroughtAboutIsOfItsExecutionOnly) {
  query_.execution = 2;
  lane_->plan_count = 1;
  open(7, &other_);
  Incoming* again = open(8, &other_);
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone);
  table_->close(again);
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone) << "of this execution";
  query_.execution = 3;
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kOnlyActive);
  again = open(8, &other_);
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone);
  table_->close(again);
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone) << "and it is learned anew";
  query_.execution = 4;
  lane_->plan_count = 0;
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kOnlyActive);
}

TEST_F(Causality, AHeartbeatSeenUnderAFaultStaysOneUnlessARequestWasGivenUp) {
  query_.execution = 2;
  lane_->plan_count = 1;
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone);
  query_.given_up = true;  // 6 may be what goes on with it
  EXPECT_EQ(cause(&mine_, 6).cause, Cause::kNone);
  query_.given_up = false;
  open(7, &other_);
  EXPECT_EQ(cause(&mine_, 6).cause, Cause::kNone) << "of this execution";
  query_.execution = 3;
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kNone);
  EXPECT_EQ(cause(&mine_, 6).cause, Cause::kOnlyActive);
}

TEST_F(Causality, AfterARequestWasGivenUpTheOnlyActiveOneProvesNothingInThatExecution) {
  query_.execution = 2;
  give_up(open(7, &other_, true));
  Incoming* next = open(8, &other_, true);
  const CauseOf found = cause(&mine_, 5);
  EXPECT_EQ(found.cause, Cause::kNone) << "7 may go on";
  EXPECT_TRUE(found.after_giving_up);
  ThreadRequests reader{};
  open(9, &reader);
  EXPECT_EQ(cause(&reader, 5).cause, Cause::kThread) << "which needs no other rule";
  table_->close(next);
  query_.execution = 3;
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kOnlyActive) << "the process lives on";
  query_.execution = 2;
  lane_->session = 6;
  EXPECT_EQ(cause(&mine_, 5).cause, Cause::kOnlyActive) << "a later session counts anew";
}

TEST_F(Causality, OfWhatIsNotKnownOnlyThatIsSaidToComeOfAGivingUpWhichDoes) {
  query_.execution = 2;
  EXPECT_FALSE(cause(&mine_, 5).after_giving_up) << "a heartbeat";
  give_up(open(7, &other_));
  EXPECT_TRUE(cause(&mine_, 6).after_giving_up) << "with no request open: it is that of 7";
  EXPECT_FALSE(cause(&mine_, 5).after_giving_up) << "a heartbeat still";
  open(8, &other_);
  open(9, &other_);
  EXPECT_FALSE(cause(&mine_, 4).after_giving_up) << "not known in any case";
}

TEST_F(Causality, WhatIsCalledWhileNoRequestIsOpenIsOfTheBackground) {
  EXPECT_TRUE(cause(&mine_, 5).background);
  open(7, &other_);
  EXPECT_TRUE(cause(&mine_, 5).background) << "its site was seen with none";
  EXPECT_FALSE(cause(&mine_, 6).background) << "caused by 7";
  open(8, &other_);
  EXPECT_TRUE(cause(&mine_, 5).background);
  EXPECT_FALSE(cause(&mine_, 4).background) << "7 or 8";
  query_.requests_lost = true;
  EXPECT_FALSE(cause(&mine_, 5).background) << "by one that is not in the table";
}

TEST_F(Causality, WhatAGivenUpRequestMayHaveLeftBehindIsNotOfTheBackground) {
  query_.execution = 2;
  give_up(open(7, &other_));
  EXPECT_FALSE(cause(&mine_, 5).background);
}

TEST_F(Causality, AForkedChildHasWhatWasGivenUpButNotWhatOthersOfItsParentServe) {
  query_.execution = 2;
  Incoming* own = open(7, &mine_);
  Incoming* others = open(8, &other_);
  table_->after_fork(&mine_);
  give_up(others);
  ThreadRequests fresh{};
  EXPECT_EQ(cause(&fresh, 9).cause, Cause::kOnlyActive) << "closed its copy of a connection";
  give_up(own);
  open(10, &fresh, true);
  EXPECT_TRUE(cause(&mine_, 9).after_giving_up) << "the child may go on with 7";
}

TEST_F(Causality, AnActiveRequestThatCameInThePlaceOfTheOnlyOneIsNotTakenForIt) {
  Incoming* alone = open(7, &other_);
  const uint64_t activity = table_->activity();
  CauseOf found;
  EXPECT_TRUE(table_->only_active(activity, &found));
  table_->close(alone);
  ASSERT_EQ(open(8, &other_), alone) << "in the same slot";
  open(9, &other_);
  EXPECT_FALSE(table_->only_active(activity, &found)) << "one of two";
}

TEST_F(Causality, WithALostRequestTheOnlyActiveOneIsNotKnown) {
  open(7, &other_);
  query_.requests_lost = true;
  EXPECT_EQ(cause(&mine_).cause, Cause::kNone);
}

TEST_F(Causality, CallsOfTheTestAreEntriesUnlessItServesARequest) {
  query_.is_test = true;
  open(7, &other_);
  EXPECT_EQ(cause(&mine_).cause, Cause::kEntry);
  EXPECT_EQ(cause(&mine_).rpc, 0u);
  EXPECT_EQ(cause(&other_).cause, Cause::kThread);
}

TEST_F(Causality, AForkedChildKnowsTheRequestOfItsThreadAndNoOther) {
  open(7, &mine_);
  open(8, &other_);
  table_->after_fork(&mine_);
  EXPECT_EQ(table_->active(), 1u);
  EXPECT_EQ(cause(&mine_).rpc, 7u);
  ThreadRequests fresh{};
  EXPECT_EQ(cause(&fresh, 9).cause, Cause::kOnlyActive);
}

TEST_F(Causality, AChildThatServesItselfForgetsWhatItInherited) {
  Incoming* inherited = open(7, &mine_);
  table_->after_fork(&mine_);
  Incoming* own = open(9, &mine_);
  EXPECT_EQ(table_->active(), 1u);
  EXPECT_EQ(cause(&mine_).rpc, 9u);
  table_->close(inherited);  // the copy of the connection is closed
  EXPECT_EQ(table_->active(), 1u);
  table_->close(own);
  EXPECT_EQ(table_->active(), 0u);
}

TEST_F(Causality, AFullTableSaysSo) {
  std::vector<Incoming*> all;
  for (uint32_t i = 0; i < IncomingTable::kSlots; ++i) {
    all.push_back(table_->claim());
    ASSERT_NE(all.back(), nullptr);
  }
  EXPECT_EQ(table_->claim(), nullptr);
  table_->abandon(all[100]);
  EXPECT_EQ(table_->claim(), all[100]);
  // All of them can be claimed again, each once.
  for (Incoming* incoming : all) table_->abandon(incoming);
  std::set<Incoming*> again;
  for (uint32_t i = 0; i < IncomingTable::kSlots; ++i) again.insert(table_->claim());
  EXPECT_EQ(again, std::set<Incoming*>(all.begin(), all.end()));
  EXPECT_EQ(table_->claim(), nullptr);
}

TEST_F(Causality, ThreadsThatClaimAtTheSameTimeHaveSlotsOfTheirOwn) {
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([this, t, &shared] {
      for (int turn = 0; turn < 2000; ++turn) {
        Incoming* mine[8];
        for (Incoming*& incoming : mine) {
          incoming = table_->claim();
          incoming->rpc = t;
        }
        for (Incoming* incoming : mine) {
          if (incoming->rpc != t) ++shared;
          table_->abandon(incoming);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.load(), 0);
}

TEST_F(Causality, ManyThreadsOpenAndCloseWithoutLosingCount) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      ThreadRequests requests{};
      for (uint64_t i = 1; i < 5000; ++i) {
        Incoming* incoming = open(t * 10000 + i, &requests);
        CauseOf found;
        if (!table_->of_thread(&requests, &found) || found.rpc != t * 10000 + i) ADD_FAILURE();
        table_->close(incoming);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table_->active(), 0u);
}

// --- counters ------------------------------------------------------------------------------------

TEST(Counters, CountFromOneForEachKey) {
  auto lane = std::make_unique<LaneMemory>();
  EXPECT_EQ(counted_so_far(lane.get(), 5), 0u);
  EXPECT_EQ(count_invocation(lane.get(), 5), 1u);
  EXPECT_EQ(count_invocation(lane.get(), 5), 2u);
  EXPECT_EQ(count_invocation(lane.get(), 5 + kCounterSlots), 1u) << "same slot, another key";
  EXPECT_EQ(counted_so_far(lane.get(), 5), 2u);
}

TEST(Counters, AreSharedByThreadsWithoutGaps) {
  auto lane = std::make_unique<LaneMemory>();
  std::vector<std::thread> threads;
  std::atomic<uint64_t> sum{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 1000; ++i) sum += count_invocation(lane.get(), 42);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counted_so_far(lane.get(), 42), 4000u);
  EXPECT_EQ(sum, 4000u * 4001u / 2);
}

TEST(Counters, AnotherExecutionCountsAnew) {
  const Hash128 key{1, 2};
  EXPECT_NE(execution_key(key, 1), execution_key(key, 2));
  EXPECT_NE(fold_key(Hash128{}), 0u);
}

TEST(Counters, AFullTableIsCountedAsLost) {
  auto lane = std::make_unique<LaneMemory>();
  for (auto& slot : lane->counters) slot.key.store(999999);
  EXPECT_EQ(count_invocation(lane.get(), 5), 0u);
  EXPECT_EQ(lane->counters_lost.load(), 1u);
}

TEST(Counters, ACallOfAnExecutionThatIsOverCountsInNoSlotOfTheNext) {
  auto lane = LaneWriter::create(HubOptions{});
  ASSERT_TRUE(lane.ok());
  SharedMapping<LaneMemory> memory;
  ASSERT_TRUE(memory.map(lane.value()->descriptor()));
  std::atomic<bool> done{false};
  std::vector<std::thread> late;
  for (uint64_t slot = 0; slot < kCounterSlots; slot += kCounterSlots / 16) {
    late.emplace_back([&, slot] {
      while (!done) count_invocation(memory.get(), slot + kCounterSlots);
    });
  }
  uint64_t key = uint64_t{1} << 40;
  uint32_t wrong = 0;
  for (uint32_t execution = 1; execution <= 200; ++execution) {
    lane.value()->begin(execution);  // the one before has filled so much that all are cleared
    const uint64_t first = key;
    for (uint32_t count = 1; count <= 2; ++count) {
      for (key = first; key <= first + kCounterSlots / 4; ++key) {
        if (count_invocation(memory.get(), key) != count) ++wrong;
      }
    }
    lane.value()->end();
  }
  done = true;
  for (std::thread& thread : late) thread.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(Sites, AFullTableProvesNothing) {
  auto lane = std::make_unique<LaneMemory>();
  for (auto& slot : lane->sites) slot.key.store(999999);
  EXPECT_EQ(note_site(lane.get(), 5, {}),
            kSiteSeenWithNone | kSiteSeenWithSeveral | kSiteUsesEndedConnections);
}

TEST(Sites, ThreadsThatSeeDifferentThingsLoseNone) {
  auto lane = std::make_unique<LaneMemory>();
  for (uint32_t execution = 1; execution < 2000; ++execution) {
    std::thread other([&] { note_site(lane.get(), 5, {kSiteSeenWithNone, execution, true}); });
    note_site(lane.get(), 5, {kSiteSeenWithSeveral, execution, true});
    other.join();
    ASSERT_EQ(note_site(lane.get(), 5, {0, execution, true}),
              kSiteSeenWithNone | kSiteSeenWithSeveral);
  }
  EXPECT_EQ(note_site(lane.get(), 5, {0, 2000, true}), 0u);
}

}  // namespace
}  // namespace filibuster::preload
