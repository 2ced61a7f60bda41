// One RPC as JSON, for the API and for the events of `trace --follow` (docs/api.md). Credentials in its
// arguments are redacted; those in other texts are, where the row is sent.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/model/execution_record.h"

namespace filibuster {

nlohmann::json rpc_row(const RpcRecord& rpc);

}  // namespace filibuster
