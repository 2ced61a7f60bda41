// From what an execution showed (ExecutionRecord) to what the search reads (ObservedRpc), and to
// what reports and plans need of each RPC. The fault configuration is applied here.
#pragma once

#include <map>
#include <set>
#include <span>
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

// What its caller saw of an RPC: the injected fault's key (of a refusal that was a reset: "reset",
// "reset:REFUSED_STREAM"); else "refused", "reset", "timeout",
// "garbled", "status:503" (400 and above), "ok:200:BODY-DIGEST"; "" while it is open. Equal texts
// are equal outcomes for ESR, so that an organic 503 equals an injected one. A gRPC call that
// failed says so in its status, "grpc:UNAVAILABLE", a command to Redis in its code, "redis:LOADING" (and
// "ok:REPLY-DIGEST" of a success); a stream that was reset is
// "reset:REFUSED_STREAM": clients make different things of different error codes.
// Behind '=' stands what the published reduction leaves out: the digest of what a failure says
// besides its status ("status:503=DIGEST"; an injected one says nothing, or has a key of its own),
// and that a connection ended instead of being reset ("reset=closed").
// An answer that varies by itself (`answer_varies`) counts by its status alone: "ok:200",
// "status:503=varies", which is not the same as one that says nothing.
std::string outcome_text(const RpcRecord& rpc, bool answer_varies = false);
// As the published reduction takes it.
std::string_view status_alone(std::string_view outcome);

// "users -> bookings GET /bookings/1"; "... GET /bookings/*" where `masks` leave that segment out.
std::string describe_rpc(const RpcRecord& rpc, const std::vector<NondeterminismRule>& masks = {});

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
  std::set<std::string> faulted;           // RPCs that may get faults
  std::set<std::string> by_configuration;  // RPCs, but the test's own, for which none is configured
};
// RPCs that `unstable` knows, and all that they cause, get no fault. They stay in the search under
// a name that does not vary, so that what their callers saw of them counts; but those that come
// only sometimes do not.
// RPCs are named by what `masks` leave of them.
// Of a call whose caller carries no agent nobody saw the answer's body: it counts as what the
// service made of the outcomes of its own calls.
Result<Observation> observe(const Config& config, const ExecutionRecord& record,
                            OutcomeTable* outcomes, const UnstableRpcs& unstable = {},
                            const std::vector<NondeterminismRule>& masks = {});

// Every RPC seen in a session by its index, as last seen, without a fault. What a plan needs beyond
// the index, and what a report says about it. Kept in the store, so that a resumed session has it.
class KnownRpcs {
 public:
  explicit KnownRpcs(search::SearchStore* store) : store_(store) {}
  // `masks`: what varies by itself in a path. `unstable`: RPCs that come and go by themselves.
  Result<void> learn(const ExecutionRecord& record,
                     const std::vector<NondeterminismRule>& masks = {},
                     const UnstableRpcs& unstable = {});
  // nullptr: never seen.
  const InjectedFault* find(Hash128 index);
  // Which of the RPCs of its call site `fault` is in an execution with this prefix (Search::prefix):
  // its numbers, 0 where what runs concurrently, or comes when it likes, leaves them open.
  void number(std::span<const search::ObservedRpc> prefix, InjectedFault* fault);

 private:
  // Notes where RPCs run concurrently: which of them connects first is the scheduler's choice, so
  // that a connect says nothing about which RPC it is for.
  Result<void> learn_order(const ExecutionRecord& record, const UnstableRpcs& unstable);
  Result<void> note_unordered(Hash128 place);
  bool is_unordered(Hash128 place);

  search::SearchStore* store_;
  std::unordered_map<Hash128, InjectedFault, Hash128Hasher> rpcs_;
  // Places (core/index call_place): known to have no order; the store was asked.
  std::unordered_set<Hash128, Hash128Hasher> unordered_, ordered_;
};

// Reads a record backwards: from an RPC to the services that led to it (["test", "users"]).
using RpcsById = std::unordered_map<uint64_t, const RpcRecord*>;
RpcsById rpcs_by_id(const ExecutionRecord& record);
// The RPC that led to `start` and was caused by none of the record; nullptr: they form a circle.
const RpcRecord* root_of(const RpcsById& rpcs, const RpcRecord& start);
InjectedFault describe_for_report(const RpcsById& rpcs, const RpcRecord& rpc);

// Services of the application whose answers came from processes without an agent (workers that
// changed their user, static programs), each with a line that says so. Silence about them would be
// the worst bug.
std::map<std::string, std::string> services_without_agent(const Config& config,
                                                          const ExecutionRecord& record);
// Says of each fault whether the execution delivered it as what it is called (InjectedFault::as_reset).
void note_delivery(const ExecutionRecord& record, std::vector<InjectedFault>* faults);
// An RPC that is known by its description only, for what looks at records (explorer_learning.cc).
RpcRecord as_record(const InjectedFault& rpc);
PlannedRpcFault plan_fault(const InjectedFault& rpc, const FaultSpec& fault);
// "users -> bookings GET /bookings/1: refused"
std::string to_line(const InjectedFault& fault);
// "{a; b}"
std::string to_line(const std::vector<InjectedFault>& faults);

}  // namespace filibuster
