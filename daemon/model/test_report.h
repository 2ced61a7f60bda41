// What the exploration of one test has shown.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/phases.h"
#include "daemon/model/execution_record.h"
#include "daemon/model/fault_case.h"
#include "daemon/model/finding.h"
#include "daemon/model/observed_answer.h"
#include "daemon/model/reference_again.h"
#include "daemon/model/refusals.h"
#include "daemon/model/search_counts.h"
#include "daemon/model/skipped.h"
#include "daemon/model/tested_rpcs.h"
#include "daemon/model/timeouts.h"
#include "daemon/model/variation.h"

namespace filibuster {

// A fault of which executions were left out because an answer counted as equal to another one with the
// same status and a different body (`reduce`: published).
struct PrunedUnlike {
  std::vector<InjectedFault> faults;  // of the smallest execution left out; the last is the fault
  uint64_t executions = 1;            // number of executions left out
  std::string rpc;                    // the RPC whose answers differ: "front -> a GET /"
  std::vector<InjectedFault> like;    // of the execution that showed the other answer
};

struct PageTest;

struct TestReport {
  std::string test;
  search::SearchCounts counts;
  bool finished = false;  // the whole space was explored
  // Why a test of a suite has nothing to explore: it calls nothing, or its runner skips it. Such a test
  // counts as explored.
  std::string nothing_to_explore;
  double reference_seconds = 0, seconds = 0, median_execution_seconds = 0;
  // How the test of an execution was started: "reset", "forked", "ahead", "plain" (daemon/lane/test_starter.h),
  // why it was not forked ("": it was), and why what was forked was not reset ("": it was, or was not forked).
  std::string start = "plain", why_not_forked, why_not_reset;
  std::string
      remedy;  // what would have it forked; empty: nothing that is known, or it would not pay
  // Where the time of an execution goes: the median, and over all that were counted.
  uint32_t lanes = 1;        // on which executions ran at the same time
  uint32_t lane = 0;         // which explored it, where tests are explored side by side
  uint64_t thrown_away = 0;  // executions that ran ahead and that the search did not ask for
  Phases median_phases, total_phases;
  uint64_t profiled = 0;
  search::SearchSeconds search_seconds;
  double store_seconds = 0;                      // processor time for writing the store
  std::vector<std::string> fault_configuration;  // one line per rule as used, for a person
  bool default_faults = false;                   // the configuration has no rules
  std::vector<Finding> findings;
  std::vector<Skipped> skipped;
  std::vector<Unexplained> unexplained;  // the inconclusive rows of `skipped`, by cause
  std::vector<PrunedUnlike> pruned_unlike;
  std::vector<NotInterposedRecord> dependencies_not_tested;
  std::vector<std::string> without_cause;  // RPCs that were never faulted, with the reason
  uint32_t reference_executions = 1;
  ReferenceAgain again;               // the reference execution, run again later
  std::vector<Variation> variations;  // what differed between executions with the same faults
  std::string proposed_masks;         // value of `nondeterminism`; empty: nothing to propose
  uint64_t damaged_fields = 0;        // requests with a forged or damaged x-filibuster field
  std::vector<std::string> notes;
  std::vector<RpcRecord> reference;      // the tree of the reference execution
  std::vector<ObservedAnswer> observed;  // errors that services answered with by themselves
  TestedRpcs rpcs;
  std::vector<Timeouts> timeouts;  // how injected silences ended
  std::vector<Refusals> refusals;  // how 'refused' reached each client
  std::vector<FaultCase> cases;    // every RPC with each of its faults, and what came of it
  std::vector<LeftFault> left;     // what was scheduled and not executed
  // The same by place: those without any fault come first.
  std::vector<LeftPlace> left_places;
  search::Places places;   // all that had or were to have a fault
  bool time_over = false;  // --max-time ended the exploration
  std::string error;       // why it could not be explored to its end; "": it could
  std::shared_ptr<const PageTest>
      page;  // what only report.html shows (daemon/page/data.h); null: nothing
};

}  // namespace filibuster
