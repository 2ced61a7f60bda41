// What the parts of one exploration share: where it runs, and what is known so far. The explorer owns it. Each part
// (executor.h, search_reference.h, relearning.h, ...) has a pointer to it, and a state of its own beside it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/explore/dispatcher.h"
#include "daemon/explore/drifts.h"
#include "daemon/explore/ended_executions.h"
#include "daemon/explore/evidence.h"
#include "daemon/explore/findings_book.h"
#include "daemon/explore/reference_memory.h"
#include "daemon/explore/test_run.h"
#include "daemon/explore/variability.h"
#include "daemon/model/test_report.h"
#include "daemon/observe/nondeterminism.h"
#include "daemon/store/store.h"

namespace filibuster {

// How an exploration ended.
struct Exploration {
  TestReport report;
  std::optional<Error> error;  // environment: nothing further can be concluded
  bool stopped = false;        // the user stopped it; the same command resumes it
  bool resumed = false;        // it went on where an interrupted session stopped
};

struct ExplorationState {
  // All arguments outlive the state. `apply` gives masks to the agents of every lane.
  ExplorationState(SessionContext* in, Lane* on, const TestConfig& of, Variability::Apply apply);

  // Parts have pointers to it.
  ExplorationState(const ExplorationState&) = delete;
  ExplorationState& operator=(const ExplorationState&) = delete;

  // Counts what comes in some executions only; of each execution that was seen whole.
  void note_appearances(const ExecutionRecord& record);
  // The names of fields of gRPC messages, as far as they are known when a name is asked for.
  FieldNames field_names() const;
  // What is kept of an execution with these faults. What only a failure has (output, what was seen), the caller adds.
  Execution describe(const std::vector<InjectedFault>& faults, const Attempt& attempt) const;

  SessionContext& session;
  Lane& lane;  // lane 0
  const TestConfig& test;
  const Config& config;

  // The search and the file that keeps it. Null before they are opened, and always where nothing is searched (a replay).
  std::unique_ptr<search::SearchStore> store;
  std::unique_ptr<Dispatcher> dispatcher;
  bool resumed = false;

  Evidence evidence;
  Variability varies;
  ReferenceMemory memory;
  FindingsBook findings;
  Drifts drifts;
  EndedExecutions ended;
  // A service that ended, and that only the user can start again; "": none.
  std::string ended_by_hand;
  // What is known of the exploration so far. finish_report() adds what follows from the rest.
  TestReport report;
};

}  // namespace filibuster
