#include "daemon/explore/early_attempts.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

using search::ObservedRpc;
using search::PlannedFault;

constexpr Hash128 kFirst{1, 1}, kSecond{2, 2}, kThird{3, 3};

FaultSpec fault(const char* text) {
  return parse_fault(text).value();
}

struct EarlyAttemptsTest : testing::Test {
  std::unique_ptr<search::SearchStore> store =
      std::move(search::SearchStore::open(":memory:")).value();
  EarlyAttempts early{store.get()};

  std::vector<PlannedFault> all{{kFirst, 7}, {kSecond, 7}, {kThird, 7}};
  std::vector<ObservedRpc> seen{{kFirst, {}, 7, 7, {7, 8}}, {kSecond, kFirst, 7, 7, {7}}};
};

TEST_F(EarlyAttemptsTest, AnItemOfASequenceThatKeepsTheRequestFromTheServerCanBeRepeated) {
  EXPECT_TRUE(EarlyAttempts::can_be_repeated(fault("status:503")));
  EXPECT_TRUE(EarlyAttempts::can_be_repeated(fault("reset")));
  EXPECT_TRUE(EarlyAttempts::can_be_repeated(fault("timeout")));
  EXPECT_TRUE(EarlyAttempts::can_be_repeated(fault("grpc:UNAVAILABLE")));
  EXPECT_FALSE(EarlyAttempts::can_be_repeated(fault("refused")));
  EXPECT_FALSE(EarlyAttempts::can_be_repeated(fault("tls:unknown-ca")));
  EXPECT_FALSE(EarlyAttempts::can_be_repeated(fault("timeout:after")));
  EXPECT_FALSE(EarlyAttempts::can_be_repeated(fault("slow-body")));
  EXPECT_FALSE(EarlyAttempts::can_be_repeated(EarlyAttempts::at_each_attempt(fault("status:503"))));
  EXPECT_EQ(to_text(EarlyAttempts::at_each_attempt(fault("status:503"))), "status:503 when=1+");
}

TEST_F(EarlyAttemptsTest, ACallSiteIsTriedOnceAndOneThatIsNotKnownNever) {
  ASSERT_TRUE(early.add({kFirst, 7}, 0).ok());
  EXPECT_FALSE(early.next());
  ASSERT_TRUE(early.add({kFirst, 7}, 5).ok());
  ASSERT_TRUE(early.add({kFirst, 8}, 5).ok());
  const auto one = early.next();
  ASSERT_TRUE(one);
  EXPECT_TRUE(EarlyAttempts::is_early(one->id));
  EXPECT_EQ(one->faults, (std::vector<PlannedFault>{{kFirst, 7}}));
  EXPECT_EQ(early.next()->id, one->id);  // until it is concluded
  ASSERT_TRUE(early.conclude({}, {}).ok());
  EXPECT_FALSE(early.next());
  EXPECT_TRUE(early.ahead().empty());
}

TEST_F(EarlyAttemptsTest, TheResultIsThatOfItsSetOfFaultsInWhateverOrderAndIsTakenOnce) {
  ASSERT_TRUE(early.add({kFirst, 7}, 5).ok());
  ASSERT_TRUE(early.conclude(all, seen).ok());
  EXPECT_EQ(early.ahead().size(), 1u);
  EXPECT_FALSE(early.take({all[0], all[1]}).value());
  EXPECT_FALSE(early.take({all[0], all[1], {kThird, 8}}).value());
  const auto taken = early.take({all[2], all[0], all[1]}).value();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->rpcs.size(), seen.size());
  EXPECT_FALSE(early.take(all).value());
}

TEST_F(EarlyAttemptsTest, AnotherProcessGoesOn) {
  ASSERT_TRUE(early.add({kFirst, 7}, 5).ok());
  ASSERT_TRUE(early.conclude(all, seen).ok());
  ASSERT_TRUE(early.add({kThird, 8}, 6).ok());
  EarlyAttempts later(store.get());
  ASSERT_TRUE(later.load().ok());
  ASSERT_TRUE(later.next());
  EXPECT_EQ(later.next()->faults, (std::vector<PlannedFault>{{kThird, 8}}));
  EXPECT_NE(later.next()->id, later.ahead().front().id);
  ASSERT_TRUE(later.add({kFirst, 8}, 5).ok());  // the call site was tried
  ASSERT_TRUE(later.conclude({}, {}).ok());
  EXPECT_FALSE(later.next());
  const auto taken = later.take(all).value();
  ASSERT_TRUE(taken);
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(taken->rpcs[i].index, seen[i].index);
    EXPECT_EQ(taken->rpcs[i].parent, seen[i].parent);
    EXPECT_EQ(taken->rpcs[i].outcome, seen[i].outcome);
    EXPECT_EQ(taken->rpcs[i].injected, seen[i].injected);
    EXPECT_EQ(taken->rpcs[i].faults, seen[i].faults);
  }
}

TEST_F(EarlyAttemptsTest, WhatIsDamagedIsAnError) {
  ASSERT_TRUE(store->save(search::Saved::kEarlyAttempts, R"({"sites": [5], "waiting": 3})").ok());
  const auto loaded = EarlyAttempts(store.get()).load();
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("--restart-session"), std::string::npos);
}

}  // namespace
}  // namespace filibuster
