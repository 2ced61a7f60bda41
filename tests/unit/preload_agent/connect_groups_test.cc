// Which connects are one connect to the program.
#include "preload/agent/connect_groups.h"

#include <gtest/gtest.h>

#include <memory>

namespace filibuster::preload {
namespace {

using Outcome = ConnectGroup::Outcome;

class LogicalConnects : public ::testing::Test {
 protected:
  static ConnectTry attempt(uint64_t address) {
    ConnectTry out;
    out.execution = 1;
    out.thread = 10;
    out.parent_path = {1, 1};
    out.target = {2, 2};
    out.address = {address, 0};
    out.port = 80;
    return out;
  }
  ConnectGroup* begin(uint64_t address, uint64_t key) {
    return groups_->add(attempt(address), {key, key});
  }
  std::unique_ptr<ConnectGroups> groups_ = std::make_unique<ConnectGroups>();
};

TEST_F(LogicalConnects, TheNextAddressAfterARefusalJoins) {
  ConnectGroup* group = begin(6, 1);
  group->outcome = Outcome::kRefused;
  EXPECT_EQ(groups_->join(attempt(4)), group);
  EXPECT_EQ(group->outcome, Outcome::kUnknown) << "of this try";
}

TEST_F(LogicalConnects, ARefusalOfOursHoldsForEveryFurtherAddress) {
  ConnectGroup* group = begin(6, 1);
  group->outcome = Outcome::kRefused;
  group->refused_by_us = true;
  EXPECT_EQ(groups_->join(attempt(4)), group);
  EXPECT_EQ(groups_->join(attempt(5)), group);
  EXPECT_EQ(group->outcome, Outcome::kRefused);
}

TEST_F(LogicalConnects, ASecondTryOfOneAddressIsARetry) {
  begin(6, 1)->outcome = Outcome::kRefused;
  EXPECT_EQ(groups_->join(attempt(6)), nullptr);
}

TEST_F(LogicalConnects, AnUnknownOutcomeJoinsUntilARequestWentOut) {
  ConnectGroup* group = begin(6, 1);
  EXPECT_EQ(groups_->join(attempt(4)), group);
  group->carried_request = true;
  EXPECT_EQ(groups_->join(attempt(5)), nullptr);
}

TEST_F(LogicalConnects, AConnectionThatStandsHasNoAlternatives) {
  begin(6, 1)->outcome = Outcome::kConnected;
  EXPECT_EQ(groups_->join(attempt(4)), nullptr);
}

TEST_F(LogicalConnects, NothingIsSharedAcrossCauseTargetPortThreadOrExecution) {
  begin(6, 1)->outcome = Outcome::kRefused;
  ConnectTry other = attempt(4);
  other.parent_path = {9, 9};
  EXPECT_EQ(groups_->join(other), nullptr);
  other = attempt(4);
  other.target = {9, 9};
  EXPECT_EQ(groups_->join(other), nullptr);
  other = attempt(4);
  other.port = 81;
  EXPECT_EQ(groups_->join(other), nullptr);
  other = attempt(4);
  other.thread = 11;
  EXPECT_EQ(groups_->join(other), nullptr);
  other = attempt(4);
  other.execution = 2;
  EXPECT_EQ(groups_->join(other), nullptr);
}

TEST_F(LogicalConnects, AKnownRefusalExplainsATryBetterThanAYoungerUnknown) {
  ConnectGroup* refused = begin(6, 1);
  refused->outcome = Outcome::kRefused;
  begin(6, 2);
  EXPECT_EQ(groups_->join(attempt(4)), refused);
}

TEST_F(LogicalConnects, TheYoungestIsFoundByKeyAndTheOldestGivesWay) {
  begin(6, 1);
  ConnectGroup* again = begin(6, 1);
  EXPECT_EQ(groups_->find({1, 1}), again);
  for (uint64_t i = 0; i < 64; ++i) begin(6, 100 + i);
  EXPECT_EQ(groups_->find({1, 1}), nullptr);
  EXPECT_EQ(groups_->find(Hash128{}), nullptr);
}

TEST_F(LogicalConnects, ALockThatCannotBeHadIsNotWaitedFor) {
  ConnectGroups::Lock held(groups_.get());
  ASSERT_TRUE(held);
  ConnectGroups::Lock second(groups_.get());
  EXPECT_FALSE(second);
}

TEST(ConnectKeys, TellCauseTargetSiteAndCountApart) {
  const Hash128 base = connect_base({1, 1}, {2, 2}, {3, 3});
  EXPECT_NE(base, connect_base({1, 2}, {2, 2}, {3, 3}));
  EXPECT_NE(base, connect_base({1, 1}, {2, 3}, {3, 3}));
  EXPECT_NE(base, connect_base({1, 1}, {2, 2}, {3, 4}));
  EXPECT_NE(connect_key(base, 1), connect_key(base, 2));
}

}  // namespace
}  // namespace filibuster::preload
