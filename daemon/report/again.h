// The reference execution, run again during an exploration and at its end: an application in which a state has built up
// meanwhile (a breaker that is open) does not show what stands behind it any more.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/test_report.h"

namespace filibuster {

// The rows of an interrupted exploration, as JSON; and those that can be read of such a text.
std::string to_json(const std::vector<Drift>& drifts);
std::vector<Drift> drifts_from(const std::string& text);

// A few lines about each, for a person; "": the application was the same.
std::string drift_text(const TestReport& test);

}  // namespace filibuster
