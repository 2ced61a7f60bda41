// The tests of a run take turns (docs/configuration.md "The order of executions"), so that whoever stops it has seen the most:
//
//   1. the reference execution of each test
//   2. one fault at each call site, in the cheapest test that reaches it
//   3. in each test, its other single faults
//   4. in each test, its pairs; then in each test the rest
//
// Each test stays on the lane on which it began. On several lanes, a lane waits for the others between 1 and 2, before the pairs,
// and before the rest.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "daemon/explore/explorer.h"

namespace filibuster {

// Tests that are explored at the same time keep a store, and a snapshot of the test, open.
inline constexpr size_t kMostInTurns = 64;

class Turns {
 public:
  // So many threads, a lane each, call run().
  explicit Turns(size_t lanes) : lanes_(lanes) {}

  // A test on a lane. `take_up` and `put_aside` stand around each of its turns.
  struct Player {
    Explorer* explorer;
    std::function<void()> take_up, put_aside;
  };
  // Takes the players of one lane, whose reference executions are done, through the stages.
  void run(std::vector<Player> players);

 private:
  using Act = std::function<void(Explorer&)>;
  void each(const std::vector<Player>& players, const Act& act);
  void search(const std::vector<Player>& players, const search::Reach& reach);
  void first_faults(const std::vector<Player>& players);
  bool claim(uint64_t site, const Explorer& by);
  void offer(const std::vector<Player>& players);
  void wait_for_others();

  const size_t lanes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t waiting_ = 0;
  uint64_t stage_ = 0;
  std::map<uint64_t, const Explorer*> cheapest_;  // by call site: who gives it its first fault
  std::set<uint64_t> had_;                        // call sites that have had a fault
};

}  // namespace filibuster
