// What an execution means: the verdict on one ExecutionResult, and the reasons in words.
#pragma once

#include <set>
#include <string>
#include <utility>
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

// Nothing of it is to be repeated because of what was under way when the session began: the service
// table, connections that were open before.
bool is_settled(const ExecutionRecord& record);

// Connections that were open before the session and that their clients keep.
class KeptConnections {
 public:
  // It has been repeated often enough: what is not settled is listed, and no reason any more.
  void settle_as_it_is(ExecutionRecord* record);
  // What was listed before is no reason to repeat this one.
  void leave_out(ExecutionRecord* record) const;

 private:
  std::set<std::pair<std::string, std::string>> kept_;  // service, peer
};

// True of a failure that is one by its time: on a busy machine it may have been a slow success.
bool is_by_time(Verdict verdict);

// True when nothing may be concluded from the execution (it is repeated once, then abandoned).
bool is_inconclusive(Verdict verdict);

// "service 'front' seems to call itself without end: front -> front GET / is 312 levels deep, at
// front.py:9 (get)"; "": none does. By way of a few other services, too.
std::string calls_without_end(const ExecutionRecord& record);

}  // namespace filibuster
