// From the faults of a counterexample to a plan for the agents.
#pragma once

#include <vector>

#include "core/result.h"
#include "daemon/config/config.h"
#include "daemon/observe/observation.h"

namespace filibuster {

// Error: the configuration has no longer what a fault answered (its body, headers, message), or its text is no fault.
Result<std::vector<PlannedRpcFault>> plan_faults(const Config& config,
                                                 const std::vector<InjectedFault>& faults);

}  // namespace filibuster
