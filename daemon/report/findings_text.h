// The findings of a test for the terminal: one screen for each set of RPCs that fails.
#pragma once

#include <string>

#include "daemon/report/finding.h"

namespace filibuster {

// Findings at the same RPCs stand together: the first is told whole, the others with their faults and
// their replay. A call site is the first frame that tells it from the other call sites of the test,
// then the helper that makes the call.
std::string findings_text(const TestReport& test);

}  // namespace filibuster
