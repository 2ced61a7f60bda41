// What an RPC speaks, and what an answer's code is a code of. Names, faults and reports depend on these
// two; nothing else in an RPC depends on its protocol.
#pragma once

#include <cstdint>

namespace filibuster {

enum class Protocol : uint8_t {
  kHttp,   // 1.1 or 2: method, target, status
  kGrpc,   // the target is /package.Service/Method
  kRedis,  // RESP: the method is the command, the target the pattern of its first key
  // TLS that nobody decrypts: the method is TLS, and the target is empty; or those of HTTP where they are seen in the
  // program (AttachedCall)
  kSealed,
};

// Which codes the code of an answer is one of.
enum class CodeSpace : uint8_t {
  kNone = 0,   // it has none: no answer came, or its protocol has no code for a success
  kHttp = 1,   // RFC 9110 §15
  kGrpc = 2,   // grpc::Code
  kRedis = 3,  // the first word of an error reply: LOADING
};

}  // namespace filibuster
