// The reference execution, run again during an exploration and at its end: an application in which a state has built up
// meanwhile (a breaker that is open) does not show what stands behind it any more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace filibuster {

// A time in which the application did not do without faults what it had done in the reference execution.
struct Drift {
  std::vector<std::string> what;  // what differs, without secrets
  // Numbers of executions. It was last as before in `after`, differed in `seen`, and was as before again in `until` (0: it was
  // not, up to the end).
  uint32_t after = 0, seen = 0, until = 0;
  uint64_t executions = 0;  // executions of the search between `after` and `until`
  std::vector<std::string>
      findings;  // ids of the findings whose executions are among them: they are in doubt
  bool contains(uint32_t execution) const {
    return execution > after && (until == 0 || execution < until);
  }
};

struct ReferenceAgain {
  std::vector<uint32_t> executions;  // their numbers
  std::vector<Drift> drifts;
};

}  // namespace filibuster
