// The exploration of one test: reference execution, search, verdicts, findings with their replay,
// counterexample files, the test's part of the report. Runs on the session's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/report/finding.h"
#include "daemon/search/search.h"
#include "daemon/session/execution_runner.h"
#include "daemon/session/judgement.h"
#include "daemon/session/observation.h"
#include "daemon/session/rule_use.h"
#include "daemon/session/service_descriptors.h"
#include "daemon/store/store.h"

namespace filibuster {

// Numbers that all tests of a session share.
struct SessionCounters {
  uint32_t next_execution = 1;
};

struct ExplorerContext {
  const Config& config;
  const std::string& config_text;
  const TestConfig& test;
  const SessionLane& lane;
  AgentHub* hub;
  Services* services;
  OwnedProcesses* owned;
  EventSink sink;
  SessionCounters* counters;
  // For GET /v1/trace; reads the arguments of gRPC calls.
  std::function<void(ExecutionRecord*)> on_record;
  const ServiceDescriptors* descriptors;
  std::vector<std::string> preflight;                     // what cannot be interposed
  bool restart = false;                                   // forget an interrupted session
};

struct Exploration {
  TestReport report;
  std::optional<Error> error;  // environment: nothing further can be concluded
  bool stopped = false;        // asked to; resumable
  bool resumed = false;        // went on where an interrupted session stopped
};

class Explorer {
 public:
  explicit Explorer(ExplorerContext context)
      : context_(std::move(context)), rule_use_(context_.config) {}

  Exploration explore();
  // One execution with exactly these faults (`filibuster replay`), or with none (`trace`).
  // report.findings has one entry if it failed; report.reference is what was seen.
  Exploration run_once(const std::vector<InjectedFault>& faults);

 private:
  struct Attempt {
    ExecutionResult result;
    Judgement judgement;
  };

  Result<void> open_store();
  Result<void> load_results();
  // explorer_reference.cc
  Result<bool> run_reference();  // false: stopped
  Result<bool> begin_faults();   // false: stopped
  Result<std::optional<ExecutionResult>> reference_execution(const std::string& which);
  Result<bool> repeat_reference(size_t count, std::vector<ExecutionResult>* runs);
  Result<bool> settle_nondeterminism(std::vector<ExecutionResult>* runs);
  void warn_of_services_without_agent(const ExecutionRecord& record);
  void note_calls_without_end(const ExecutionRecord& record);
  Result<bool> take_reference(const ExecutionResult& result);
  Result<void> mask(const std::vector<NondeterminismRule>& rules);
  Result<void> load_masks();
  Result<bool> run_search();     // false: stopped
  // Repeats an inconclusive execution once.
  Result<Attempt> attempt(const std::vector<PlannedRpcFault>& plan);
  Result<void> conclude(const search::AbstractExecution& next,
                        const std::vector<InjectedFault>& faults, const Attempt& attempt);
  Result<void> found(const Execution& execution, const std::vector<PlannedRpcFault>& plan);
  Result<bool> replays(const std::vector<PlannedRpcFault>& plan);
  Result<std::vector<InjectedFault>> describe(const std::vector<search::PlannedFault>& faults);
  Result<std::vector<PlannedRpcFault>> plan_for(const std::vector<InjectedFault>& faults) const;
  // By number: the key of the faults, "" where it is another test's.
  std::map<uint32_t, std::string> counterexamples() const;
  void note_earlier_counterexamples();
  std::string write_counterexample(const Execution& execution, uint32_t* number);
  void note_left_out(const Observation& seen);
  Result<void> note_answers(const ExecutionRecord& record);
  void tell_execution(const Execution& execution);
  void add_notes(const ExecutionResult& result);
  void finish_report();
  std::chrono::milliseconds test_limit() const;
  std::string no_rpc_hint() const;
  void warn(const std::string& text);

  ExplorerContext context_;
  RuleUse rule_use_;
  Exploration exploration_;
  std::unique_ptr<search::SearchStore> store_;
  std::optional<search::Search> search_;
  std::optional<OutcomeTable> outcomes_;
  std::optional<KnownRpcs> known_;
  std::optional<ExecutionRunner> runner_;

  std::map<search::AbstractId, Execution> failures_;
  struct Known {
    uint32_t number = 0;
    std::optional<bool> reproduced;  // nullopt: could not be replayed
    std::string counterexample;
  };
  std::map<std::string, Known> findings_;  // by key of the failing fault set
  std::vector<std::set<std::string>> failing_sets_;
  std::map<std::string, std::string> left_out_, not_applicable_;
  std::set<std::string> late_calls_;  // as in ExecutionRecord
  std::set<std::string> notes_;
  ObservedAnswers observed_;
  std::vector<NondeterminismRule> masks_;  // those that the agents use now
  UnstableRpcs unstable_;
  std::map<std::string, NotInterposedRecord> dependencies_;
  KeptConnections kept_connections_;
  bool resumed_ = false;
  bool calls_without_end_noted_ = false;
  std::string ended_by_hand_;  // a service that nobody but the user can start again
  std::vector<float> seconds_;  // of each execution, for the median
  std::chrono::steady_clock::time_point began_;
  uint64_t run_now_ = 0;  // executions since began_
  uint64_t scheduled_at_start_ = 0, decided_at_start_ = 0;
};

// The last lines of a test, for the end of an error.
std::string quoted_output(const std::string& output);

// Where the search of a test is kept: 16 hexadecimal digits of its name, configuration and what
// decides its indexes.
std::string session_digest(const Config& config, const std::string& config_text,
                           const std::string& test);

}  // namespace filibuster
