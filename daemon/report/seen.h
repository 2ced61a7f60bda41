// What callers saw of a fault.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/execution_record.h"

namespace filibuster {

// One line for each RPC that caused a faulted one, directly or not, and that ended otherwise than in
// the reference execution: "test -> front  GET /: 500, without faults 200". Outermost last. Then one for each call that was made
// after the fault for another reason, and was answered otherwise: "test -> front  GET /orders, later: ...". Without secrets. RPCs of both executions are the same if their indexes are equal.
std::vector<std::string> what_was_seen(const std::vector<RpcRecord>& rpcs,
                                       const std::vector<RpcRecord>& reference);

}  // namespace filibuster
