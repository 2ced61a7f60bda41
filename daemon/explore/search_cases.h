// The executions of an exploration, in the order of its search (search.h). What came of one of them is stored first and then
// told to the search, which schedules others from it.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "daemon/explore/case_source.h"
#include "daemon/explore/executor.h"
#include "daemon/explore/exploration.h"
#include "daemon/explore/profile.h"
#include "daemon/explore/reference_watch.h"
#include "daemon/explore/relearning.h"
#include "daemon/explore/sent_mutations.h"

namespace filibuster {

class SearchCases final : public CaseSource {
 public:
  // All arguments outlive it.
  SearchCases(ExplorationState* state, Executor* executor, Relearning* relearning,
              ReferenceWatch* watch, SentMutations* mutations)
      : state_(*state),
        executor_(*executor),
        relearning_(*relearning),
        watch_(*watch),
        mutations_(*mutations) {}

  // The reference execution is done.
  Result<void> begin();
  // Hands out what lies within `reach`, at most so many cases (0: no bound).
  void go_on(const search::Reach& reach, uint64_t most);
  // False: a bound, or --max-time, ended the search, whatever is open.
  bool goes_on() const { return !met_bound_ && !state_.report.time_over; }

  Result<std::optional<Case>> next() override;
  Result<std::vector<Case>> ahead(size_t most) override {
    return state_.dispatcher->ahead(most, reach_);
  }
  Result<Flow> conclude(const Case& one, CaseOutcome outcome) override;

  // What executions took, by phases.
  void tell(TestReport* report) const;

 private:
  using Clock = std::chrono::steady_clock;
  bool met_first_failure();
  // All that conclude() does but for the time that it takes.
  Result<Flow> look_at(const Case& one, CaseOutcome* outcome);
  // The same for an execution of early_attempts.h.
  Result<Flow> look_at_attempts(const Case& one, CaseOutcome* outcome);
  // The case has its conclusion, whatever it is.
  Result<Flow> keep(const Case& one, CaseOutcome* outcome);
  // True: this execution was run early, or before the search began anew, and that result counts.
  Result<bool> take_over(const Case& one);
  Result<bool> take_over_early(const search::AbstractExecution& one);
  // The RPC of a fault comes in some executions only, and did not come.
  Result<void> leave_out(const Case& one, const InjectedFault& missing);
  // Runs the case until what comes in some executions only has come. `*attempt` is the last of them.
  Result<void> wait_for_what_comes(const Case& one, Attempt* attempt);
  // A failure by time is run again, since a busy machine makes it, too.
  Result<Flow> confirm_by_time(const Case& one, CaseOutcome* result);
  enum class Unmet {
    kCounts,     // the result stands: its plan was not met
    kDealtWith,  // it was left out, or the search began anew and may hand it out again
    kStopped,
  };
  Result<Unmet> learn_from_unmet_plan(const Case& one, Attempt* attempt);
  Result<void> record(const Case& one, const Attempt& attempt);
  Result<void> keep_failure(Execution execution, const Attempt& attempt, search::ResultRow* row);
  void note_skipped(const Case& one, const Attempt& attempt, search::ResultRow* row);
  Result<void> tell_search(const Case& one, const Attempt& attempt);
  Result<Observation> learn_and_observe(const ExecutionRecord& record);
  // For the live page.
  void tell_what_is_tried(const char* how, const std::vector<InjectedFault>& faults) const;
  void tell_execution(const Execution& execution);
  // Reports a failure. `seen_twice`: it was reproduced already, so it is not replayed.
  Result<void> found(const Execution& failure, const std::vector<PlannedRpcFault>& plan,
                     bool seen_twice);
  // Gives a live page, if somebody looks at one, what is known so far.
  Result<void> offer_page();

  ExplorationState& state_;
  Executor& executor_;
  Relearning& relearning_;
  ReferenceWatch& watch_;
  SentMutations& mutations_;
  search::Reach reach_;
  std::optional<uint64_t> left_;  // cases of this turn
  bool met_bound_ = false;        // --stop-at-first
  Clock::time_point next_offer_;  // of the live page
  Profile profile_;
};

}  // namespace filibuster
