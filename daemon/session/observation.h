// From what an execution showed (ExecutionRecord) to what the search reads (ObservedRpc), and to
// what reports and plans need of each RPC. The fault configuration is applied here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/agents/agent_hub.h"
#include "daemon/config/config.h"
#include "daemon/report/finding.h"
#include "daemon/search/search.h"
#include "daemon/session/unstable_rpcs.h"
#include "daemon/store/store.h"

namespace filibuster {

// What its caller saw of an RPC: the injected fault's key; else "refused", "reset", "timeout",
// "garbled", "status:503" (400 and above), "ok:200:BODY-DIGEST"; "" while it is open. Equal texts
// are equal outcomes for ESR, so that an organic 503 equals an injected one. A gRPC call that
// failed says so in its status, "grpc:UNAVAILABLE", whatever its message; a stream that was reset
// is "reset:REFUSED_STREAM": clients make different things of different error codes.
// An answer that varies by itself (`answer_varies`) counts by its status alone: "ok:200".
std::string outcome_text(const RpcRecord& rpc, bool answer_varies = false);

// "users -> bookings GET /bookings/1"
std::string describe_rpc(const RpcRecord& rpc);

inline constexpr std::string_view kLateCall =
    "made when its execution was over, so it got no fault; let the test wait for what it causes";
inline constexpr std::string_view kStayedPreliminary =
    "its index stayed preliminary: the request body did not end";

// Faults of an RPC by configuration, and why it gets none although its service could have some.
struct FaultChoice {
  std::vector<FaultSpec> faults;
  std::vector<FaultSpec> not_applicable;  // configured here, but for another protocol
  std::string left_out;  // "its cause is not known"; empty: faulted, or the rules say none
};
FaultChoice choose_faults(const Config& config, const RpcRecord& rpc, bool root_known);

// Interned outcomes of one search: text <-> id <-> fault.
class OutcomeTable {
 public:
  explicit OutcomeTable(search::SearchStore* store) : store_(store) {}
  // All faults that the configuration can inject, so that a resumed search can be planned.
  Result<void> add_faults(const Config& config);
  Result<search::OutcomeId> id(const FaultSpec& fault);
  Result<search::OutcomeId> id(const std::string& text);
  const FaultSpec* fault(search::OutcomeId id) const;

 private:
  search::SearchStore* store_;
  std::unordered_map<search::OutcomeId, FaultSpec> faults_;
  std::unordered_map<std::string, search::OutcomeId> ids_;
};

struct Observation {
  std::vector<search::ObservedRpc> rpcs;
  std::map<std::string, std::string> left_out;        // RPC -> why it is never faulted
  std::map<std::string, std::string> not_applicable;  // "FAULT at RPC" -> why it is not injected
};
// RPCs that `unstable` knows, and all that they cause, get no fault. They stay in the search under
// a name that does not vary, so that what their callers saw of them counts; but those that come
// only sometimes do not.
Result<Observation> observe(const Config& config, const ExecutionRecord& record,
                            OutcomeTable* outcomes, const UnstableRpcs& unstable = {});

// Every RPC seen in a session by its index, as last seen, without a fault. What a plan needs beyond
// the index, and what a report says about it. Kept in the store, so that a resumed session has it.
class KnownRpcs {
 public:
  explicit KnownRpcs(search::SearchStore* store) : store_(store) {}
  Result<void> learn(const ExecutionRecord& record);
  // nullptr: never seen.
  const InjectedFault* find(Hash128 index);

 private:
  // Notes the call sites whose RPCs run concurrently: which of them connects first is the
  // scheduler's choice, so that a connect says nothing about which RPC it is for.
  Result<void> learn_concurrent_sites(const ExecutionRecord& record);

  search::SearchStore* store_;
  std::unordered_map<Hash128, InjectedFault, Hash128Hasher> rpcs_;
  std::unordered_set<Hash128, Hash128Hasher> concurrent_sites_;
};

// Reads a record backwards: from an RPC to the services that led to it (["test", "users"]).
using RpcsById = std::unordered_map<uint64_t, const RpcRecord*>;
RpcsById rpcs_by_id(const ExecutionRecord& record);
InjectedFault describe_for_report(const RpcsById& rpcs, const RpcRecord& rpc);

// Services of the application whose answers came from processes without an agent (workers that
// changed their user, static programs), each with a line that says so. Silence about them would be
// the worst bug.
std::map<std::string, std::string> services_without_agent(const Config& config,
                                                          const ExecutionRecord& record);
PlannedRpcFault plan_fault(const InjectedFault& rpc, const FaultSpec& fault);
// "users -> bookings GET /bookings/1: refused"
std::string to_line(const InjectedFault& fault);
// "{a; b}"
std::string to_line(const std::vector<InjectedFault>& faults);

}  // namespace filibuster
