#include "daemon/relay/answer.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/grpc/response.h"
#include "core/http2/frame_writer.h"

namespace filibuster {
namespace {

using http2::Output;

// Every reader takes frames of this size (RFC 9113 §4.2), so that its own limit need not be known.
constexpr uint32_t kFrame = http2::kDefaultMaxFrameSize;

// Fields of one hop in HTTP/1.1, and fields of which the frames themselves say the content.
constexpr std::array<std::string_view, 8> kForbidden = {
    "connection", "content-length",   "host",    "keep-alive",
    "te",         "proxy-connection", "upgrade", "transfer-encoding"};

// The name in lower case (RFC 9113 §8.2.1). Empty: the field is not to be sent.
std::string field_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == ':') return {};
  }
  return std::find(kForbidden.begin(), kForbidden.end(), out) == kForbidden.end() ? out
                                                                                  : std::string();
}

// Trims white space around the value. False: it has a line break or a NUL (RFC 9113 §8.2.1).
bool field_value(std::string_view* value) {
  while (!value->empty() && (value->front() == ' ' || value->front() == '\t')) {
    value->remove_prefix(1);
  }
  while (!value->empty() && (value->back() == ' ' || value->back() == '\t')) {
    value->remove_suffix(1);
  }
  return value->find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

}  // namespace

AnswerHead render_http2_head(const FaultSpec& fault, uint32_t stream, bool head_request,
                             std::optional<uint32_t> size_update) {
  const bool bodyless = fault.status == 204 || fault.status == 304;
  size_t room = 256;
  for (const auto& [name, value] : fault.headers) room += name.size() + value.size() + 16;
  std::string memory(room, '\0');
  Output block(memory.data(), memory.size());
  char digits[20];
  http2::write_literal(":status", http2::to_decimal(fault.status, digits), block);
  // RFC 9110 §8.6: never in a 204.
  if (fault.status != 204) {
    http2::write_literal("content-length", http2::to_decimal(fault.body.size(), digits), block);
  }
  for (const auto& [raw_name, raw_value] : fault.headers) {
    const std::string name = field_name(raw_name);
    std::string_view value = raw_value;
    if (!name.empty() && field_value(&value)) http2::write_literal(name, value, block);
  }

  AnswerHead head;
  head.body_follows = !head_request && !bodyless && !fault.body.empty();
  head.frames = render_block(block.view(), stream, !head.body_follows, size_update);
  return head;
}

std::string render_block(std::string_view literals, uint32_t stream, bool end_stream,
                         std::optional<uint32_t> size_update) {
  constexpr size_t kSizeUpdate = 8;  // bytes, at most
  std::string memory(kSizeUpdate + literals.size(), '\0');
  Output block(memory.data(), memory.size());
  if (size_update) http2::write_size_update(*size_update, block);
  block.append(literals);
  std::string bytes(block.size() + (block.size() / kFrame + 2) * http2::kFrameHeaderSize, '\0');
  Output frames(bytes.data(), bytes.size());
  http2::write_headers({stream, end_stream, nullptr, 0}, block.view(), kFrame, frames);
  bytes.resize(frames.size());
  return bytes;
}

std::string render_grpc_status(const FaultSpec& fault, uint32_t stream, bool only_trailers,
                               std::optional<uint32_t> size_update) {
  // kMaxGrpcMessage and kMaxGrpcDetails keep the frames within this size.
  std::string bytes(grpc::kMaxStatusBlock + 2 * http2::kFrameHeaderSize, '\0');
  // A person who meets the fault in a log of the application shall know where it comes from.
  const std::string by_default = std::string(grpc::to_name(fault.code)) + " injected by Filibuster";
  grpc::Status status{fault.code, fault.message.empty() ? by_default : fault.message,
                      fault.details};
  for (;;) {
    Output out(bytes.data(), bytes.size());
    grpc::write_status(stream, status, only_trailers, size_update, kFrame, out);
    if (out.ok()) {
      bytes.resize(out.size());
      return bytes;
    }
    // No configuration makes such a fault. At least its code is sent.
    status = {fault.code, {}, {}};
  }
}

}  // namespace filibuster
