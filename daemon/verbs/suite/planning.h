// From what the reference executions have shown to the rows that are executed: by a coverage metric, or by a plan from
// a file. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/retries/plan_file.h"
#include "daemon/retries/policies.h"
#include "daemon/retries/suite_results.h"
#include "daemon/verbs/suite/request.h"
#include "daemon/verbs/suite/tester.h"

namespace filibuster {

struct SuitePlanning {
  std::vector<retries::Policy> policies;  // of the rows
  retries::PlanFile file;                 // the same plan, to be written
  std::string error;                      // why there is no plan; "": there is one
};

// Fills `metrics`, `faults`, `untried`, and what belongs to the estimate, from `results->tests`. `known`: call sites of
// which earlier executions have shown something. `elapsed`: silences are over at once where a hook sees the wait.
SuitePlanning plan_suite(const SuiteRequest& options, bool elapsed,
                         const std::map<std::string, SiteKnowledge>& known,
                         retries::SuiteResults* results);

// The rows of a plan in turns: in each, every call site has one of its faults in the cheapest test that reaches it, as long as it has
// further ones. What shows most comes first: a lost answer, then an error that is kept from the server, then those of all attempts.
std::vector<std::vector<size_t>> turns_of_sites(const retries::SuiteResults& results);

// What is known of call sites, kept in a file of ROOT for the next estimate. A text that is none has no sites.
std::string to_json(const std::map<std::string, SiteKnowledge>& sites);
std::map<std::string, SiteKnowledge> parse_sites(const std::string& text);

}  // namespace filibuster
