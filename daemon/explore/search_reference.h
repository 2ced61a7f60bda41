// The reference execution of an exploration: from the first execution without faults to the search's root. It has to settle
// and to pass, and to be what an interrupted session knew where that goes on.
#pragma once

#include <string>

#include "daemon/explore/executor.h"
#include "daemon/explore/exploration.h"
#include "daemon/explore/kept_state.h"
#include "daemon/explore/reference_phase.h"
#include "daemon/explore/sent_mutations.h"
#include "daemon/explore/stored_search.h"

namespace filibuster {

class SearchReference {
 public:
  // All arguments outlive it.
  SearchReference(ExplorationState* state, Executor* executor, StoredSearch* stored,
                  SentMutations* mutations)
      : state_(*state), executor_(*executor), stored_(*stored), mutations_(*mutations) {}

  // Stopped: also where there is nothing to explore (TestReport::nothing_to_explore).
  Result<Flow> run();
  // With coverage the services are started anew here. The reference execution is then repeated, so that
  // the first execution with faults meets services that have served an execution, as it does without
  // coverage.
  Result<Flow> begin_faults();
  // For a search that has begun anew with other masks.
  Result<Flow> run_again();

 private:
  ReferencePhase phase(uint32_t executions, const std::string& first,
                       const std::string& repetition);
  // False: the test of a suite has nothing to explore.
  Result<bool> accept(const Attempt& attempt, const std::string& which);
  // `*anew`: the application is another one, and the search was opened anew.
  Result<Flow> compare_with_kept(ReferencePhase* phase, bool* anew);
  // Calls that come in some of the executions without faults only. The reference execution of the search is known.
  Result<void> tell_kept_state(const Records& runs);
  // The record is what the search begins with.
  Result<void> begin_with(const ExecutionResult& result);
  void tell_why_no_faults(const std::vector<RpcRecord>& rpcs);

  ExplorationState& state_;
  Executor& executor_;
  StoredSearch& stored_;
  SentMutations& mutations_;
};

}  // namespace filibuster
