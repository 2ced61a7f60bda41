// The report of an exploration, from what its parts know.
#pragma once

#include "daemon/explore/exploration.h"

namespace filibuster {

// For a live page, while the search goes on.
Result<TestReport> report_so_far(const ExplorationState& state);

struct ExplorationEnd {
  bool stopped = false;
  bool failed = false;
};
// Completes state->report.
void finish_report(ExplorationState* state, const ExplorationEnd& end);

}  // namespace filibuster
