// What an RPC asks for, and how it ended, as people say it.
#pragma once

#include <string>
#include <string_view>

#include "daemon/agents/execution_record.h"

namespace filibuster {

// "GET /movies/1"; of a gRPC call (`target` is its path) "shop.CartService/GetCart".
std::string call_name(std::string_view method, std::string_view target, bool grpc);
inline std::string call_name(const RpcRecord& rpc, std::string_view target) {
  return call_name(rpc.method, target, rpc.is_grpc());
}

// "OK", "UNAVAILABLE"; "" of what is no answer of gRPC.
std::string_view grpc_status_name(const RpcRecord& rpc);
// "REFUSED_STREAM"; "error 77" where RFC 9113 §7 has no name for it; "" where no stream was reset.
std::string stream_error_name(const RpcRecord& rpc);

// "503", "reset", "reset (CANCEL)", "open"; of a gRPC call that was answered the status and its
// message: `UNAVAILABLE "no stock"`. Credentials in the message are not redacted.
std::string ending_name(const RpcRecord& rpc);

}  // namespace filibuster
