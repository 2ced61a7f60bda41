// Answers to a gRPC call that no server gave, as frames. Where they may stand: frame_writer.h.
//
// No frame ends the connection, and nothing follows the trailers of a stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/grpc/call.h"
#include "core/http2/frame_writer.h"

namespace filibuster::grpc {

// Bound on the header block of one answer; a longer message or details make `out` fail.
inline constexpr size_t kMaxStatusBlock = 8192;

struct Status {
  Code code = Code::kUnavailable;
  std::string_view message;  // UTF-8, as the application shall read it
  std::string_view details;  // a serialized google.rpc.Status (grpc-status-details-bin), or empty
};

// Ends the stream. `only_trailers`: no head was sent before, not even the server's. `size_update`: the block begins with a
// table size update to it (core/http2/header_block.h).
void write_status(uint32_t stream, const Status& status, bool only_trailers,
                  std::optional<uint32_t> size_update, uint32_t max_frame_size, http2::Output& out);

}  // namespace filibuster::grpc
