// The exploration of one test: reference execution, search, verdicts, findings with their replay,
// counterexample files, the test's part of the report. Runs on the session's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/explore/dispatcher.h"
#include "daemon/explore/drifts.h"
#include "daemon/explore/evidence.h"
#include "daemon/explore/findings_book.h"
#include "daemon/explore/lane_pool.h"
#include "daemon/explore/nondeterminism.h"
#include "daemon/explore/observation.h"
#include "daemon/explore/profile.h"
#include "daemon/explore/reference_memory.h"
#include "daemon/explore/report_builder.h"
#include "daemon/explore/rpc_matching.h"
#include "daemon/explore/suspects.h"
#include "daemon/explore/test_run.h"
#include "daemon/explore/variability.h"
#include "daemon/model/test_report.h"
#include "daemon/store/store.h"

namespace filibuster {

using search::Saved;

struct Exploration {
  TestReport report;
  std::optional<Error> error;  // environment: nothing further can be concluded
  bool stopped = false;        // the user stopped it; the same command resumes it
  bool resumed = false;        // it went on where an interrupted session stopped
};

class Explorer {
 public:
  // All arguments must outlive the explorer.
  Explorer(SessionContext* session, Lane* lane, const TestConfig& test);

  Exploration explore();
  // One execution with exactly these faults (`filibuster replay`), or with none (`trace`). If the plan
  // is not met because the program was edited, the RPCs are looked for by their stable identities.
  // report.findings has one entry if the test failed; report.reference has the RPCs that were seen.
  Exploration run_once(const std::vector<InjectedFault>& recorded);

 private:
  Result<void> make_run();
  void mask(const MaskTable& masks);  // on every lane
  Result<void> open_store();
  Result<void> load_results();
  // explorer_resume.cc
  Result<std::string> files_changed();  // what differs; "": nothing
  std::map<std::string, std::string> files_by_hand() const;
  Result<void> keep_files();
  Result<void> note_changed_files();
  void tell_why_anew(const std::string& why);
  void tell_if_configured_otherwise(const std::string& folder);
  Result<void> begin_anew(const std::string& why);
  // explorer_reference.cc
  Result<bool> run_reference();  // false: stopped, or nothing to explore
  Result<bool> begin_faults();   // false: stopped
  Result<std::optional<ExecutionResult>> reference_execution(const std::string& which);
  Result<bool> repeat_reference(size_t count, std::vector<ExecutionResult>* runs);
  Result<bool> settle_nondeterminism(std::vector<ExecutionResult>* runs);
  void warn_of_services_without_agent(const ExecutionRecord& record);
  void note_calls_without_end(const ExecutionRecord& record);
  Result<bool> take_reference(const ExecutionResult& result);
  // explorer_learning.cc
  struct Lesson {  // what varied between executions of the same plan
    std::vector<NondeterminismRule> rules;
    UnstableRpcs unstable;
    std::vector<Variation> variations;
  };
  FieldNames field_names() const;
  Result<std::optional<ExecutionResult>> run_to_compare(const std::vector<PlannedRpcFault>& plan);
  std::string merges_in_reference(const NondeterminismRule& rule) const;
  Result<Lesson> compare(const std::vector<PlannedRpcFault>& plan,
                         const std::vector<InjectedFault>& faults, const InjectedFault& planned,
                         bool* comes_again);
  // The plan of `attempt` was not met. True: that taught something, and the search began anew.
  Result<bool> learn(const Dispatcher::Job& job, Attempt* attempt);
  Result<void> begin_anew_with(const Lesson& lesson);
  // True: this execution was run before the search began anew, and that result counts. False: it must run.
  Result<bool> take_over(const search::AbstractExecution& next);
  Result<bool> run_search();  // false: stopped
  // explorer_sometimes.cc
  Result<bool> tell_apart(const Nondeterminism& found, std::vector<ExecutionResult>* runs);
  void note_appearances(const ExecutionRecord& record);
  Result<void> wait_for_what_comes(const Dispatcher::Job& job, Attempt* attempt);
  Result<void> leave_out(const Dispatcher::Job& job, const InjectedFault& missing);
  void tell_appearances();
  // explorer_mutations.cc
  Result<void> allow_mutation(const std::string& index);
  Result<void> note_sent_again(const ExecutionRecord& record);
  Result<void> allow_mutations();
  Result<void> load_sent_again();
  // explorer_again.cc; false: stopped
  bool compares_references() const;
  Result<bool> look_again_in_between();
  Result<bool> look_again_at_the_end();
  Result<bool> look_again(TestStarter::Start start);
  Result<bool> look_at(uint32_t lane, const std::function<Result<Attempt>()>& run);
  uint32_t last_seen_as_before(const Differences& differences);
  // As TestRun::attempt, with notes of what the executions showed.
  Result<Attempt> attempt(const std::vector<PlannedRpcFault>& plan,
                          TestStarter::Start start = TestStarter::Start::kPlain,
                          std::optional<Attempt> first = std::nullopt);
  // explorer_lanes.cc
  void begin_lanes();
  void end_lanes();
  bool read_as_of_lane_0(const Attempt& attempt, ExecutionRecord* record) const;
  Result<std::optional<Attempt>> run_on_lanes(const Dispatcher::Job& job);
  // explorer_snapshots.cc
  Result<bool> begin_snapshots();  // false: stopped
  // Decides again where few executions were to be run, since each may bring further ones.
  Result<bool> reconsider_snapshots();  // false: stopped
  // And what kind of reason it is.
  std::string why_no_snapshots(NotForked* kind) const;
  Result<std::string> why_forked_differs();
  Result<std::string> attempts_differ(const Attempt& one, const Attempt& other);
  // One job of the search, in the way that was found. What is doubtful is run again as a plain start;
  // `*seen_twice`: a failure was.
  Result<Attempt> attempt_job(const Dispatcher::Job& job, bool* seen_twice);
  Result<void> conclude(const Dispatcher::Job& job, const Attempt& attempt);
  // Reports a failure. `seen_twice`: the failure was reproduced already, so it is not replayed.
  Result<void> found(const Execution& execution, const std::vector<PlannedRpcFault>& plan,
                     bool seen_twice = false);
  // explorer_replay.cc
  Result<std::optional<std::vector<InjectedFault>>> find_again(
      const std::vector<InjectedFault>& faults);
  void tell_where(const std::vector<InjectedFault>& then, const std::vector<InjectedFault>& now);
  Result<std::vector<PlannedRpcFault>> plan_for(const std::vector<InjectedFault>& faults) const;
  // explorer_page.cc
  Result<void> keep_tree(const Execution& execution, const ExecutionRecord& record);
  Result<void> offer_page();
  // Of the reference execution, and of executions whose plan was met.
  Result<void> note_met(const Observation& seen, const ExecutionRecord& record);
  void tell_execution(const Execution& execution);
  void note_repetition(const Attempt& one);
  ReportBuilder builder();
  void finish_report();
  RpcLedger::Rest rest_of_search() const;
  void warn(const std::string& text);

  SessionContext& session_;
  Lane& lane_;
  const TestConfig& test_;
  const Config& config_;
  bool restart_;  // forget an interrupted search
  Exploration exploration_;
  std::unique_ptr<search::SearchStore> store_;
  std::unique_ptr<Dispatcher> dispatcher_;  // null: nothing is explored, or not yet
  std::unique_ptr<TestRun> run_;
  struct Started {  // the last reference execution
    pid_t pid = 0;
    ExecutionRecord record;
  };
  Started plain_;
  std::unordered_set<Hash128, Hash128Hasher> known_answers_;  // as lane 0 gives them
  std::unique_ptr<LanePool> pool_;                            // null: there is one lane
  std::chrono::milliseconds hang_limit_{0};
  Profile profile_;
  int ways_compared_ = 0;  // executions that were run both ways

  Evidence evidence_;
  Variability varies_;
  ReferenceMemory memory_{&varies_};
  FindingsBook findings_;
  Drifts drifts_;
  EndedExecutions results_;
  std::set<uint32_t> trees_;  // numbers of the executions whose trees are in the store
  std::chrono::steady_clock::time_point next_offer_;  // of the live page
  Suspects suspects_;
  struct Comparison {  // of RPCs of one kind that did not come when a fault was planned for them
    uint32_t times = 0;
    bool comes_again = false;  // they came when the same plan ran without that fault
  };
  std::map<std::string, Comparison> compared_;
  size_t lessons_ = 0;
  struct Kept {  // an execution whose result stands although the search began anew
    search::ResultRow row;
    std::vector<search::ObservedRpc> rpcs;
  };
  std::map<std::vector<std::pair<Hash128, search::OutcomeId>>, Kept> kept_;
  std::set<std::string> sent_again_;  // indexes of mutations, in hexadecimal
  uint64_t since_look_ = 0;           // executions since the reference was last looked at
  double look_seconds_ = 0;
  std::chrono::steady_clock::time_point search_began_;
  std::map<std::string, std::string> files_;  // files of the programs -> their digests
  bool resumed_ = false;
  bool calls_without_end_noted_ = false;
  std::string
      ended_by_hand_;  // a service that ended, and that only the user can start again; "": none
  std::vector<float> seconds_;  // what each execution took, for the median
};

// What the test wrote, and the last lines of the services that ended.
std::string with_service_logs(std::string output, const ExecutionResult& result);

// Name of the folder that keeps a test's search: 16 hexadecimal digits of a hash of the test's name,
// its configuration and the options that decide what is explored.
std::string session_digest(const Config& config, const std::string& config_text,
                           const std::string& test);

}  // namespace filibuster
