// The tests of suites that exist already, in place of the suites.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/config/config.h"
#include "daemon/session/session_lane.h"

namespace filibuster {

// `tests`, with the tests of a suite where the suite stands. `only`: of all these, the ones of these names;
// empty: all. Error: a suite cannot be listed, or has none; two tests have one name; there is no test of a
// name in `only`.
Result<std::vector<TestConfig>> list_suites(const Config& config, const SessionLane& lane,
                                            const std::vector<TestConfig>& tests,
                                            const std::vector<std::string>& only);

}  // namespace filibuster
