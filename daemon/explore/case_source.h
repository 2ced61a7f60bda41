// Executions of a test under faults: where they come from (CaseSource), how each of them is run (CaseRunner), and the loop
// over them. The search of an exploration is one source, the plan of a suite another; the loop knows neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/explore/test_run.h"
#include "daemon/model/injected_fault.h"

namespace filibuster {

// Where it is no error that something ends before its time: the user stopped it, or there is nothing to explore.
enum class Flow { kGoesOn, kStopped };
// What goes on if it did not fail.
inline Result<Flow> goes_on(const Result<void>& done) {
  return done.ok() ? Result<Flow>(Flow::kGoesOn) : done.error();
}

// An execution that is to be run.
struct Case {
  uint32_t id = 0;                    // as its source counts
  std::vector<InjectedFault> faults;  // as the report describes them
  std::vector<PlannedRpcFault> plan;  // the same for the agents
};

// What running a case came to.
struct CaseOutcome {
  Attempt attempt;                   // the one that counts
  bool seen_twice = false;           // its failure was reproduced already
  uint32_t tries = 1;                // executions that it took
  std::string why_tried_again = {};  // why it took more than one; "": it did not
  // A race that the last execution lost before its fault came, so that it says nothing of the fault; "": none.
  std::string lost_race = {};
};

class CaseSource {
 public:
  virtual ~CaseSource() = default;
  // nullopt: every case was run, or a bound is reached. What was handed out and not concluded stays open.
  virtual Result<std::optional<Case>> next() = 0;
  // What next() may hand out after that, for lanes that have nothing to do. Changes nothing.
  virtual Result<std::vector<Case>> ahead(size_t /*most*/) { return std::vector<Case>(); }
  // What came of the case that was handed out last.
  virtual Result<Flow> conclude(const Case& one, CaseOutcome result) = 0;
};

class CaseRunner {
 public:
  virtual ~CaseRunner() = default;
  // `source` is the one that the case is of; null: nothing may be run ahead. An attempt that was stopped says so in its result.
  virtual Result<CaseOutcome> execute(const Case& one, CaseSource* source) = 0;
};

// Runs the cases of `source` until it has no further ones. `wake_fd`, when it is readable, stops that between two executions.
Result<Flow> run_cases(CaseSource* source, CaseRunner* runner, int wake_fd);

}  // namespace filibuster
