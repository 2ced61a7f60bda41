// Explains why the RPC of a planned fault was not issued, by what was issued in its place.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "daemon/agents/agent_hub.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

// What the planned RPC is, as it was seen in an earlier execution.
struct ExpectedRpc {
  std::string caller, service, method, target;
};
inline constexpr std::string_view kNotIssued = "its RPC was not issued";
// A sentence that begins with kNotIssued. `is_new`: was this index never seen when the
// planned RPC was? (An RPC that came then, too, does not stand in the place of another.)
std::string why_not_issued(const ExecutionRecord& record, const PlannedRpcFault& planned,
                           const ExpectedRpc& expected,
                           const std::function<bool(const Hash128&)>& is_new);

}  // namespace filibuster
