// The exploration of one test: reference execution, search, verdicts, findings with their replay,
// counterexample files, the test's part of the report. Runs on the session's thread.
#pragma once

#include "daemon/explore/executor.h"
#include "daemon/explore/exploration.h"
#include "daemon/explore/reference_watch.h"
#include "daemon/explore/relearning.h"
#include "daemon/explore/search_cases.h"
#include "daemon/explore/search_reference.h"
#include "daemon/explore/sent_mutations.h"
#include "daemon/explore/stored_search.h"

namespace filibuster {

class Explorer {
 public:
  // All arguments must outlive the explorer.
  Explorer(SessionContext* session, Lane* lane, const TestConfig& test);

  // To be called once.
  Exploration explore();

 private:
  // Stopped: also where there is nothing to explore.
  Result<Flow> begin();
  Result<Flow> search();
  // `ended`: the search came to its end, or to a bound.
  Result<void> close(bool ended);

  ExplorationState state_;
  Executor executor_;
  SentMutations mutations_;
  StoredSearch stored_;
  SearchReference reference_;
  Relearning relearning_;
  ReferenceWatch watch_;
  SearchCases cases_;
};

}  // namespace filibuster
