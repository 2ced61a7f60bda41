// What a parser told its handler, with positions in the stream instead of in the feed: equal traces
// mean that the split into feeds made no difference. Shared by the unit tests and the fuzz target.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/http1/message_parser.h"

namespace filibuster::http1 {

struct TracedHead {
  std::string method, target, host, filibuster, http2_settings;
  bool target_truncated = false, expect_continue = false, has_content_length = false;
  bool chunked = false, keep_alive = false, upgrade_h2c = false;
  uint16_t status = 0;
  uint64_t content_length = 0;
  size_t filibuster_offset = 0, after_start_line = 0, head_size = 0;
  bool operator==(const TracedHead&) const = default;
};

struct TracedMessage {
  TracedHead head;
  size_t head_end = 0;  // in the stream
  std::string body;
  bool complete = false;
  size_t end = 0;  // in the stream
  Hash128 digest;
  uint64_t size = 0;
  bool operator==(const TracedMessage&) const = default;
};

class Tracer final : public Handler {
 public:
  explicit Tracer(Direction direction)
      : parser(direction == Direction::kRequests ? MessageParser(&texts, this)
                                                 : MessageParser(&outstanding, this)) {}

  ParseState feed(std::string_view bytes) {
    // A copy of exactly this size: a read beyond the feed is seen by the address sanitizer.
    const std::vector<char> copy(bytes.begin(), bytes.end());
    const ParseState state = parser.feed(copy.data(), copy.size());
    fed += bytes.size();
    return state;
  }

  void on_head(const MessageHead& h, size_t end) override {
    TracedMessage message;
    message.head = {.method = std::string(h.method),
                    .target = std::string(h.target),
                    .host = std::string(h.host),
                    .filibuster = std::string(h.filibuster),
                    .http2_settings = std::string(h.http2_settings),
                    .target_truncated = h.target_truncated,
                    .expect_continue = h.expect_continue,
                    .has_content_length = h.has_content_length,
                    .chunked = h.chunked,
                    .keep_alive = h.keep_alive,
                    .upgrade_h2c = h.upgrade_h2c,
                    .status = h.status,
                    .content_length = h.content_length,
                    .filibuster_offset = h.filibuster_offset,
                    .after_start_line = h.after_start_line,
                    .head_size = h.head_size};
    message.head_end = fed + end;
    messages.push_back(message);
  }
  void on_body(const char* data, size_t size) override { messages.back().body.append(data, size); }
  void on_complete(size_t end, Hash128 body, uint64_t size) override {
    TracedMessage& message = messages.back();
    message.complete = true;
    message.end = fed + end;
    message.digest = body;
    message.size = size;
  }

  RequestTexts texts;
  Outstanding outstanding;
  MessageParser parser;
  std::vector<TracedMessage> messages;
  size_t fed = 0;
};

}  // namespace filibuster::http1
