// What the agent needs of a request's head, of any protocol.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/http1/message_parser.h"
#include "core/http2/message_head.h"
#include "core/rpc/protocol.h"
#include "core/rpc/request_ids.h"
#include "core/rpc/told_fields.h"

namespace filibuster::preload {

// The views point into the head that it was made from.
struct RequestHead {
  std::string_view method;
  std::string_view target;  // as sent: ":path" of HTTP/2
  bool target_truncated = false;
  std::string_view host;        // without the port, "[::1]" with brackets
  std::string_view filibuster;  // value of our field; empty: there is none
  bool has_body = false;        // a body follows the head
  uint64_t body_size = 0;       // as far as it is known; 0: none, or not said
  bool http2 = false;
  // The request's id, hashed with the name of its field, and that name; zero: it carries none that is known.
  Hash128 request_id;
  std::string_view request_id_name;
  bool request_id_with_path = false;  // it names a call together with the method and the path only
  bool was_attempted = false;         // kGrpcPreviousAttempts
  std::string_view told;              // core/rpc/told_fields.h
  Protocol protocol = Protocol::kHttp;
  bool is_grpc() const { return protocol == Protocol::kGrpc; }
};
// The fields that this process looks for: the built-in ones, and those of the sessions that it has followed.
extern SoughtFields g_sought_fields;

// The RpcFlags that tell the protocol.
uint16_t protocol_flags(const RequestHead& head);

RequestHead request_head(const http1::MessageHead& head);
// `end_stream`: no body follows.
RequestHead request_head(const http2::MessageHead& head, bool end_stream);

}  // namespace filibuster::preload
