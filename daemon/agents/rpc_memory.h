// What a session has seen of each RPC, by its final index, over all its executions. It supplies the
// texts of an RPC that is refused at connect or ends in its handshake (its request is never formed), the body of an RPC that is
// faulted before it has sent any, names for planned faults that did not fire, and the index under which
// a request was on the wire before its body was complete.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/agents/agent_hub.h"
#include "daemon/agents/unmet_plan.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

class RpcMemory {
 public:
  // How the agents named an RPC when it was issued.
  struct WireNames {
    Hash128 index, parent, signature;
    uint32_t count = 0;
    bool before_body = false;  // it was issued before its own body was known
  };
  // Keeps what the first RPC with an index showed; of a later one, only that its call site issued it
  // with its body, if it did.
  void remember(const RpcRecord& rpc, const WireNames& wire);
  // Fills in what the request would have said, for an RPC that was refused at connect or ended in its handshake.
  void complete(RpcRecord* rpc) const;
  // Fills in the beginning of the body, for an RPC that was faulted before it had sent any of it.
  void complete_body(RpcRecord* rpc) const;
  // "users -> bookings GET /bookings/1 #2", or the index where it was never seen.
  std::string describe(const Hash128& index) const;

  // nullopt: it was never seen.
  std::optional<ExpectedRpc> expected(const Hash128& index) const;
  // What is remembered from now on is of a later execution than what was before.
  void next_execution() { ++executions_; }
  // Was `index` first seen in a later execution than `other`, or never?
  bool is_newer(const Hash128& index, const Hash128& other) const;

  struct Plan {
    std::vector<PlannedRpcFault> rows;  // as it goes to lane memory
    std::vector<size_t> planned;        // rows[i] stands for plan[planned[i]]
    // plan[i] cannot be recognised on the wire: several requests share its preliminary index.
    std::vector<bool> ambiguous;
  };
  // Adds rows for the items of each sequence of attempts, behind all others. And adds a row under the wire index for every planned RPC that was issued under another index than its
  // final one, unless that happened by chance (merely_late).
  Plan expand(const std::vector<PlannedRpcFault>& plan) const;

 private:
  struct Seen {
    std::string caller, service, method, target, body_sample;
    std::vector<std::string> stack;
    std::vector<std::pair<std::string, std::string>> told;
    Hash128 payload, stack_hash;
    uint32_t count = 0;
    uint16_t protocol = 0;  // kRpcHttp2, kRpcGrpc, kRpcRedis, kRpcEncrypted, kRpcSealed
    WireNames wire;
    Hash128 site;
    bool long_body = false;
    uint32_t first = 0;  // the execution that saw it first, counted from the session's first
  };
  // Was the RPC, or one that caused it, issued before its body only by chance? The body is short then,
  // and other RPCs of the call site are issued with theirs. Next time another RPC may have this wire
  // index.
  bool merely_late(const Seen& seen) const;
  static void add_items(const std::vector<PlannedRpcFault>& plan, Plan* out);

  std::unordered_map<Hash128, Seen, Hash128Hasher> seen_;
  // Final indexes by wire index, where they differ; zero: more than one.
  std::unordered_map<Hash128, Hash128, Hash128Hasher> finals_;
  // Call sites, with what is called there, of RPCs that were issued with their bodies.
  std::unordered_set<Hash128, Hash128Hasher> with_body_;
  uint32_t executions_ = 0;
};

}  // namespace filibuster
