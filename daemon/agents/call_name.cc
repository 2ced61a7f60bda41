#include "daemon/agents/call_name.h"

#include "core/grpc/call.h"
#include "core/http2/frame.h"

namespace filibuster {

std::string call_name(std::string_view method, std::string_view target, bool grpc) {
  if (grpc && target.size() > 1 && target.front() == '/') return std::string(target.substr(1));
  return std::string(method) + " " + std::string(target);
}

std::string_view grpc_status_name(const RpcRecord& rpc) {
  if (!rpc.is_grpc() || rpc.grpc_status == kNoGrpcStatus) return {};
  return to_name(static_cast<grpc::Code>(rpc.grpc_status));
}

std::string stream_error_name(const RpcRecord& rpc) {
  if (rpc.outcome != RpcOutcome::kReset || rpc.stream_error == 0) return "";
  const std::string_view name = to_name(static_cast<http2::ErrorCode>(rpc.stream_error));
  return name.empty() ? "error " + std::to_string(rpc.stream_error) : std::string(name);
}

std::string ending_name(const RpcRecord& rpc) {
  if (rpc.open) return "open";
  if (rpc.outcome == RpcOutcome::kAnswered) {
    const std::string_view code = grpc_status_name(rpc);
    // An answer that is not gRPC's (a proxy's 502) is told by what it is.
    if (rpc.is_grpc() && code.empty() && rpc.status == 200) return "200 without a grpc-status";
    if (code.empty() || rpc.status != 200) return std::to_string(rpc.status);
    return std::string(code) + (rpc.grpc_message.empty() ? "" : " \"" + rpc.grpc_message + "\"");
  }
  const std::string error = stream_error_name(rpc);
  return std::string(outcome_name(rpc.outcome)) + (error.empty() ? "" : " (" + error + ")");
}

}  // namespace filibuster
