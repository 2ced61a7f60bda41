// Lints: what the executions of a session say about how an application makes its calls. The
// functions of this folder are pure: they read records, and the session (daemon/verbs/lint/linter.h)
// runs the executions.
//
//   passive   lint_reference(record): from one execution without faults
//   probed    probes.h: from executions in which one call site got a silence or a failure
//
// A lint is a row of `lints()`. docs/lint.md has the names of the lints and what their findings mean.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/execution_record.h"
#include "daemon/report/source_place.h"

namespace filibuster::lint {

enum class Severity : uint8_t { kNote, kWarning, kError };
std::string_view severity_name(Severity severity);  // as SARIF calls its levels
std::optional<Severity> parse_severity(std::string_view name);

enum class Lint : uint8_t {
  kNoTimeout,
  kRetryWithoutBackoff,
  kNPlusOne,
  kRedundantRpc,
  kRedundantAcrossServices,
  kCallChain,
  kUnknownCause,
  kForwardedResponse,
};

struct LintRow {
  Lint lint;
  std::string_view name;  // "no-timeout"; users write it in commands, so it never changes
  Severity severity;      // of most findings; a finding may have a lower one
  std::string_view summary;
  std::string_view help;  // what to do about it
};
std::span<const LintRow> lints();
const LintRow& row_of(Lint lint);
const LintRow* find_lint(std::string_view name);

// One request as a finding or a list of call sites names it.
struct Call {
  std::string caller, service, method, target;
  std::vector<std::string> stack;  // frames, innermost first; empty if not known
  Hash128 index;
  // kGrpc: `target` is the path of a method; kRedis: the pattern of a key.
  Protocol protocol = Protocol::kHttp;
  std::string place() const { return stack.empty() ? std::string() : stack.front(); }
};

struct Finding {
  Lint lint = Lint::kNoTimeout;
  Severity severity = Severity::kNote;
  std::string text;         // a sentence or two with the evidence
  std::vector<Call> calls;  // the calls that it is about; the first one is the finding's place
  std::string replay;       // a file for `filibuster replay`; "" if `filibuster trace` shows it
};

// All requests from one call stack of one service to one method of another.
struct CallSite {
  Call first;
  uint64_t rpcs = 0;                // in the reference execution; 0: called only under faults
  std::string timeout;              // what the probe showed: "fires", "none", "" (not probed)
  std::optional<uint32_t> retries;  // number of retries after failures; nullopt: not probed
};

struct NotProbed {
  Call call;
  std::string what;  // "timeout"; "retries"
  std::string reason;
};

struct TestLint {
  std::string test;
  bool finished = false;
  uint64_t rpcs = 0;        // in the reference execution
  uint64_t executions = 0;  // number of probes
  double reference_seconds = 0, seconds = 0, silence_seconds = 0;
  std::vector<CallSite> sites;
  std::vector<Finding> findings;
  std::vector<NotProbed> not_probed;
  std::vector<std::string> notes;
};

struct Report {
  std::string session, config_path, directory;
  std::vector<TestLint> tests;
  int exit_code = 0;
};

struct Options {
  bool probe = true;
  std::chrono::milliseconds silence{0};  // 0: the session's hang limit
  uint64_t max_probes = 0;               // executions of each test; 0: no bound
  Severity least = Severity::kNote;
  std::set<Lint> without;
};

// Every call site in order of first use, with the call sites of the test itself.
std::vector<CallSite> call_sites(const ExecutionRecord& record);
// All passive lints of an execution without faults.
std::vector<Finding> lint_reference(const ExecutionRecord& record);
// Removes the findings that the options leave out, and sorts the others: the worst first, then in the
// order of `lints()`.
void choose(const Options& options, std::vector<Finding>* findings);

// lint.json, version 1 (docs/lint.md).
std::string to_json(const Report& report);
// SARIF 2.1.0.
std::string to_sarif(const Report& report);
// The text for the terminal.
std::string to_text(const Report& report);

}  // namespace filibuster::lint
