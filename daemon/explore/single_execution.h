// One execution with given faults (a replay) or with none (a trace), outside of any search.
#pragma once

#include <vector>

#include "daemon/explore/exploration.h"

namespace filibuster {

// `recorded`: the faults, of a counterexample. If their plan is not met because the program was edited, the RPCs are looked
// for by their stable identities. report.findings has one entry if the test failed; report.reference has the RPCs that were
// seen.
Exploration run_single_execution(SessionContext* session, Lane* lane, const TestConfig& test,
                                 const std::vector<InjectedFault>& recorded);

}  // namespace filibuster
