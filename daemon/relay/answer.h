// The outcome of a faulted stream as frames.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/fault/fault.h"

namespace filibuster {

// The head of the answer of a kStatus fault; with END_STREAM where no body follows (HEAD, 204, 304,
// an empty body). Fields that HTTP/2 forbids (RFC 9113 §8.2.2) or that would break it are left out.
// `size_update`: as of grpc::write_status.
struct AnswerHead {
  std::string frames;
  bool body_follows = false;
};
AnswerHead render_http2_head(const FaultSpec& fault, uint32_t stream, bool head_request,
                             std::optional<uint32_t> size_update);

// The status of a kGrpc fault. `only_trailers`: no head went before.
std::string render_grpc_status(const FaultSpec& fault, uint32_t stream, bool only_trailers,
                               std::optional<uint32_t> size_update);

// The frames of a header block of literals.
std::string render_block(std::string_view literals, uint32_t stream, bool end_stream,
                         std::optional<uint32_t> size_update);

}  // namespace filibuster
