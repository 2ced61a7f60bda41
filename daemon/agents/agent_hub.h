// The daemon's side of the agents of one session lane: control pages, the registration socket, lane
// memory (plan, lease, names, counters), the rings, and connections handed off by faults.
// A thread of the hub serves the agents; every public function may be called from any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/fault/edge.h"
#include "core/index/frame_rules.h"
#include "core/index/masks.h"
#include "core/protocol/draws.h"
#include "core/result.h"
#include "daemon/agents/control_pages.h"
#include "daemon/agents/recordings.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

struct PlannedRpcFault {
  Hash128 index;
  FaultSpec fault;
  Hash128 signature, parent;
  uint32_t count = 0;
  // These let 'refused' be injected at connect (core/protocol/lane_memory.h PlanEntry).
  Hash128 connect_key, stack;
  std::string service;
  uint32_t number = 0, service_number = 0;  // as RpcRecord has them; 0: not known
  bool reset_expected = false;
  // Of the rows that RpcMemory::expand adds for the items of a sequence of attempts, and of the sequence itself.
  bool is_item = false;  // `fault` is what the attempts `when` get; kNone: they pass
  Occasions when;
  uint32_t group = 0;  // the number of the sequence in its plan
  // In the place of the index: it waits, once it is armed, for a call of this edge. AgentHub::arm().
  std::optional<Edge> edge = std::nullopt;
  // The request does not leave before AgentHub::release(). Needs an edge, and a latency as its fault. Not of HTTP/2.
  bool holds = false;
  bool operator==(const PlannedRpcFault&) const = default;
};

struct TargetRow {   // an address with a service name
  std::string host;  // "127.0.0.1", "::1", "localhost", "10.1.2.3"; empty for unix
  uint16_t port = 0;
  std::string unix_path;
  std::string service;
  uint32_t flags = 0;  // TargetFlags
};

struct HostAddress {  // where a name of `hosts` leads
  std::string name;   // in lower case
  uint16_t port = 0;  // as programs write it; 0: each that has no row of its own
  std::array<uint8_t, 4> address{127, 0, 0, 1};
  uint16_t real_port = 0;
};

struct HubOptions {
  std::string directory;  // 0700; holds agent.sock and control
  uint32_t session = 0;   // random, non-zero
  uint32_t lane = 0;
  uint32_t index_parts = 0;  // IndexParts
  FrameTable frames{};       // which frames of call stacks count
  bool fast_timeouts = true;
  std::vector<std::string> request_ids;  // header fields that name a call, beside the known ones
  std::vector<std::string> told_fields;  // whose values agents tell, beside the known ones
  bool origins = false;  // call sites also come from where an asynchronous operation was begun
  bool library_commands = false;  // commands that client libraries send by themselves are RPCs
  std::chrono::milliseconds hang_limit{5000};
  // Directory of the control pages that the user's sessions share; empty: kUserControlDirPrefix +
  // uid. Tests set it, so that no other process of the same user joins them.
  std::string user_directory;
  // Processes that were started by hand join the session by the name of their application.
  std::string application;
  // The names of those that may, and of what they start; none: all of the application may.
  std::set<std::string> services;
};

enum class StackLines : uint8_t { kOfAll, kOfInjected };

class RpcMemory;

// A random number of a recording (core/protocol/draws.h).
struct ShownDraw {
  DrawSource source = DrawSource::kNone;
  bool of_process = false;  // it is for what the program does for no request
  bool own = false;         // the program gets the machine's own, of that size, in its place
  std::string bytes;
};

class AgentHub {
 public:
  static Result<std::unique_ptr<AgentHub>> start(const HubOptions& options);
  virtual ~AgentHub() = default;

  // "unix:DIR/agent.sock", for FILIBUSTER_DAEMON.
  virtual std::string address() const = 0;
  virtual void add_targets(const std::vector<TargetRow>& rows) = 0;
  // To be called once at most, before the first process of the lane is started. Precondition: at most kMaxHosts rows.
  virtual void set_hosts(const std::vector<HostAddress>& rows) = 0;
  // To be called after the reference execution. Names that are found later still enter the table,
  // and set names_changed, also where they are found between two executions, if an RPC has another one.
  virtual void freeze_names() = 0;

  // Sets what the agents leave out of indexes. To be called between executions.
  // What is known of RPCs is forgotten, since their indexes are others.
  virtual void set_masks(const MaskTable& masks) = 0;
  // What is known of RPCs, and the way back to it: the same masks are set then.
  virtual std::shared_ptr<const RpcMemory> known_rpcs() const = 0;
  virtual void recall_rpcs(const RpcMemory& memory) = 0;
  // `wanted`: records have the fields of every body from the next execution on (for reference
  // executions).
  virtual void report_fields(bool wanted) = 0;

  // Writes the plan into lane memory, then begins the execution. Errors: the plan does not fit, an
  // execution runs, or the number is not greater than the last one.
  virtual Result<void> begin_execution(uint32_t execution,
                                       const std::vector<PlannedRpcFault>& plan) = 0;
  // Arms row `number` of the plan, which has an edge: the `calls`-th call of it from now on gets the fault, once. kEachCall: all of
  // them do, until it is armed for 0 calls, which is none. Nothing happens if no execution runs.
  virtual void arm(size_t number, uint32_t calls) = 0;
  // Is row `number` armed, and has no call got its fault yet?
  virtual bool is_waiting(size_t number) const = 0;
  // Does a request of row `number`, which holds, wait?
  virtual bool is_held(size_t number) const = 0;
  // What waits leaves, and so does what comes later in this execution.
  virtual void release(size_t number) = 0;
  // True when no incoming request and no RPC of the execution is open and every ring is read to its
  // published end. Waits at most `timeout`, measured by patient_now().
  virtual bool wait_quiescent(std::chrono::milliseconds timeout) = 0;
  // Ends the execution (the lane becomes idle) and returns what was seen. Connections that were handed
  // off in it are reset.
  virtual ExecutionRecord end_execution() = 0;
  // The same, but for what is watched without an end: the execution `next` begins, without a plan, and nothing that
  // happens between the two is missed but what was under way. Nothing happens if no execution runs. Precondition: `next` is greater.
  virtual ExecutionRecord next_execution(uint32_t next) = 0;
  // A snapshot of the running execution after reading the rings. The call stacks of the RPCs that
  // `lines` names are symbolized; the others are as agents send them.
  virtual ExecutionRecord snapshot(StackLines lines) = 0;
  // The same for what is watched without an end: trees of RPCs that have ended are in no later record. All of their stacks
  // are symbolized.
  virtual ExecutionRecord take_ended() = 0;

  // The time of day that the processes of a replay (SessionLane::is_replay) are shown from now on, in microseconds since 1970. It goes
  // on from there.
  virtual void show_time(int64_t now_us) = 0;
  // The random numbers that the programs of a replay are given from now on, each once and in order, in the place of those that stood
  // here before. Those that have no room any more (core/protocol/draws.h) are left out.
  virtual void show_draws(std::span<const ShownDraw> draws) = 0;

  // What somebody else records of the agents, besides the executions.
  virtual Recordings& recordings() = 0;

  // Sessions of the same application: processes that are started by hand could follow them as well as this one.
  virtual std::vector<OtherSession> others() const = 0;
  virtual std::vector<AgentRecord> agents() const = 0;
  virtual bool has_agent(uint32_t pid) const = 0;
  // A clock for limits: it slows down while more threads want to run than there are processors
  // (pulse.h).
  virtual std::chrono::nanoseconds patient_now() const = 0;
  // Sets the silence limit after the reference execution's time is known.
  virtual void set_hang_limit(std::chrono::milliseconds limit) = 0;
};

}  // namespace filibuster
