// The data of report.html: what the page shows beyond report.json (docs/page.md). The trees of the
// reference execution and of the findings are whole; of every other execution there is one outcome
// for each RPC.
//
// The document has two parts, since the page shows findings before it reads the executions:
//   summary      findings, trees, the matrix of RPCs and faults, everything else
//   executions   columns of numbers (PageExecution), one entry for each execution
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/coverage/report.h"
#include "daemon/model/session_report.h"

namespace filibuster {

// More trees are not kept: the findings beyond show their faults without the executions.
inline constexpr size_t kMaxPageTrees = 1000;
// More executions are not in the page; the matrix counts them nevertheless.
inline constexpr size_t kMaxPageExecutions = 50'000;

// A call and an outcome (of an execution), or a call and a fault: places in PageTest::calls and
// PageTest::outcomes.
using PagePair = std::pair<uint32_t, uint32_t>;

struct PageExecution {
  uint32_t number = 0;  // execution number in the session
  Verdict verdict = Verdict::kPassed;
  float seconds = 0;
  std::vector<PagePair> faults;
  std::vector<PagePair> rpcs;  // in the order in which they were compared; empty: inconclusive
};

// An outcome of the search (observation.h outcome_text), for a person.
struct ShownOutcome {
  std::string text;   // "ok:200:DIGEST", "status:503"
  std::string words;  // "200", "503", "timeout", "open"
  bool failed = false;
};

// What became of the fault sets whose newest fault is this one.
struct PageCell {
  PagePair fault;
  uint64_t passed = 0, failed = 0, redundant = 0, inconclusive = 0, open = 0;
  uint64_t anyway = 0;  // failed, as they do without this fault, too; `failed` does not count them
  size_t least_faults = 0;             // of the executed fault sets: the size of the smallest one
  uint32_t example = 0;                // number of its execution; 0: none was executed
  Verdict verdict = Verdict::kPassed;  // of that execution
  std::vector<uint32_t> like;      // numbers of the executions that make the first redundant one so
  std::vector<uint32_t> findings;  // places of the findings whose minimal set has this fault
};

// What the explorer adds to the report of one test.
struct PageTest {
  std::vector<InjectedFault> calls;  // every RPC that was seen; those of the reference come first
  std::vector<ShownOutcome> outcomes;
  std::vector<PageCell> cells;
  std::vector<PageExecution> executions;
  uint64_t executions_left_out = 0;       // beyond kMaxPageExecutions
  std::map<uint32_t, std::string> trees;  // execution number -> page_tree()
};

// The tree of one execution as JSON text, without secrets: an array with one object for each RPC, in
// order of issue.
std::string page_tree(const std::vector<RpcRecord>& rpcs);

struct PageExtras {
  const coverage::Report* coverage = nullptr;  // null: it was not measured
  bool running = false;                        // the exploration goes on
  // Folders against which the relative file names of call sites are resolved.
  std::vector<std::string> source_folders;
};
struct PageData {
  std::string summary, executions;  // JSON texts
};
PageData page_data(const SessionReport& report, const PageExtras& extras);

}  // namespace filibuster
