// Which connects are one connect to the program.
#include "preload/rpc/connect_groups.h"

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
  ConnectGroup* begin(uint64_t address) { return groups_->add(attempt(address)); }
  std::unique_ptr<ConnectGroups> groups_ = std::make_unique<ConnectGroups>();
};

TEST_F(LogicalConnects, TheNextAddressAfterARefusalJoins) {
  ConnectGroup* group = begin(6);
  group->outcome = Outcome::kRefused;
  EXPECT_EQ(groups_->join(attempt(4)), group);
  EXPECT_EQ(group->outcome, Outcome::kUnknown) << "of this try";
}

TEST_F(LogicalConnects, ARefusalOfOursHoldsForEveryFurtherAddress) {
  ConnectGroup* group = begin(6);
  group->outcome = Outcome::kRefused;
  group->refused_by_us = true;
  EXPECT_EQ(groups_->join(attempt(4)), group);
  EXPECT_EQ(groups_->join(attempt(5)), group);
  EXPECT_EQ(group->outcome, Outcome::kRefused);
}

TEST_F(LogicalConnects, ASecondTryOfOneAddressIsARetry) {
  begin(6)->outcome = Outcome::kRefused;
  EXPECT_EQ(groups_->join(attempt(6)), nullptr);
}

TEST_F(LogicalConnects, AnUnknownOutcomeJoinsUntilARequestWentOut) {
  ConnectGroup* group = begin(6);
  EXPECT_EQ(groups_->join(attempt(4)), group);
  group->carried_request = true;
  EXPECT_EQ(groups_->join(attempt(5)), nullptr);
}

TEST_F(LogicalConnects, AConnectionThatStandsHasNoAlternatives) {
  begin(6)->outcome = Outcome::kConnected;
  EXPECT_EQ(groups_->join(attempt(4)), nullptr);
}

TEST_F(LogicalConnects, NothingIsSharedAcrossCauseTargetPortThreadOrExecution) {
  begin(6)->outcome = Outcome::kRefused;
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
  ConnectGroup* refused = begin(6);
  refused->outcome = Outcome::kRefused;
  begin(6);
  EXPECT_EQ(groups_->join(attempt(4)), refused);
}

TEST_F(LogicalConnects, EachIsFoundUntilItGivesWay) {
  const uint64_t first = begin(6)->id;
  const uint64_t again = begin(6)->id;
  EXPECT_NE(groups_->find(first), groups_->find(again));
  EXPECT_EQ(groups_->find(again)->id, again);
  for (uint64_t i = 0; i < 63; ++i) begin(6);
  EXPECT_EQ(groups_->find(first), nullptr);
  EXPECT_NE(groups_->find(again), nullptr);
  EXPECT_EQ(groups_->find(0), nullptr);
}

TEST_F(LogicalConnects, ALockThatCannotBeHadIsNotWaitedFor) {
  ConnectGroups::Lock held(groups_.get());
  ASSERT_TRUE(held);
  ConnectGroups::Lock second(groups_.get());
  EXPECT_FALSE(second);
}

}  // namespace
}  // namespace filibuster::preload
