// The verdict on one ExecutionResult, and the reasons in words.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/agents/agent_hub.h"
#include "daemon/config/config.h"
#include "daemon/lane/execution_runner.h"
#include "daemon/model/execution_record.h"
#include "daemon/model/verdict.h"
#include "daemon/retries/oracles.h"

namespace filibuster {

struct Judgement {
  Verdict verdict = Verdict::kPassed;
  std::string detail;  // "exit status 1"; "users ended by SIGSEGV"; why there is no conclusion
  NoConclusion cause = NoConclusion::kOther;  // of an inconclusive verdict
  bool plan_met = true;                       // false: the search learns nothing from it
  bool not_issued = false;                    // the RPC of a planned fault was not issued
};

// Inconclusive verdicts come first: a test that failed while its plan was not met is no finding. But a
// service that ended is a finding, whichever of the planned faults fired. `mutations`: which calls a server must not do
// twice (retries.mutations); what it did is known of sequences of attempts. `usual`: how often servers act without faults.
Judgement judge(const ExecutionResult& result, const std::vector<PlannedRpcFault>& plan,
                const std::vector<MutationRule>& mutations = {},
                const retries::ActCounts& usual = {});

// False: the execution must be repeated because of what was under way when the session began. The
// service table changed, events were lost, or connections from before the session were in use.
bool is_settled(const ExecutionRecord& record);
// True: requests went over connections that were open before an attached service was attached. An execution that is
// repeated has fewer of them.
bool uses_old_connections(const ExecutionRecord& record);

// Connections that were open before the session and that their clients do not give up.
class KeptConnections {
 public:
  // Called when the execution was repeated often enough. Moves the connections of `unseen` to
  // `not_interposed`, and makes the record settled but for lost events.
  void settle_as_it_is(ExecutionRecord* record);
  // Removes from `unseen` the connections that were moved before: they are no reason to repeat this one.
  void leave_out(ExecutionRecord* record) const;

 private:
  std::set<std::pair<std::string, std::string>> kept_;  // service, peer
};

// True of a failure that is judged by time: on a busy machine it may have been a slow success.
bool is_by_time(Verdict verdict);

// True when nothing may be concluded from the execution (it is repeated, then abandoned).
bool is_inconclusive(Verdict verdict);

// "service 'front' seems to call itself without end: front -> front GET / is 312 levels deep, at
// front.py:9 (get)"; "": none does. Calls by way of a few other services are found, too.
std::string calls_without_end(const ExecutionRecord& record);

}  // namespace filibuster
