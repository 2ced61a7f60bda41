// What an execution means: the verdict on one ExecutionResult, and the reasons in words.
#pragma once

#include <string>
#include <vector>

#include "daemon/agents/agent_hub.h"
#include "daemon/report/finding.h"
#include "daemon/session/execution_runner.h"

namespace filibuster {

struct Judgement {
  Verdict verdict = Verdict::kPassed;
  std::string detail;  // "exit status 1"; "users ended by SIGSEGV"; why there is no conclusion
  bool plan_met = true;  // false: the search learns nothing from it
};

// No conclusion comes first: a test that failed while its plan was not met is no finding. But a
// service that ended is one, whichever of the planned faults fired.
Judgement judge(const ExecutionResult& result, const std::vector<PlannedRpcFault>& plan);

// True when nothing may be concluded from the execution (it is repeated once, then abandoned).
bool is_inconclusive(Verdict verdict);

}  // namespace filibuster
