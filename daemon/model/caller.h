// Who issued an RPC, where the test itself may have done so without an agent.
#pragma once

#include <string>
#include <string_view>

#include "daemon/model/execution_record.h"

namespace filibuster {

// Caller of an RPC that no agent issued: it was formed on arrival, so it came from the test.
inline constexpr std::string_view kTestService = "test";
inline std::string caller_of(const RpcRecord& rpc) {
  return rpc.caller.empty() || (rpc.flags & kRpcEntry) != 0 ? std::string(kTestService)
                                                            : rpc.caller;
}
inline bool is_test_call(const RpcRecord& rpc) {
  return caller_of(rpc) == kTestService;
}

}  // namespace filibuster
