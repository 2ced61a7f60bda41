// What is done with a connection's bytes: one state, which changes by one function.
//
//                 followed  faulting  missed    given-up  settled  passing  replaced  ended
//   kGiveUp       given-up  given-up  given-up
//   kBeginFault   faulting
//   kMiss         given-up  missed
//   kFaultFailed            followed  given-up
//   kFaultFired   replaced  replaced  replaced  replaced  replaced
//   kSettle       settled   settled   settled   settled                     ended
//   kClear                                                passing
//
// An empty place: nothing changes. A connection that closes settles, too. A fault may still fire on a
// connection that was given up, if its request had been decided before.
#pragma once

#include <atomic>
#include <cstdint>

namespace filibuster::preload {

class ConnectionState {
 public:
  enum class State : uint8_t {
    kFollowed,
    kFaulting,  // about to be replaced: another thread may read the answer
    kMissed,    // as kFaulting, and bytes that were read meanwhile were not followed
    kGivenUp,   // not followed any more; there may be a debt, and what is open has not ended
    kSettled,   // as kGivenUp, and all that was open has ended
    kPassing,   // as kSettled, and nothing is owed: hooks leave at once
    kReplaced,  // its descriptor is an end of a pair (inject.h): it is not followed any more
    kEnded,     // as kReplaced, and all that was open has ended
  };
  enum class Event : uint8_t {
    kGiveUp,
    kBeginFault,
    kMiss,  // a thread moved bytes while another one was inside
    kFaultFailed,
    kFaultFired,
    kSettle,  // whatever was open has ended
    kClear,   // nothing is owed
  };

  // Returns the state before.
  State change(Event event) {
    State before = state_.load();
    while (!state_.compare_exchange_weak(before, after(before, event))) {
    }
    return before;
  }
  static constexpr State after(State state, Event event) {
    using enum State;
    constexpr State kTable[][8] = {
        {kGivenUp, kGivenUp, kGivenUp, kGivenUp, kSettled, kPassing, kReplaced, kEnded},
        {kFaulting, kFaulting, kMissed, kGivenUp, kSettled, kPassing, kReplaced, kEnded},
        {kGivenUp, kMissed, kMissed, kGivenUp, kSettled, kPassing, kReplaced, kEnded},
        {kFollowed, kFollowed, kGivenUp, kGivenUp, kSettled, kPassing, kReplaced, kEnded},
        {kReplaced, kReplaced, kReplaced, kReplaced, kReplaced, kPassing, kReplaced, kEnded},
        {kSettled, kSettled, kSettled, kSettled, kSettled, kPassing, kEnded, kEnded},
        {kFollowed, kFaulting, kMissed, kGivenUp, kPassing, kPassing, kReplaced, kEnded},
    };
    return kTable[static_cast<unsigned>(event)][static_cast<unsigned>(state)];
  }

  bool is_followed() const { return now() < State::kGivenUp; }
  bool is_passing() const { return now() == State::kPassing; }
  bool is_replaced() const { return now() >= State::kReplaced; }
  bool is_settled() const {
    const State state = now();
    return state == State::kSettled || state == State::kPassing || state == State::kEnded;
  }
  // A fault fired, or is about to.
  bool is_faulted() const {
    const State state = now();
    return state == State::kFaulting || state == State::kMissed || state >= State::kReplaced;
  }

 private:
  State now() const { return state_.load(std::memory_order_acquire); }

  std::atomic<State> state_{State::kFollowed};
};

}  // namespace filibuster::preload
