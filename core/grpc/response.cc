#include "core/grpc/response.h"

#include "core/grpc/message_reader.h"
#include "core/text/base64.h"

namespace filibuster::grpc {
namespace {

using http2::Output;

void begin_block(std::optional<uint32_t> size_update, Output& block) {
  if (size_update) http2::write_size_update(*size_update, block);
}

void write_head_fields(Output& block) {
  http2::write_literal(":status", "200", block);
  http2::write_literal("content-type", "application/grpc", block);
}

}  // namespace

void write_head(uint32_t stream, std::optional<uint32_t> size_update, uint32_t max_frame_size,
                Output& out) {
  char memory[128];
  Output block(memory, sizeof memory);
  begin_block(size_update, block);
  write_head_fields(block);
  http2::write_headers({stream, false, nullptr, 0}, block.view(), max_frame_size, out);
}

void write_message(uint32_t stream, std::string_view message, uint32_t max_frame_size,
                   Output& out) {
  char prefix[kPrefixSize];
  write_prefix(false, static_cast<uint32_t>(message.size()), prefix);
  http2::write_data(stream, {prefix, sizeof prefix}, false, max_frame_size, out);
  http2::write_data(stream, message, false, max_frame_size, out);
}

void write_status(uint32_t stream, const Status& status, bool only_trailers,
                  std::optional<uint32_t> size_update, uint32_t max_frame_size, Output& out) {
  char memory[kMaxStatusBlock];
  char text[kMaxStatusBlock];
  Output block(memory, sizeof memory);
  begin_block(size_update, block);
  if (only_trailers) write_head_fields(block);
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
