#include "preload/rpc/request_head.h"

#include "core/grpc/call.h"
#include "core/protocol/events.h"
#include "preload/os/address.h"

namespace filibuster::preload {

constinit SoughtFields g_sought_fields;

namespace {
void take_request_id(std::string_view value, uint8_t row, RequestHead* out) {
  if (row == kNoRequestId) return;
  const RequestIdTable& known = g_sought_fields.request_ids;
  out->request_id_name = known.name(row);
  out->request_id_with_path = known.with_path(row);
  out->request_id = combine(hash_text(out->request_id_name), hash_text(value));
}
}  // namespace

RequestHead request_head(const http1::MessageHead& head) {
  RequestHead out;
  out.method = head.method;
  out.target = head.target;
  out.target_truncated = head.target_truncated;
  out.host = head.host;
  out.filibuster = head.filibuster;
  take_request_id(head.request_id, head.request_id_row, &out);
  out.told = head.told;
  out.has_body = head.chunked || (head.has_content_length && head.content_length > 0);
  out.body_size = head.has_content_length ? head.content_length : 0;
  return out;
}

RequestHead request_head(const http2::MessageHead& head, bool end_stream) {
  RequestHead out;
  out.method = head.method;
  out.target = head.path;
  out.target_truncated = head.path_truncated;
  // "[::1]" has no port to cut off.
  out.host = head.authority.ends_with(']') ? head.authority : without_port(head.authority);
  out.filibuster = head.filibuster;
  take_request_id(head.request_id, head.request_id_row, &out);
  out.told = head.told;
  out.was_attempted = head.was_attempted;
  out.has_body = !end_stream;
  out.body_size = head.has_content_length ? head.content_length : 0;
  out.http2 = true;
  if (grpc::is_grpc(head.content_type) && grpc::split_path(head.path).has_value())
    out.protocol = Protocol::kGrpc;
  return out;
}

uint16_t protocol_flags(const RequestHead& head) {
  uint16_t flags = head.http2 ? kRpcHttp2 : 0;
  if (head.was_attempted) flags |= kRpcWasAttempted;
  if (head.protocol == Protocol::kGrpc) flags |= kRpcGrpc;
  if (head.protocol == Protocol::kRedis) flags |= kRpcRedis;
  if (head.protocol == Protocol::kSealed) flags |= kRpcSealed;
  return flags;
}

}  // namespace filibuster::preload
