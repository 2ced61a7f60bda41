// The outcome of a faulted stream as frames.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/fault/fault.h"

namespace filibuster {

// The head of the answer of a kStatus fault; with END_STREAM where no body follows (HEAD, 204, 304,
// an empty body). Fields that HTTP/2 forbids (RFC 9113 §8.2.2) or that would break it are left out.
// `size_update`: core/http2/frame_writer.h.
struct AnswerHead {
  std::string frames;
  bool body_follows = false;
};
AnswerHead render_http2_head(const FaultSpec& fault, uint32_t stream, bool head_request,
                             std::optional<uint32_t> size_update);

// The trailers-only answer of a kGrpc fault.
std::string render_grpc_status(const FaultSpec& fault, uint32_t stream,
                               std::optional<uint32_t> size_update);

}  // namespace filibuster
