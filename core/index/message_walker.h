// Reads the messages of a gRPC body (Protocol Buffers) field by field, without a schema: numbers
// stand for names. What body_walker.h does for JSON and forms: a digest without what is masked, and
// the leaves, for whoever compares runs.
//
// A field is a leaf, or a message if its bytes are one from the first to the last and are not a
// text (no byte below 0x20, nor 0x7f): whoever only has the bytes knows no better. Fields that
// occur more than once, and those of all messages of a stream, have one path. Every field of a mask's
// path but the last is read as a message, where it can be. A mask leaves out the value, and the lengths
// of the messages that the value is in; that there is such a field stays in the digest.
//
// Messages are kept until they are complete, in memory of the owner. What is larger, compressed, or
// no message is not readable: then the whole digest stands and nothing is masked. Never allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/grpc/message_reader.h"
#include "core/index/body_walker.h"

namespace filibuster {

inline constexpr size_t kMaxWalkedMessage = 16 * 1024;  // bytes of one message
inline constexpr size_t kMaxMessageDepth = 16;          // messages in messages; deeper is a leaf

class MessageWalker final : grpc::MessageHandler {
 public:
  MessageWalker() = default;  // call begin first
  MessageWalker(const MessageWalker&) = delete;
  MessageWalker& operator=(const MessageWalker&) = delete;

  // `place`: kMessage of a request, kResponse of a response. `masks` null: none. `leaves` null:
  // they are not wanted; it outlives the walk.
  void begin(const RequestMasks* masks, MaskPlace place, LeafSink* leaves);
  // Data of the stream, with gRPC's prefixes.
  void feed(const char* data, size_t size);
  void skip() { readable_ = false; }  // bytes went by unseen

  // The body is complete. Form kMessage, kEmpty or kOther; `digest` is meaningful where `masked`.
  BodyWalker::Outcome finish();

 private:
  void on_message(const grpc::MessageInfo& message) override;
  void on_message_bytes(const grpc::MessageInfo&, const char* data, size_t size) override;
  void on_message_end(const grpc::MessageInfo&) override;

  void walk(const char* at, const char* end, size_t depth, uint32_t masks, bool hidden,
            size_t path_size);
  void add(const char* data, size_t size) { digest_.update(data, size); }

  grpc::MessageReader reader_;
  LeafSink* leaves_ = nullptr;
  bool readable_ = false;
  bool masked_ = false;
  bool leaves_whole_ = true;
  uint32_t field_count_ = 0;
  uint8_t field_depth_[kMaxRequestMasks];
  uint64_t names_[kMaxRequestMasks][kMaxMaskDepth];
  HashStream digest_;
  char path_[kMaxMessageDepth * 11];  // "/" and at most ten digits each
  size_t size_ = 0;
  char message_[kMaxWalkedMessage];
};

}  // namespace filibuster
