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
#include "daemon/model/execution_record.h"
#include "daemon/model/injected_fault.h"
#include "daemon/observe/unstable_rpcs.h"
#include "daemon/search/search.h"
#include "daemon/store/store.h"

namespace filibuster {

// The outcome of an RPC as its caller saw it. Equal texts are equal outcomes for ESR, so that an
// organic 503 equals an injected one.
//   ""                      the RPC is open
//   the fault's key         a fault was injected (a refusal that was delivered as a reset is a "reset")
//   "refused", "timeout", "garbled"
//   "reset"                 "reset:REFUSED_STREAM" of an HTTP/2 stream: clients treat codes differently
//   "status:503"            400 and above; "grpc:UNAVAILABLE" (or "no grpc-status"), "redis:LOADING"
//   "ok:200:BODY-DIGEST"    any other answer; "ok:REPLY-DIGEST" for Redis
//   "ok:200=not read"       the caller has read no more of the answer than its status
// The published reduction leaves out what stands behind '=': the digest of what a failure says
// besides its status ("status:503=DIGEST"; an injected failure says nothing, or has a key of its own),
// and that a connection ended instead of being reset ("reset=closed").
// An answer that varies by itself (`answer_varies`) counts by its status alone: "ok:200". A failure
// that varies is "status:503=varies", which differs from a failure that says nothing.
std::string outcome_text(const RpcRecord& rpc, bool answer_varies = false);
// The outcome as the published reduction compares it: what stands before '='.
std::string_view status_alone(std::string_view outcome);
// For a person: "503", "200", "timeout", "answered"; "open" of "".
std::string outcome_in_words(std::string_view outcome);
bool is_good_outcome(std::string_view outcome);

// Are two outcomes equal as far as they can be compared? Nobody knows the body of an answer that was not read.
bool may_be_same(std::string_view one, std::string_view other);

// "users -> bookings GET /bookings/1"; "... GET /bookings/*" where `masks` leave that segment out.
std::string describe_rpc(const RpcRecord& rpc, const std::vector<NondeterminismRule>& masks = {});

inline constexpr std::string_view kLateCall =
    "made when its execution was over, so it got no fault; let the test wait for what it causes";
inline constexpr std::string_view kStayedPreliminary =
    "its index stayed preliminary: the request body did not end";

// The faults that the configuration gives an RPC, and why it gets none although a rule has some for it.
struct FaultChoice {
  std::vector<FaultSpec> faults;
  std::vector<FaultSpec> not_applicable;  // configured here, but for another protocol
  std::string
      left_out;  // kStayedPreliminary, ...; empty: it is faulted, or no rule has a fault for it
};
FaultChoice choose_faults(const Config& config, const RpcRecord& rpc, bool root_known);

// Interned outcomes of one search: text <-> id <-> fault.
class OutcomeTable {
 public:
  explicit OutcomeTable(search::SearchStore* store) : store_(store) {}
  // Adds all faults that the configuration can inject, so that a resumed search can be planned.
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
  // Of each of them: its outcome is another one from time to time, as the reference executions have shown.
  std::vector<bool> outcome_varies;
  std::map<std::string, std::string> left_out;        // RPC -> why it is never faulted
  std::map<std::string, std::string> not_applicable;  // "FAULT at RPC" -> why it is not injected
  std::set<std::string> faulted;                      // RPCs that may get faults
  std::set<std::string>
      by_configuration;  // RPCs without a configured fault, but for the test's own
};
// RPCs that `unstable` knows get no fault, nor do the RPCs that they cause. They stay in the search
// under an index that does not vary, so that their outcomes count. RPCs that come in some executions
// only are left out of the search.
// The texts name RPCs by what `masks` leave of their paths.
// If the caller of an RPC carries no agent, nobody saw the body of the answer. The outcome then
// stands for the answer's status and the outcomes of the calls that the service made for it.
Result<Observation> observe(const Config& config, const ExecutionRecord& record,
                            OutcomeTable* outcomes, const UnstableRpcs& unstable = {},
                            const std::vector<NondeterminismRule>& masks = {});

// Every RPC seen in a session, by its index: what a plan needs beyond the index, and what a report
// says about the RPC. It is kept in the store, so that a resumed session has it.
class KnownRpcs {
 public:
  explicit KnownRpcs(search::SearchStore* store) : store_(store) {}
  // `masks`: what varies by itself in a path. `unstable`: RPCs that come and go by themselves.
  Result<void> learn(const ExecutionRecord& record,
                     const std::vector<NondeterminismRule>& masks = {},
                     const UnstableRpcs& unstable = {});
  // nullptr: never seen.
  const InjectedFault* find(Hash128 index);
  // Sets the numbers of `fault` in an execution with this prefix (Search::prefix): which of the RPCs
  // of its call site it is, and which of those to its service. A number is 0 (not known) where RPCs
  // run concurrently or come in some executions only.
  void number(std::span<const search::ObservedRpc> prefix, InjectedFault* fault);

 private:
  // Notes the places where RPCs run concurrently. Which of these connects first is the scheduler's
  // choice, so that a connect does not say which RPC it is for.
  Result<void> learn_order(const ExecutionRecord& record, const UnstableRpcs& unstable);
  Result<void> note_unordered(Hash128 place);
  bool is_unordered(Hash128 place);

  search::SearchStore* store_;
  std::unordered_map<Hash128, InjectedFault, Hash128Hasher> rpcs_;
  // Places (core/index call_place). `unordered_`: known to have no order. `ordered_`: the store was
  // asked about it.
  std::unordered_set<Hash128, Hash128Hasher> unordered_, ordered_;
};

// The RPCs of a record by their number (RpcRecord::rpc), to follow causes backwards.
using RpcsById = std::unordered_map<uint64_t, const RpcRecord*>;
RpcsById rpcs_by_id(const ExecutionRecord& record);
// The first of the RPCs that led to `start`: none of the record caused it. nullptr: causes form a circle.
const RpcRecord* root_of(const RpcsById& rpcs, const RpcRecord& start);
// True when the cause of the RPC, and of the RPC that caused it, and so on, is known.
bool root_is_known(const RpcsById& rpcs, const RpcRecord& start);
InjectedFault describe_for_report(const RpcsById& rpcs, const RpcRecord& rpc);

// Did a call of `caller` to `service` go out on a connection that an earlier one had opened?
bool keeps_connections(const ExecutionRecord& record, const std::string& caller,
                       const std::string& service);

// Sets InjectedFault::as_reset of each fault (whether a refusal was delivered as a reset), and the attempts that came of
// a sequence.
void note_delivery(const ExecutionRecord& record, std::vector<InjectedFault>* faults);
// A record with what the description has of the RPC, for functions that take records.
RpcRecord as_record(const InjectedFault& rpc);
PlannedRpcFault plan_fault(const InjectedFault& rpc, const FaultSpec& fault);
// "users -> bookings GET /bookings/1: refused"
std::string to_line(const InjectedFault& fault);
// "{a; b}"
std::string to_line(const std::vector<InjectedFault>& faults);

}  // namespace filibuster
