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

  // All of it. To be called once.
  Exploration explore();

  // The same in parts, for tests that take turns on a lane. The reference execution, and all that comes before the first fault.
  void begin();
  // Runs what lies within `reach`, at most so many executions (0: no bound). Does nothing after the exploration has ended.
  void search(const search::Reach& reach, uint64_t most = 0);
  // It ends with this error.
  void fail(Error error) { flow_ = std::move(error); }
  // Whether further turns may bring something.
  bool goes_on() const;
  // Whether the user has stopped it.
  bool is_stopped() const;
  // What its call sites have had. Precondition: goes_on().
  std::vector<search::SiteFaults> sites() const { return state_.dispatcher->search().sites(); }
  // Seconds of an execution without faults.
  double reference_seconds() const { return state_.report.reference_seconds; }
  // Whether the lanes of the session show what lane 0 shows. Precondition: goes_on().
  void compare_lanes();
  // Between turns: what the lane knows of this test is kept for take_up().
  void put_aside() { executor_.put_aside(); }
  void take_up();
  // The report. To be called once, and nothing after it.
  Exploration end();

 private:
  class Turn;
  // Stopped: also where there is nothing to explore.
  Result<Flow> open();
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
  Result<Flow> flow_ = Flow::kGoesOn;
  double seconds_ = 0;  // of its turns
};

}  // namespace filibuster
