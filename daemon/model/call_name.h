// What an RPC asks for, and how it ended, as people say it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/model/execution_record.h"

namespace filibuster {

// The name of a protocol in configurations and documents: "http", "grpc", "redis". parse_protocol
// gives the protocol of a name; nullopt: no protocol has that name.
std::string_view protocol_name(Protocol protocol);
std::optional<Protocol> parse_protocol(std::string_view name);

// The part of a target that names the call: an HTTP target without its query. A pattern of Redis keys
// stays as it is, since it has no query and may hold a '?'.
std::string path_of(std::string_view target, Protocol protocol);
inline std::string path_of(const RpcRecord& rpc) {
  return path_of(rpc.target, rpc.protocol());
}

// "GET /movies/1"; of a gRPC call (`target` is its path) "shop.CartService/GetCart"; of a command to
// Redis "GET user:*", "PING".
std::string call_name(std::string_view method, std::string_view target, Protocol protocol);
inline std::string call_name(const RpcRecord& rpc, std::string_view target) {
  return call_name(rpc.method, target, rpc.protocol());
}
// call_name() of a gRPC call; "" for other protocols.
std::string grpc_name(std::string_view method, std::string_view target, Protocol protocol);
inline std::string grpc_name(const RpcRecord& rpc) {
  return grpc_name(rpc.method, rpc.target, rpc.protocol());
}

// The code of an answer that is a failure, and what it is a code of: {kHttp, "503"},
// {kGrpc, "UNAVAILABLE"}, {kRedis, "LOADING"}; {kNone, ""} for every other answer, and for none.
struct AnswerCode {
  CodeSpace space = CodeSpace::kNone;
  std::string text;
};
AnswerCode code_of(const RpcRecord& rpc);
// "http", "grpc", "redis"; "" of kNone.
std::string_view code_space_name(CodeSpace space);

// "OK", "UNAVAILABLE"; "" where no gRPC status came.
std::string_view grpc_status_name(const RpcRecord& rpc);
// "REFUSED_STREAM"; "error 77" where RFC 9113 §7 has no name for it; "" where no stream was reset.
std::string stream_error_name(const RpcRecord& rpc);

// "503", "reset", "reset (CANCEL)", "open"; of a gRPC call that was answered the status and its
// message: `UNAVAILABLE "no stock"`; of a command to Redis `LOADING "Redis is loading ..."`, or
// "answered". Credentials in the message are not redacted.
std::string ending_name(const RpcRecord& rpc);

}  // namespace filibuster
