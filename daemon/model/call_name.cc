#include "daemon/model/call_name.h"

#include "core/grpc/call.h"
#include "core/http2/frame.h"
#include "core/index/execution_index.h"

namespace filibuster {

namespace {

struct ProtocolRow {
  Protocol protocol;
  CodeSpace codes;
  std::string_view name;
};
constexpr ProtocolRow kProtocols[] = {{Protocol::kHttp, CodeSpace::kHttp, "http"},
                                      {Protocol::kGrpc, CodeSpace::kGrpc, "grpc"},
                                      {Protocol::kRedis, CodeSpace::kRedis, "redis"},
                                      {Protocol::kSealed, CodeSpace::kNone, "tls"}};

// The message of an error reply: what follows the code in "LOADING Redis is loading ...". "": it is
// not known.
std::string redis_message(const RpcRecord& rpc) {
  const std::string_view line = rpc.response_sample;
  const size_t begin = rpc.code.size() + 1;
  if (line.size() <= begin || !line.starts_with(rpc.code) || line[begin - 1] != ' ') return "";
  return std::string(line.substr(begin, line.find_first_of("\r\n", begin) - begin));
}

}  // namespace

std::string_view protocol_name(Protocol protocol) {
  for (const ProtocolRow& row : kProtocols) {
    if (row.protocol == protocol) return row.name;
  }
  return "";
}

std::optional<Protocol> parse_protocol(std::string_view name) {
  for (const ProtocolRow& row : kProtocols) {
    if (row.name == name) return row.protocol;
  }
  return std::nullopt;
}

std::string_view code_space_name(CodeSpace space) {
  for (const ProtocolRow& row : kProtocols) {
    if (row.codes == space && space != CodeSpace::kNone) return row.name;
  }
  return "";
}

std::string path_of(std::string_view target, Protocol protocol) {
  return std::string(protocol == Protocol::kRedis ? target : split_target(target).path);
}

std::string call_name(std::string_view method, std::string_view target, Protocol protocol) {
  if (protocol == Protocol::kGrpc && target.size() > 1 && target.front() == '/')
    return std::string(target.substr(1));
  if ((protocol == Protocol::kRedis || protocol == Protocol::kSealed) && target.empty())
    return std::string(method);
  return std::string(method) + " " + std::string(target);
}

std::string grpc_name(std::string_view method, std::string_view target, Protocol protocol) {
  return protocol == Protocol::kGrpc ? call_name(method, target, protocol) : std::string();
}

AnswerCode code_of(const RpcRecord& rpc) {
  if (!rpc.answered_with_error()) return {};
  if (rpc.code_space != CodeSpace::kNone) return {rpc.code_space, rpc.code};
  const std::string_view grpc = grpc_status_name(rpc);
  if (!grpc.empty() && rpc.grpc_status != 0) return {CodeSpace::kGrpc, std::string(grpc)};
  if (rpc.status >= 400) return {CodeSpace::kHttp, std::to_string(rpc.status)};
  return {};
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
  if (rpc.outcome == RpcOutcome::kAnswered && rpc.is_redis()) {
    if (rpc.code_space != CodeSpace::kRedis) return std::string(outcome_name(rpc.outcome));
    const std::string message = redis_message(rpc);
    return rpc.code + (message.empty() ? "" : " \"" + message + "\"");
  }
  // Nobody saw how it was answered.
  if (rpc.outcome == RpcOutcome::kAnswered && rpc.is_sealed() && rpc.status == 0)
    return std::string(outcome_name(rpc.outcome));
  if (rpc.outcome == RpcOutcome::kAnswered) {
    const std::string_view code = grpc_status_name(rpc);
    // An answer that does not come from gRPC (a proxy's 502) is named by its HTTP status.
    if (rpc.is_grpc() && code.empty() && rpc.status == 200) return "200 without a grpc-status";
    if (code.empty() || rpc.status != 200) return std::to_string(rpc.status);
    return std::string(code) + (rpc.grpc_message.empty() ? "" : " \"" + rpc.grpc_message + "\"");
  }
  if (rpc.outcome == RpcOutcome::kNotRead) return std::to_string(rpc.status) + ", not read";
  const std::string error = stream_error_name(rpc);
  return std::string(outcome_name(rpc.outcome)) + (error.empty() ? "" : " (" + error + ")") +
         (rpc.begun == 0 ? "" : " within an answer of status " + std::to_string(rpc.begun));
}

}  // namespace filibuster
