#include "daemon/observe/rpc_row.h"

#include <nlohmann/json.hpp>

#include "daemon/model/call_name.h"
#include "daemon/observe/observation.h"
#include "daemon/redact/redact.h"

namespace filibuster {

nlohmann::json rpc_row(const RpcRecord& rpc) {
  const AnswerCode code = code_of(rpc);
  return {{"index", to_hex(rpc.index)},
          {"parent", to_hex(rpc.parent)},
          {"caller", rpc.caller},
          {"service", rpc.service},
          {"received_by", rpc.received_by},
          {"method", rpc.method},
          {"path", rpc.target},
          {"count", rpc.count},
          {"protocol", protocol_name(rpc.protocol())},
          {"grpc", grpc_name(rpc)},
          {"grpc_status", grpc_status_name(rpc)},
          {"grpc_message", rpc.grpc_message},
          {"code_space", code_space_name(code.space)},
          {"code", code.text},
          {"arguments", nlohmann::json::parse(redact_object(rpc.arguments))},
          {"cause", cause_name(rpc.cause)},
          {"outcome", outcome_text(rpc)},
          {"injected", rpc.injected},
          {"stack", rpc.stack_text}};
}

}  // namespace filibuster
