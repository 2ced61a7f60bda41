#include "preload/stream/connection_state.h"

#include <gtest/gtest.h>

namespace filibuster::preload {
namespace {

using State = ConnectionState::State;
using Event = ConnectionState::Event;

constexpr State kStates[] = {State::kFollowed, State::kFaulting, State::kMissed,   State::kGivenUp,
                             State::kSettled,  State::kPassing,  State::kReplaced, State::kEnded};
constexpr Event kEvents[] = {Event::kGiveUp,      Event::kBeginFault, Event::kMiss,
                             Event::kFaultFailed, Event::kFaultFired, Event::kSettle,
                             Event::kClear};

TEST(ConnectionState, IsNeverFollowedAgainOnceItWasNot) {
  for (const State state : kStates) {
    for (const Event event : kEvents) {
      const State after = ConnectionState::after(state, event);
      EXPECT_TRUE(state < State::kGivenUp || after >= State::kGivenUp);
      // What takes its descriptor away is final.
      EXPECT_TRUE(state < State::kReplaced || after >= State::kReplaced);
      EXPECT_TRUE(state != State::kPassing || after == State::kPassing);
    }
  }
}

TEST(ConnectionState, AFaultThatFailsLeavesItAsItWasUnlessBytesWereMissed) {
  ConnectionState quiet, missed;
  quiet.change(Event::kBeginFault);
  EXPECT_TRUE(quiet.is_faulted() && quiet.is_followed());
  quiet.change(Event::kFaultFailed);
  EXPECT_TRUE(quiet.is_followed() && !quiet.is_faulted());
  missed.change(Event::kBeginFault);
  EXPECT_EQ(missed.change(Event::kMiss), State::kFaulting);
  EXPECT_TRUE(missed.is_followed());
  EXPECT_EQ(missed.change(Event::kFaultFailed), State::kMissed);
  EXPECT_FALSE(missed.is_followed());
}

TEST(ConnectionState, PassesOnlyAfterAllThatWasOpenHasEnded) {
  ConnectionState state;
  state.change(Event::kClear);
  EXPECT_TRUE(state.is_followed());
  state.change(Event::kGiveUp);
  state.change(Event::kClear);
  EXPECT_FALSE(state.is_passing());
  state.change(Event::kSettle);
  EXPECT_TRUE(state.is_settled() && !state.is_passing());
  state.change(Event::kClear);
  EXPECT_TRUE(state.is_passing() && state.is_settled());
}

TEST(ConnectionState, AReplacedOneNeverPasses) {
  ConnectionState state;
  state.change(Event::kFaultFired);
  state.change(Event::kGiveUp);
  EXPECT_TRUE(state.is_replaced() && !state.is_settled());
  state.change(Event::kSettle);
  state.change(Event::kClear);
  EXPECT_TRUE(state.is_replaced() && state.is_settled() && !state.is_passing());
}

}  // namespace
}  // namespace filibuster::preload
