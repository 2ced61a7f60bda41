// What a message reader told its handler. Shared by the unit tests and the fuzz target.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/grpc/message_reader.h"

namespace filibuster::grpc {

struct TracedMessage {
  uint64_t index = 0;
  bool compressed = false;
  uint32_t size = 0;
  uint64_t offset = 0;
  std::string bytes;
  bool complete = false;
  bool operator==(const TracedMessage&) const = default;
};

class MessageTracer final : public MessageHandler {
 public:
  bool feed(std::string_view bytes) {
    const std::vector<char> copy(bytes.begin(), bytes.end());
    return reader.feed(copy.data(), copy.size(), this);
  }
  void on_message(const MessageInfo& m) override {
    messages.push_back({m.index, m.compressed, m.size, m.offset, "", false});
  }
  void on_message_bytes(const MessageInfo&, const char* data, size_t size) override {
    messages.back().bytes.append(data, size);
  }
  void on_message_end(const MessageInfo&) override { messages.back().complete = true; }

  MessageReader reader;
  std::vector<TracedMessage> messages;
};

}  // namespace filibuster::grpc
