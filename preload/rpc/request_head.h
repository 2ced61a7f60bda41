// What the agent needs of a request's head, of either protocol.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/http1/message_parser.h"
#include "core/http2/message_head.h"

namespace filibuster::preload {

// The views are those of the head it was made from.
struct RequestHead {
  std::string_view method;
  std::string_view target;  // as sent: ":path" of HTTP/2
  bool target_truncated = false;
  std::string_view host;        // without the port, "[::1]" with brackets
  std::string_view filibuster;  // value of our field; empty: there is none
  bool has_body = false;        // one follows the head
  uint64_t body_size = 0;       // as far as it is known; 0: none, or not said
  bool http2 = false;
  bool grpc = false;  // `target` is /package.Service/Method
};

RequestHead request_head(const http1::MessageHead& head);
// `end_stream`: no body follows.
RequestHead request_head(const http2::MessageHead& head, bool end_stream);

}  // namespace filibuster::preload
