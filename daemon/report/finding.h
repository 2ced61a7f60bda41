// Findings: failing executions grouped by minimal failing fault set, counterexamples, report.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/index/execution_index.h"
#include "core/result.h"
#include "daemon/agents/execution_record.h"
#include "daemon/report/observed.h"
#include "daemon/report/refusals.h"
#include "daemon/report/tested.h"
#include "daemon/report/timeouts.h"
#include "daemon/report/unexplained.h"
#include "daemon/search/search.h"

namespace filibuster {

enum class Verdict : uint8_t {
  kPassed,
  kFailed,        // the test failed under the faults
  kCrashed,       // a service ended by a signal or exited under the faults
  kTestTimeout,   // the test did not end within its limit
  kPlanNotMet,    // a planned fault did not fire: no conclusion
  kIncomplete,    // events were lost
  kNotQuiescent,  // passed, but RPCs stayed open beyond quiesce_timeout
  kNoTimeout,     // passed, but a caller waited for an answer until hang_limit
};
std::string_view verdict_name(Verdict verdict);
// Is it a finding for the user (kFailed, kCrashed, kTestTimeout, kNoTimeout)?
bool is_failure(Verdict verdict);

// Which RPC it is, beyond an edit of the program (core/index/stable_identity.h).
struct StableIdentity {
  Hash128 identity;    // zero: not known, in files of before there was one
  // How many RPCs of its execution only their order tells from this one, itself included.
  uint32_t alike = 0;
};

struct InjectedFault {        // one fault of one execution, for a person and for replay
  Hash128 index;
  std::string fault;          // to_text(FaultSpec)
  std::string key;            // fault_key(FaultSpec); empty: the text says all
  std::string message;        // of a gRPC status, or of an error of Redis
  std::string caller, service, method, path;
  Protocol protocol = Protocol::kHttp;  // kGrpc: `path` is that of a method; kRedis: of a key
  std::string arguments;      // of the gRPC method, a JSON object; empty: not known
  std::string call_site;      // innermost kept frame: "users.py:31 (get_bookings)"
  std::vector<std::string> stack;
  std::vector<std::string> service_path;  // ["test", "users", "bookings"]
  uint32_t count = 0;
  bool as_reset = false;      // RpcRecord::refused_as_reset of the execution that this is of
  // replay needs these to inject at connect (PlannedRpcFault):
  Hash128 connect_key, signature, parent, stack_hash;
  uint32_t number = 0, service_number = 0;
  StableIdentity stable;

  void set_fault(const FaultSpec& spec);
  // Equal for equal faults at one RPC.
  const std::string& identity() const { return key.empty() ? fault : key; }
};
// "users -> movies  GET /movies/1", "gateway -> cart  shop.CartService/GetCart"; credentials
// redacted. `between`: of the caller's and the called service's side.
std::string call_text(const InjectedFault& fault, std::string_view between = "  ");
// `grpc:UNAVAILABLE "no stock"`, "refused (as a reset)"
std::string fault_text(const InjectedFault& fault);

struct Execution {            // one executed abstract execution with its result
  std::string test;
  search::AbstractId id = 0;
  uint32_t number = 0;        // execution number in the session
  std::vector<InjectedFault> faults;
  Verdict verdict = Verdict::kPassed;
  std::string detail;         // "exit status 1", "users ended by SIGSEGV"
  std::string output;         // last lines of the test's own output
  double seconds = 0;
};

struct Finding {
  Execution first;                      // the first execution of the group
  std::vector<InjectedFault> minimal;   // the minimal failing fault set
  uint64_t executions = 1;              // failing executions whose faults contain the minimal set
  std::optional<bool> reproduced;       // after the replay; nullopt: not replayed
  // 16 hexadecimal digits that stay when lines move: of the test, and of the faults and their RPCs.
  std::string id;
  std::string counterexample;           // path of the file
  uint32_t number = 0;                  // of the counterexample; 0: there is none
};

inline constexpr size_t kFindingIdSize = 16;
// Finding::id: the same whatever the order of the faults.
std::string finding_id(const std::string& test, const std::vector<InjectedFault>& faults);

// Groups failures by minimal failing fault set: a failing set that contains another failing set belongs
// to the smaller one; sets are equal when index and fault are. Order of first appearance.
std::vector<Finding> group_failures(const std::vector<Execution>& failures);

// What varied between executions of a test with the same faults: the reference executions, or later.
struct Variation {
  std::string rpc;     // "users -> orders POST /orders/*"
  std::string what;    // "path segment 2", "JSON /id", "the order of ..."
  std::string effect;  // "masked", "not faulted", ...
  std::string reason;
  std::string under;   // the faults under which it varied, "{a -> b GET /: 503}"; "": none
  bool operator==(const Variation&) const = default;
};

// A fault that was not executed because an answer was taken for one with the same status and
// another body (`reduce`: published).
struct PrunedUnlike {
  std::vector<InjectedFault> faults;  // of the smallest execution left out so; it is the last
  uint64_t executions = 1;            // left out so
  std::string rpc;                    // whose answer was taken for another: "front -> a GET /"
  std::vector<InjectedFault> like;    // the faults under which it was that one
};

struct TestReport {
  std::string test;
  search::SearchCounts counts;
  bool finished = false;  // the whole space was explored
  // A test of a suite that calls nothing, or that its runner skips: why. It counts as explored.
  std::string nothing_to_explore;
  double reference_seconds = 0, seconds = 0, median_execution_seconds = 0;
  search::SearchSeconds search_seconds;
  double store_seconds = 0;  // on a processor, of writing what an interrupted search goes on from
  std::vector<std::string> fault_configuration;  // one line per rule as used, for a person
  std::vector<Finding> findings;
  std::vector<Skipped> skipped;
  std::vector<Unexplained> unexplained;     // the inconclusive ones of `skipped`, by cause
  std::vector<PrunedUnlike> pruned_unlike;
  std::vector<NotInterposedRecord> dependencies_not_tested;
  std::vector<std::string> without_cause;   // RPCs listed, never guessed
  uint32_t reference_executions = 1;
  std::vector<Variation> variations;        // in what equal executions differed
  std::string proposed_masks;               // value of `nondeterminism`; empty: nothing to propose
  uint64_t damaged_fields = 0;              // header fields that were not of this session
  std::vector<std::string> notes;
  std::vector<RpcRecord> reference;         // the tree of the reference execution
  std::vector<ObservedAnswer> observed;     // errors of the services' own
  TestedRpcs rpcs;
  std::vector<Timeouts> timeouts;           // how injected silences ended
  std::vector<Refusals> refusals;           // how 'refused' reached each client
};

struct SessionReport {
  std::string session;
  std::string config_path;
  std::vector<TestReport> tests;
  bool allow_untested = false;
  int exit_code = 0;
};

// report.json, version 1 (schema in docs/report.md). Credentials are redacted.
std::string to_json(const SessionReport& report);
// What stands on the terminal at the end.
std::string to_text(const SessionReport& report);
// The last line: which RPCs were tested, over all tests. "" where none was explored.
std::string tested_text(const SessionReport& report);
// One finding for a person: faults, call sites, service path, output, replay command.
std::string to_text(const Finding& finding);
// The same in one line: "the test fails (exit status 1) under users -> bookings GET /x: refused".
std::string to_line(const Finding& finding);
// What one execution could not show: connections not interposed, notes. "" if there is nothing.
std::string limits_text(const TestReport& test);
// "2 requests carried ...", for notes.
std::string damaged_fields_text(uint64_t requests);
// The tree of RPCs with their indexes, for `filibuster trace`.
std::string tree_text(const std::vector<RpcRecord>& rpcs);

// Counterexample files (version 1): configuration, test, faults, what was seen.
struct Counterexample {
  std::string test;
  std::string config_path, config_text, directory;
  std::vector<InjectedFault> faults;
  std::string verdict, detail, output;
  uint32_t index_parts = kIndexAll;  // as explored: other parts would give other indexes
  std::string nondeterminism = "[]";  // the masks as explored (config.h to_config_text), likewise
  std::string descriptors;  // what services said of themselves, serialized (descriptor_set.h)
  std::map<std::string, uint16_t> ports;  // the automatic ones: requests and answers may carry them
};
std::string to_json(const Counterexample& counterexample);
Result<Counterexample> parse_counterexample(std::string_view json);

}  // namespace filibuster
