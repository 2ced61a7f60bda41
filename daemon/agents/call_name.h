// What an RPC asks for, and how it ended, as people say it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/agents/execution_record.h"

namespace filibuster {

// "http", "grpc", "redis", as configurations and documents say it; and back, nullopt of any other.
std::string_view protocol_name(Protocol protocol);
std::optional<Protocol> parse_protocol(std::string_view name);

// What of a target names the call: of HTTP all but its query. A key of Redis has none, and may hold
// a '?'.
std::string path_of(std::string_view target, Protocol protocol);
inline std::string path_of(const RpcRecord& rpc) { return path_of(rpc.target, rpc.protocol()); }

// "GET /movies/1"; of a gRPC call (`target` is its path) "shop.CartService/GetCart"; of a command to
// Redis "GET user:*", "PING".
std::string call_name(std::string_view method, std::string_view target, Protocol protocol);
inline std::string call_name(const RpcRecord& rpc, std::string_view target) {
  return call_name(rpc.method, target, rpc.protocol());
}
// The same of a gRPC call, "" of any other.
std::string grpc_name(std::string_view method, std::string_view target, Protocol protocol);
inline std::string grpc_name(const RpcRecord& rpc) {
  return grpc_name(rpc.method, rpc.target, rpc.protocol());
}

// The code of an answer that is a failure, and what it is a code of: {kHttp, "503"},
// {kGrpc, "UNAVAILABLE"}, {kRedis, "LOADING"}; {kNone, ""} of any other.
struct AnswerCode {
  CodeSpace space = CodeSpace::kNone;
  std::string text;
};
AnswerCode code_of(const RpcRecord& rpc);
// "http", "grpc", "redis"; "" of kNone.
std::string_view code_space_name(CodeSpace space);

// "OK", "UNAVAILABLE"; "" of what is no answer of gRPC.
std::string_view grpc_status_name(const RpcRecord& rpc);
// "REFUSED_STREAM"; "error 77" where RFC 9113 §7 has no name for it; "" where no stream was reset.
std::string stream_error_name(const RpcRecord& rpc);

// "503", "reset", "reset (CANCEL)", "open"; of a gRPC call that was answered the status and its
// message: `UNAVAILABLE "no stock"`; of a command to Redis `LOADING "Redis is loading ..."`, or
// "answered". Credentials in the message are not redacted.
std::string ending_name(const RpcRecord& rpc);

}  // namespace filibuster
