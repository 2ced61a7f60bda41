#include "core/grpc/response.h"

#include "core/text/base64.h"

namespace filibuster::grpc {

void write_status(uint32_t stream, const Status& status, bool only_trailers,
                  std::optional<uint32_t> size_update, uint32_t max_frame_size,
                  http2::Output& out) {
  char memory[kMaxStatusBlock];
  char text[kMaxStatusBlock];
  http2::Output block(memory, sizeof memory);
  if (size_update) http2::write_size_update(*size_update, block);
  if (only_trailers) {
    http2::write_literal(":status", "200", block);
    http2::write_literal("content-type", "application/grpc", block);
  }
  http2::write_literal("grpc-status", http2::to_decimal(static_cast<uint64_t>(status.code), text),
                       block);
  if (!status.message.empty()) {
    http2::write_literal("grpc-message", {text, encode_message(status.message, text, sizeof text)},
                         block);
  }
  if (!status.details.empty()) {
    // Without padding, as values of fields named -bin are sent.
    const size_t size = encode_base64(status.details, text, sizeof text);
    if (size == SIZE_MAX) {
      out.fail();
      return;
    }
    http2::write_literal("grpc-status-details-bin", {text, size}, block);
  }
  if (!block.ok()) {
    out.fail();
    return;
  }
  http2::write_headers({stream, true, nullptr, 0}, block.view(), max_frame_size, out);
}

}  // namespace filibuster::grpc
