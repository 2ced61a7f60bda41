// Findings: failing executions grouped by minimal failing fault set, counterexamples, report.json.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/index/execution_index.h"
#include "core/result.h"
#include "daemon/agents/execution_record.h"
#include "daemon/base/phases.h"
#include "daemon/report/again.h"
#include "daemon/report/baseline.h"
#include "daemon/report/fault_case.h"
#include "daemon/report/observed.h"
#include "daemon/report/refusals.h"
#include "daemon/report/tested.h"
#include "daemon/report/timeouts.h"
#include "daemon/report/unexplained.h"
#include "daemon/report/variation.h"
#include "daemon/search/search.h"

namespace filibuster {

enum class Verdict : uint8_t {
  kPassed,
  kFailed,        // the test failed under the faults
  kCrashed,       // a service ended by a signal or exited under the faults
  kTestTimeout,   // the test did not end within its limit
  kPlanNotMet,    // a planned fault did not fire, so the execution allows no conclusion
  kIncomplete,    // events were lost
  kNotQuiescent,  // passed, but RPCs stayed open beyond quiesce_timeout
  kNoTimeout,     // passed, but a caller waited for an answer until hang_limit
  kDoneTwice,     // passed, although the server did twice what it must do once
};
inline constexpr Verdict kLastVerdict = Verdict::kDoneTwice;
std::string_view verdict_name(Verdict verdict);
// True for the verdicts that are findings for the user (kFailed, kCrashed, kTestTimeout,
// kNoTimeout, kDoneTwice).
bool is_failure(Verdict verdict);

// Identifies an RPC even after an edit of the program (core/index/stable_identity.h).
struct StableIdentity {
  Hash128 identity;  // zero: not known, since the file is older than this field
  // How many RPCs of the execution, this one included, differ only in their order.
  uint32_t alike = 0;
};

// One attempt of a call for which a sequence was planned (core/fault/attempts.h).
struct AttemptSeen {
  uint32_t number = 0;  // from 1
  std::string
      outcome;  // "timeout:after", "pass"; "pass (503 already)" where the server's own error passed
  std::string grouped_by;  // grouped_by_name: how it was told to be an attempt of this call
};

struct InjectedFault {  // one fault of one execution, for a person and for replay
  Hash128 index;
  std::string fault;    // to_text(FaultSpec)
  std::string key;      // fault_key(FaultSpec); empty if it is the same as `fault`
  std::string message;  // of a gRPC status, or of an error of Redis
  // As which service an injected error answers (daemon/retries/answer_templates.h); empty: as the fault says.
  std::string answer;
  std::string caller, service, method, path;
  std::string query =
      {};  // "?kind=book" where only that tells the call from another one of its execution
  // KGrpc: `path` names a method; kRedis: the pattern of a key.
  Protocol protocol = Protocol::kHttp;
  std::string arguments;  // of the gRPC method, a JSON object; empty if not known
  std::string call_site;  // innermost kept frame: "users.py:31 (get_bookings)"
  std::vector<std::string> stack;
  std::vector<std::string> service_path;  // ["test", "users", "bookings"]
  uint32_t count = 0;
  bool as_reset = false;  // RpcRecord::refused_as_reset in the execution of this fault
  // A replay needs these to inject the fault at connect (PlannedRpcFault).
  Hash128 connect_key, signature, parent, stack_hash;
  uint32_t number = 0, service_number = 0;
  StableIdentity stable;
  std::vector<AttemptSeen>
      attempts;  // of a sequence: those that came in the execution, in their order

  void set_fault(const FaultSpec& spec);
  // Equal for equal faults at one RPC.
  const std::string& identity() const { return key.empty() ? fault : key; }
};
// "users -> movies  GET /movies/1", "gateway -> cart  shop.CartService/GetCart"; credentials
// redacted. `between` stands between the services and the name of the call.
std::string call_text(const InjectedFault& fault, std::string_view between = "  ");
// `grpc:UNAVAILABLE "no stock"`, "refused (as a reset)"
std::string fault_text(const InjectedFault& fault);
// "connection refused", "answer 503", "no answer (timeout)"; `text` itself if it is no fault specification.
std::string fault_in_words(const std::string& text);

struct Execution {  // one executed abstract execution with its result
  std::string test;
  search::AbstractId id = 0;
  uint32_t number = 0;  // execution number in the session
  std::vector<InjectedFault> faults;
  Verdict verdict = Verdict::kPassed;
  std::string detail;  // "exit status 1", "users ended by SIGSEGV"
  std::string output;  // last lines of the test's own output
  // What the callers above the faults saw, a line each (seen.h); of failures only.
  std::vector<std::string> seen;
  double seconds = 0;
};

// Whether a finding makes a run fail: an accepted one does not (baseline.h).
enum class Standing : uint8_t { kNew, kAccepted, kExpired };
std::string_view standing_name(Standing standing);  // as in report.json

struct Finding {
  Execution minimal_execution;         // the execution whose faults are exactly the minimal set
  std::vector<InjectedFault> minimal;  // the minimal failing fault set
  uint64_t executions = 1;             // failing executions whose faults contain the minimal set
  std::optional<bool> reproduced;      // by the replay; nullopt: not replayed
  // 16 hexadecimal digits, made from the test, the faults and the stable identities of their RPCs. They
  // stay the same when lines of the program move.
  std::string id;
  std::string counterexample;  // path of the file
  uint32_t number = 0;         // of the counterexample; 0: there is none
  Standing standing = Standing::kNew;
  std::string because, until;  // of the baseline; empty for kNew
  bool fails() const { return standing != Standing::kAccepted; }
};
// "accepted until 2026-12-31: waits for the new client", "accepted until 2026-01-31, which is over: ...";
// "" for a new finding.
std::string standing_text(const Finding& finding);

inline constexpr size_t kFindingIdSize = 16;
// Finding::id; the order of the faults does not matter.
std::string finding_id(const std::string& test, const std::vector<InjectedFault>& faults);

// Groups failures by minimal failing fault set: a failing set that contains another failing set belongs
// to the smaller one. Two faults are the same if their RPCs have the same index and their identity() is
// equal. The findings are in the order of the first failure of each group.
std::vector<Finding> group_failures(const std::vector<Execution>& failures);

// A fault of which executions were left out because an answer counted as equal to another one with the
// same status and a different body (`reduce`: published).
struct PrunedUnlike {
  std::vector<InjectedFault> faults;  // of the smallest execution left out; the last is the fault
  uint64_t executions = 1;            // number of executions left out
  std::string rpc;                    // the RPC whose answers differ: "front -> a GET /"
  std::vector<InjectedFault> like;    // of the execution that showed the other answer
};

struct PageTest;

struct TestReport {
  std::string test;
  search::SearchCounts counts;
  bool finished = false;  // the whole space was explored
  // Why a test of a suite has nothing to explore: it calls nothing, or its runner skips it. Such a test
  // counts as explored.
  std::string nothing_to_explore;
  double reference_seconds = 0, seconds = 0, median_execution_seconds = 0;
  // How the test of an execution was started: "forked", "ahead", "plain" (daemon/lane/test_starter.h),
  // and why it was not forked; "": it was.
  std::string start = "plain", why_not_forked;
  std::string
      remedy;  // what would have it forked; empty: nothing that is known, or it would not pay
  // Where the time of an execution goes: the median, and over all that were counted.
  uint32_t lanes = 1;        // on which executions ran at the same time
  uint32_t lane = 0;         // which explored it, where tests are explored side by side
  uint64_t thrown_away = 0;  // executions that ran ahead and that the search did not ask for
  Phases median_phases, total_phases;
  uint64_t profiled = 0;
  search::SearchSeconds search_seconds;
  double store_seconds = 0;                      // processor time for writing the store
  std::vector<std::string> fault_configuration;  // one line per rule as used, for a person
  bool default_faults = false;                   // the configuration has no rules
  std::vector<Finding> findings;
  std::vector<Skipped> skipped;
  std::vector<Unexplained> unexplained;  // the inconclusive rows of `skipped`, by cause
  std::vector<PrunedUnlike> pruned_unlike;
  std::vector<NotInterposedRecord> dependencies_not_tested;
  std::vector<std::string> without_cause;  // RPCs that were never faulted, with the reason
  uint32_t reference_executions = 1;
  ReferenceAgain again;               // the reference execution, run again later
  std::vector<Variation> variations;  // what differed between executions with the same faults
  std::string proposed_masks;         // value of `nondeterminism`; empty: nothing to propose
  uint64_t damaged_fields = 0;        // requests with a forged or damaged x-filibuster field
  std::vector<std::string> notes;
  std::vector<RpcRecord> reference;      // the tree of the reference execution
  std::vector<ObservedAnswer> observed;  // errors that services answered with by themselves
  TestedRpcs rpcs;
  std::vector<Timeouts> timeouts;  // how injected silences ended
  std::vector<Refusals> refusals;  // how 'refused' reached each client
  std::vector<FaultCase> cases;    // every RPC with each of its faults, and what came of it
  std::vector<LeftFault> left;     // what was scheduled and not executed
  bool time_over = false;          // --max-time ended the exploration
  std::string error;               // why it could not be explored to its end; "": it could
  std::shared_ptr<const PageTest>
      page;  // what only report.html shows (daemon/page/data.h); null: nothing
};

// A service that was reached from outside, through a proxy (docs/attach.md).
struct AttachedRow {
  std::string service, program;
  std::vector<int> pids;
  bool started = false;  // by this session, and then attached ("interpose": "bpf")
};
// What that means for what a report says, a line each; {}: none is attached.
std::vector<std::string> attached_notes(const std::vector<AttachedRow>& attached);

struct SessionReport {
  std::string session;
  std::string config_path;
  std::vector<TestReport> tests;
  bool allow_untested = false;
  int exit_code = 0;
  std::string error = {};              // what ended the session early; "": nothing did
  std::string working_directory = {};  // of the user: SARIF names files relative to it
  BaselineUse baseline = {};
  bool profile = false;  // the text says where the time goes
  std::vector<AttachedRow> attached = {};

  // The number of findings that make the session fail: new ones, and accepted ones whose day is over.
  size_t failing() const;
};

// report.json, version 1 (schema in docs/report.md). Credentials are redacted.
std::string to_json(const SessionReport& report);
// "the test fails (exit status 1) under 2 faults in combination"
std::string headline(const Finding& finding);
// The text for the terminal at the end.
std::string to_text(const SessionReport& report);
// The last line: which RPCs were tested, over all tests. "" if there were no RPCs.
std::string tested_text(const SessionReport& report);
// One finding for a person: faults, call sites, service path, output, replay command.
std::string to_text(const Finding& finding);
// One finding in one line: "the test fails (exit status 1) under users -> bookings GET /x: refused".
std::string to_line(const Finding& finding);
// What one execution could not show: the connections that were not interposed, and notes. "" if nothing.
std::string limits_text(const TestReport& test);
// "2 requests carried ...", for notes.
std::string damaged_fields_text(uint64_t requests);
// The tree of RPCs, with their indexes, for `filibuster trace`.
std::string tree_text(const std::vector<RpcRecord>& rpcs, bool indexes = true);

// Counterexample files (version 1): configuration, test, faults, what was seen.
struct Counterexample {
  std::string test;
  std::string config_path, config_text, directory;
  std::vector<InjectedFault> faults;
  std::string verdict, detail, output;
  std::vector<std::string> seen;  // Execution::seen
  // As in the exploration: other parts or other masks (config.h to_config_text) give other indexes.
  uint32_t index_parts = kIndexAll;
  std::string nondeterminism = "[]";
  std::string descriptors;  // of gRPC services, by server reflection, serialized (descriptor_set.h)
  // Ports that were chosen automatically: a replay uses them again, since requests and answers may
  // contain them.
  std::map<std::string, uint16_t> ports;
  uint32_t hang_limit_ms = 0;  // what was in force; 0: not known
};
std::string to_json(const Counterexample& counterexample);
Result<Counterexample> parse_counterexample(std::string_view json);

}  // namespace filibuster
