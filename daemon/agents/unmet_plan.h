// Why the RPC of a planned fault was not there, from what was there in its place.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/agents/agent_hub.h"
#include "daemon/agents/execution_record.h"

namespace filibuster {

// What the planned RPC is, as it was seen in an earlier execution.
struct ExpectedRpc {
  std::string caller, service, method, target;
};
// A sentence that begins with "its RPC was not issued". `is_new`: was this index never seen when the
// planned RPC was? (What came then, too, stands for no other.)
std::string why_not_issued(const ExecutionRecord& record, const PlannedRpcFault& planned,
                           const ExpectedRpc& expected,
                           const std::function<bool(const Hash128&)>& is_new);

}  // namespace filibuster
