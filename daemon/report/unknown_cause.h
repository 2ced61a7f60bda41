// Why nobody knows which request of the test an RPC was made for: such an RPC gets no fault.
#pragma once

#include <string>
#include <string_view>

#include "daemon/model/execution_record.h"

namespace filibuster {

// Of an RPC whose own cause is not known: "made by a background task of gateway: ... at gateway.py:16 (refresh), ...".
std::string why_cause_not_known(const RpcRecord& rpc);
// The same of an RPC that one of an unknown cause may have led to: its own cause, or that one's, is not known.
std::string why_root_not_known(const RpcRecord& rpc);
// Is `reason` one of these?
bool says_cause_not_known(std::string_view reason);

}  // namespace filibuster
