// Lists the tests of suites that exist already, and puts them in place of the suites.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/config/config.h"
#include "daemon/process/session_lane.h"

namespace filibuster {

// `tests`, with each suite replaced by its tests. `only`: the names of the tests to return; empty: all.
// Error: a suite cannot be listed or has no test, two tests have the same name, or there is no test of a
// name in `only`.
Result<std::vector<TestConfig>> list_suites(const Config& config, const SessionLane& lane,
                                            const std::vector<TestConfig>& tests,
                                            const std::vector<std::string>& only);

}  // namespace filibuster
