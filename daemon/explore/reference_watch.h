// The reference execution, run again: at the end of a search, and in a long one now and then. An application in which a state
// has built up under the faults (a breaker that is open) hides from all later executions what stands behind it. These
// executions count in no figure.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "daemon/explore/executor.h"
#include "daemon/explore/exploration.h"

namespace filibuster {

class ReferenceWatch {
 public:
  // Both outlive it.
  ReferenceWatch(ExplorationState* state, Executor* executor)
      : state_(*state), executor_(*executor) {}

  // The search begins.
  void begin() { search_began_ = Clock::now(); }
  // An execution of the search has ended.
  void count_execution() { ++since_look_; }
  // Looks if it is time to.
  Result<Flow> look_in_between();
  // Looks on every lane, if anything was executed.
  Result<Flow> look_at_the_end();

 private:
  using Clock = std::chrono::steady_clock;
  bool compares_references() const;
  Result<Flow> look(TestStarter::Start start);
  // `run` makes an execution without faults on this lane.
  Result<Flow> look_at(uint32_t lane, const std::function<Result<Attempt>()>& run);
  // The number of the last execution of the search that still showed what has changed; where several things have, of the
  // first of them. 0: none did.
  uint32_t last_seen_as_before(const Differences& differences);

  ExplorationState& state_;
  Executor& executor_;
  uint64_t since_look_ = 0;  // executions since the reference was last looked at
  double look_seconds_ = 0;
  Clock::time_point search_began_;
};

}  // namespace filibuster
