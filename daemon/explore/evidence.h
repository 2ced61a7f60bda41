// What the executions of an exploration have shown beside its findings: which RPCs were tested and which were not, how
// silences and refusals reached their callers, what could not be followed, and notes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/explore/test_run.h"
#include "daemon/model/test_report.h"
#include "daemon/observe/observation.h"
#include "daemon/observe/rule_use.h"
#include "daemon/report/given_up.h"
#include "daemon/report/observed.h"
#include "daemon/report/refusals.h"
#include "daemon/report/tested.h"
#include "daemon/report/timeouts.h"
#include "daemon/store/store.h"

namespace filibuster {

class Evidence {
 public:
  // All arguments outlive it.
  Evidence(const SessionContext* session, const Lane* lane);
  void keep_in(search::SearchStore* store) { store_ = store; }
  // What earlier sessions of the same search have seen.
  Result<void> load();
  // The search begins anew. Notes stay.
  void clear();

  // Programs that cannot be interposed, a line each.
  void add_obstacles(const std::vector<std::string>& lines);
  // True: it was not noted before.
  bool note(std::string text) { return notes_.insert(std::move(text)).second; }
  void warn_and_note(const std::string& text);

  // Of every execution.
  void see(const ExecutionResult& result);
  // Of executions without faults: calls that lead to calls without an end, and services that carry no agent.
  void see_calls_without_end(const ExecutionRecord& record);
  void see_services_without_agent(const ExecutionRecord& record);
  // Of the reference execution, and of executions whose plan was met.
  Result<void> see_met(const Observation& seen, const ExecutionRecord& record,
                       const std::vector<NondeterminismRule>& masks,
                       const std::vector<RpcRecord>& reference);
  void see_refusals(const ExecutionRecord& record) { refusals_.see(record); }
  // RPCs as describe_rpc() names them.
  void had_no_conclusion(const std::string& rpc) { ledger_.unconcluded(rpc); }
  void did_not_come(const std::string& rpc) { ledger_.did_not_come(rpc); }
  void comes_again(const std::string& rpc);
  // An execution without faults has made `rpc`, and the one by which all others are planned has not.
  Result<void> came_once(const std::string& rpc, const std::string& reason);
  bool is_known(const std::string& rpc) const { return ledger_.knows(rpc); }
  bool gets_faults(const std::string& rpc) const { return ledger_.gets_faults(rpc); }

  const std::map<std::string, std::string>& left_out() const { return left_out_; }
  void leave_out(const std::string& rpc, const std::string& reason) { left_out_[rpc] = reason; }
  const std::set<std::string>& late_calls() const { return late_calls_; }
  std::vector<std::string> unknown_services(const ExecutionRecord& reference) const {
    return rule_use_.unknown_services(reference);
  }
  // Where a test shows no RPC: what may hide them.
  std::string no_rpc_hint() const;

  TestedRpcs tested(RpcLedger::Rest rest);
  // A rule that matched nothing is a note. To be called only where all of the exploration was seen.
  void note_unmatched_rules();
  // Fills what the report says of all this, but for its notes.
  void tell(TestReport* report);
  // Obstacles, ports, notes.
  std::vector<std::string> notes() const;

 private:
  bool names_obstacle(std::string_view text) const;
  bool has_note_beginning(const std::string& text) const;

  const SessionContext& session_;
  const Lane& lane_;
  search::SearchStore* store_ = nullptr;
  std::vector<std::string> obstacles_;
  std::set<std::string> notes_;
  bool calls_without_end_ =
      false;  // they were noted; the text has the depth, so it differs each time
  std::map<std::string, std::string> left_out_, not_applicable_;
  std::set<std::string> late_calls_;  // as in ExecutionRecord, of all executions
  std::map<std::string, NotInterposedRecord> dependencies_;
  uint64_t damaged_fields_ = 0;
  RuleUse rule_use_;
  ObservedAnswers observed_;
  RpcLedger ledger_;
  TimeoutCounts timeouts_;
  RefusalCounts refusals_;
  GivenUpCounts given_up_;
};

}  // namespace filibuster
