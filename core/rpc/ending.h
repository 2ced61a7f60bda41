// How an RPC ended, as its caller saw it, and whether that is a failure: decided here and nowhere else.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/rpc/protocol.h"

namespace filibuster {

enum class RpcOutcome : uint8_t {
  kAnswered = 1,  // status is set
  kRefused,       // connect failed
  kReset,         // ECONNRESET, EPIPE; a stream of HTTP/2 that was reset
  kClosed,        // EOF before the answer was complete
  kTimedOut,      // the caller gave up: closed its side with no answer
  kGarbled,       // what came is no answer in the protocol of the RPC
  // The caller read the head of an answer, did not wait for the rest, and closed its side: `status` is that of
  // the head.
  kNotRead,
};
std::string_view outcome_name(RpcOutcome outcome);

// RpcEnding::grpc_status where no gRPC status came.
inline constexpr uint8_t kNoGrpcStatus = 0xff;

struct RpcEnding {
  RpcOutcome outcome = RpcOutcome::kAnswered;
  uint16_t status = 0;                  // of HTTP
  uint8_t grpc_status = kNoGrpcStatus;  // grpc::Code, as the caller reads it
  // Of an answer whose code is a word: which codes the word belongs to. kNone: it has no such code.
  CodeSpace code_space = CodeSpace::kNone;

  // The caller knows how the RPC was answered, and has read the answer or left it.
  bool is_answer() const {
    return outcome == RpcOutcome::kAnswered || outcome == RpcOutcome::kNotRead;
  }
  // An answer that says in its protocol that the call has failed. A gRPC call without a status has failed: its
  // client gets an error code.
  bool is_error(Protocol protocol) const {
    return is_answer() && (status >= 400 || (protocol == Protocol::kGrpc && grpc_status != 0) ||
                           code_space == CodeSpace::kRedis);
  }
  bool failed(Protocol protocol) const { return !is_answer() || is_error(protocol); }
};

}  // namespace filibuster
