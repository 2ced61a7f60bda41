// Joins the events of all agents into the record of one execution. Pure: no I/O, no clock.
//
// Events of one RPC come from several rings in any order: whatever comes first makes its entry, and
// only an entry whose RpcIssued came is an RPC of the record.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/protocol/incomplete.h"
#include "daemon/agents/agent_hub.h"
#include "daemon/agents/event_source.h"
#include "daemon/agents/rpc_memory.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

class Recorder {
 public:
  explicit Recorder(uint32_t index_parts) : index_parts_(index_parts) {}

  // Notes, unknown dependencies and losses seen since the last end() go into this execution.
  void begin(uint32_t execution, const std::vector<PlannedRpcFault>& plan, RpcMemory::Plan expanded,
             uint64_t now_ns);
  bool running() const { return running_; }
  // Of row `number` of the plan: the number of its arm, from 1; 0: it has no edge.
  uint32_t arm_of(size_t number) const;
  // That no call came for it is said from now on.
  void note_armed(size_t number) { planned_[number].armed = true; }
  // The execution that runs; 0: none.
  uint32_t execution() const { return running_ ? draft_.execution : 0; }
  // The plan as it must stand in lane memory, to be handed to begin().
  RpcMemory::Plan expand(const std::vector<PlannedRpcFault>& plan) const {
    return memory_.expand(plan);
  }
  // What row `entry` of lane memory injects; nullptr: there is no such row.
  const FaultSpec* planned_fault(uint32_t entry) const {
    return running_ && entry < expanded_.rows.size() ? &expanded_.rows[entry].fault : nullptr;
  }

  bool holds(uint32_t entry) const {
    return running_ && entry < expanded_.rows.size() && expanded_.rows[entry].holds;
  }

  // To be called when indexes are formed in another way from now on: the known ones name nothing.
  void forget_rpcs() { memory_ = {}; }
  const RpcMemory& known_rpcs() const { return memory_; }
  void recall_rpcs(const RpcMemory& memory) { memory_ = memory; }

  // False: the bytes are not an event of that type.
  bool event(const EventSource& source, const EventHead& head, std::span<const uint8_t> payload);
  // Every RPC and incoming request that this agent has open ends now.
  void agent_ended(const EventSource& source, uint64_t now_ns);
  void note(std::string text);
  void problem(std::string text);  // a problem of a runtime: people are told at once, and only once
  // Counts lost events: the execution is incomplete. The first `why` is its reason; each becomes a note, too.
  void lost(const std::string& why, NoConclusion cause = NoConclusion::kEventsLost,
            uint64_t events = 1);
  // What the agents count themselves, and say why in a note of their own.
  void lost_by_agents(uint64_t times, Incomplete why);
  // The address got this service's name. RPCs that had been sent there have another one. `port`: 0 of a Unix socket
  void name_found(uint16_t port, std::string service) {
    new_names_.push_back({port, std::move(service)});
  }
  // Adds to what is said of an RPC's fault, for example that its silence reached the hang limit.
  void hang_limit(uint32_t execution, uint64_t rpc, const HangLimit& limit);
  // The planned fault after effect did not come: the server's answer was an error already, and passed.
  // `spared`: the agent reports the answer. `passed`: the daemon knows it alone.
  void spared(uint32_t execution, uint64_t rpc);
  void passed(uint32_t execution, uint64_t rpc, const PassedAnswer& answer, uint64_t now_ns);
  // Is this row an item of a sequence of attempts, so that its fault never comes upon an error?
  bool spares_errors(uint32_t entry) const {
    return running_ && entry < expanded_.rows.size() && expanded_.rows[entry].is_item;
  }
  // The fault of this RPC, which was reported as injected, had no effect.
  void unmet(uint32_t execution, uint64_t rpc, uint32_t plan_entry, const std::string& why);

  // No RPC and no incoming request of the execution is open.
  bool quiet() const { return open_rpcs_ == 0 && open_incoming_ == 0; }
  // The record so far; without what can only be said at the end.
  ExecutionRecord snapshot() const;
  // The same, for what is watched without an end and has no plan. An RPC that ended before `before_ns` is in no later record,
  // if all else of its tree has, too: what is reported of it from now on is ignored.
  ExecutionRecord take_ended(uint64_t before_ns);
  ExecutionRecord end(uint64_t now_ns);

 private:
  struct Entry {
    RpcRecord record;
    uint32_t issuer = 0;
    bool issued = false;
    bool finished = false;
    bool finalized = false;
    Hash128 wire_parent, wire_index, wire_signature;
    Hash128 planned_index;     // final index of a fault that fired under a wire index; zero: none
    std::string first_source;  // who named it first, for notes
    std::vector<uint32_t> receivers;  // agents in which it is an open incoming request
    uint32_t early_ends = 0;          // IncomingFinished that came before RpcReceived
    bool replied = false;             // one of its receivers has answered it
  };
  using Counts = std::unordered_map<Hash128, uint32_t, Hash128Hasher>;
  struct Planned {
    uint32_t fired = 0;
    bool armed = false;     // of a row with an edge
    uint32_t attempts = 0;  // of a sequence
    std::string reason;
    NoConclusion cause = NoConclusion::kOther;  // of `reason`
    std::string
        unmet;  // why the plan is not met although the fault may have fired; empty: it is met
  };

  template <typename Event>
  bool take(const EventSource& source, const EventHead& head, std::span<const uint8_t> payload);
  void on(const EventSource& source, const EventHead& head, const RpcIssued& event);
  void on(const EventSource& source, const EventHead& head, const RpcReceived& event);
  void on(const EventSource& source, const EventHead& head, const RpcFinished& event);
  void on(const EventSource& source, const EventHead& head, const IncomingFinished& event);
  void on(const EventSource& source, const EventHead& head, const FaultFired& event);
  void on(const EventSource& source, const EventHead& head, const RpcFinalized& event);
  void on(const EventSource& source, const EventHead& head, const RpcFields& event);
  void on(const EventSource& source, const EventHead& head, const NotInterposed& event);
  void on(const EventSource& source, const EventHead& head, const UnseenRequests& event);
  void on(const EventSource& source, const EventHead& head, const RpcBody& event);
  void on(const EventSource& source, const EventHead& head, const Note& event);

  // nullptr: it belongs to another execution, or there are too many.
  Entry* entry(const EventSource& source, const EventHead& head, uint64_t rpc);
  void note_late(std::string text);
  void finish(Entry* entry, uint64_t now_ns);
  void close_entry_call(Entry* entry, uint64_t now_ns);
  // Forms the final indexes and parents (docs/execution-indexes.md "Streams": every index that contains
  // a preliminary one is rewritten). Returns the issued RPCs by time, then agent.
  Hash128 counter(const Entry& entry) const;  // what an RPC whose index came late is counted with
  std::vector<const Entry*> resolve(std::unordered_map<uint64_t, RpcRecord>* finals) const;
  void number(const std::vector<const Entry*>& order,
              std::unordered_map<uint64_t, RpcRecord>* finals) const;
  // With the name of its request, also if that was never formed.
  RpcRecord named(RpcRecord rpc) const;
  bool names_changed(const ExecutionRecord& record) const;
  ExecutionRecord build() const;
  void remember(const RpcRecord& rpc, const Entry& entry);
  void keep_counts(const RpcRecord& rpc, const Entry& entry);
  void explain_plan(ExecutionRecord* out) const;

  const uint32_t index_parts_;
  bool running_ = false;
  ExecutionRecord draft_;
  struct NewName {
    uint16_t port;
    std::string service;
  };
  std::vector<NewName> new_names_;
  std::unordered_map<uint64_t, Entry> entries_;
  std::unordered_set<uint64_t> late_rpcs_;  // and those that were taken
  // Of the RPCs that were taken, how many there were: later ones are counted on from there.
  Counts taken_counts_, taken_numbers_;
  std::vector<uint64_t> silent_commands_;  // to Redis, of this execution
  std::vector<PlannedRpcFault> plan_;
  RpcMemory::Plan expanded_;
  std::vector<Planned> planned_;
  std::set<uint64_t> unmet_;  // RPCs whose fault had no effect
  uint64_t open_rpcs_ = 0;
  uint64_t open_incoming_ = 0;
  RpcMemory memory_;
};

}  // namespace filibuster
