// Findings of one cause: the same failure at the same call sites, under other sets of faults. This is a view: a finding keeps its id,
// its number and its place in the baseline.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/model/finding.h"
#include "daemon/model/mending.h"
#include "daemon/model/test_report.h"

namespace filibuster {

// Equal for executions that failed in the same way at the same call sites: the verdict, what the failed tests say, and the call sites of the faults.
std::string cause_key(const Execution& failure);

struct FailureCause {
  std::vector<size_t>
      findings;  // positions, at least one: fewer faults first, and of equally many the one that was found first
};
// In the order of their first findings.
std::vector<FailureCause> causes_of(const std::vector<Finding>& findings);

// What would mend some of the findings of a cause.
struct CauseMending {
  Mending mending;
  std::vector<size_t> findings;  // positions, at least one
};
// What would mend the findings of a cause: what says the same once, that of the smallest set of faults first. Findings of which
// nothing is said are in none of them.
std::vector<CauseMending> mendings_of(const std::vector<Finding>& findings,
                                      const FailureCause& cause);

// The faults that passed at the call site of the cause wherever they were injected: "timeout". Empty where it has several sites.
std::vector<std::string> passed_there(const TestReport& test, const FailureCause& cause);

// "5 findings", "5 findings (18 sets of faults)".
std::string counted_findings(const std::vector<Finding>& findings);

}  // namespace filibuster
