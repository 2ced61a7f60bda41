// Message boundaries of gRPC in the data of one direction of one stream: each message is a flag
// byte (0, or 1: compressed), four bytes of length and that many bytes, split over DATA frames
// in any way (gRPC over HTTP/2, "Length-Prefixed-Message"). Passive: it keeps five bytes at most, so
// that messages may have any size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace filibuster::grpc {

struct MessageInfo {
  uint64_t index = 0;  // number of the message in its stream, from 0
  bool compressed = false;
  uint32_t size = 0;    // without the prefix
  uint64_t offset = 0;  // of its prefix in the data of this direction
};

// Every function does nothing unless it is overridden.
class MessageHandler {
 public:
  virtual void on_message(const MessageInfo&) {}  // the prefix is complete
  virtual void on_message_bytes(const MessageInfo&, const char*, size_t) {}
  virtual void on_message_end(const MessageInfo&) {}

 protected:
  ~MessageHandler() = default;
};

inline constexpr size_t kPrefixSize = 5;

class MessageReader {
 public:
  // False: not gRPC (a flag other than 0 and 1), for good; nothing more is read.
  bool feed(const char* data, size_t size, MessageHandler* handler);

  bool failed() const { return failed_; }
  // At the end of the stream: was nothing cut short?
  bool between_messages() const { return !failed_ && have_ == 0; }
  uint64_t messages() const { return complete_; }  // complete ones

 private:
  uint64_t position_ = 0;
  uint64_t complete_ = 0;
  MessageInfo current_;
  uint32_t left_ = 0;  // bytes to come of the current message
  // Bytes of the prefix that came; it stays at kPrefixSize until the message ends.
  uint8_t have_ = 0;
  bool failed_ = false;
  char prefix_[kPrefixSize] = {};
};

// Writes kPrefixSize bytes.
void write_prefix(bool compressed, uint32_t size, char* out);

}  // namespace filibuster::grpc
