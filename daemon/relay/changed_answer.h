// The server's own answer to a faulted stream on its way to the client, changed, delayed or cut as
// its fault says (changes_answer). It knows no windows: the parts wait until the relay may send them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/fault/fault.h"
#include "core/grpc/message_reader.h"
#include "core/http2/header_block.h"

namespace filibuster {

struct AnswerPart {
  enum class Kind : uint8_t {
    kBlock,   // `bytes`: literals
    kData,    // `bytes`
    kReset,   // `error`
    kStatus,  // trailers with the status of the fault
  };
  Kind kind = Kind::kData;
  bool end = false;  // of the stream; for kBlock and kData
  http2::ErrorCode error = http2::ErrorCode::kNoError;
  uint64_t due_ns = 0;  // not to be sent before
  std::string bytes;
};

class ChangedAnswer final : grpc::MessageHandler {
 public:
  // kNone: the answer is kept as it is, up to kMostHeld bytes of data.
  static constexpr uint64_t kMostHeld = 1u << 20;
  explicit ChangedAnswer(const FaultSpec& fault);

  // A header block: its fields, then whether the stream ends with it.
  void field(const http2::Field& field);
  void end_block(bool end, uint64_t now_ns);
  void data(std::string_view bytes, uint64_t now_ns);
  void end(uint64_t now_ns);  // END_STREAM of a frame of DATA
  void reset(http2::ErrorCode error, uint64_t now_ns);

  // What is to be sent, in order. The relay takes away the first part, or the front of its bytes.
  std::deque<AnswerPart>& parts() { return parts_; }
  const std::deque<AnswerPart>& parts() const { return parts_; }
  // Bytes of data that ever became parts.
  uint64_t kept() const { return kept_; }
  // Is what came an error: a status of 400 or above, a grpc-status that is none of success, a reset? An answer of
  // which more came than is kept is none.
  bool is_error() const { return error_ && kept_ <= kMostHeld; }
  // Why the fault did not come about, up to now; empty: it did.
  std::string unmet() const;

 private:
  void on_message(const grpc::MessageInfo& info) override;
  void on_message_bytes(const grpc::MessageInfo& info, const char* data, size_t size) override;
  void on_message_end(const grpc::MessageInfo& info) override;
  AnswerPart& add(AnswerPart::Kind kind);
  void add_data(std::string_view bytes);
  void cut(AnswerPart::Kind kind, http2::ErrorCode error);
  uint64_t due();

  const FaultSpec fault_;
  const bool reads_messages_;
  grpc::MessageReader reader_;
  uint64_t messages_ = 0;   // complete ones
  uint64_t half_left_ = 0;  // bytes of a partial message that are still to be sent
  uint64_t now_ns_ = 0;
  uint64_t release_ns_ = 0;  // when the delayed parts may leave; 0: nothing was delayed yet
  uint64_t kept_ = 0;
  bool head_seen_ = false;
  bool ended_ = false;  // nothing more is taken
  bool applied_ = false;
  bool error_ = false;
  bool garbled_ = false;  // the data are no messages of gRPC
  bool interim_ = false;  // the block that comes is a 1xx
  std::string literals_;  // of that block
  std::deque<AnswerPart> parts_;
};

}  // namespace filibuster
