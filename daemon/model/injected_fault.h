// One fault of one execution, for a person and for a replay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fault/fault.h"
#include "core/hash.h"
#include "core/rpc/protocol.h"

namespace filibuster {

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

}  // namespace filibuster
