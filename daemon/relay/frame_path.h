// One direction of a relayed connection: cuts its bytes into frames, of which each passes, is
// dropped, or is held until it is whole (a header block with all its CONTINUATION frames). What the
// frames say is read by the parser on the way; everything that passes is passed on unchanged.
//
// The parser begins in the middle of a connection: it is given a preface and a SETTINGS frame that
// nobody sent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/http2/frame_parser.h"
#include "daemon/relay/byte_queue.h"

namespace filibuster {

class FramePath : protected http2::FrameHandler {
 public:
  FramePath(http2::Direction direction, ByteQueue* out) : out_(out), parser_(direction, this) {}
  FramePath(const FramePath&) = delete;
  FramePath& operator=(const FramePath&) = delete;

  // After lost() said no, nothing is read any more.
  void feed(std::string_view bytes);

  // True: frames of ours may be placed in `out` now, because no frame is half passed. (What is held or
  // dropped does not matter. Whether the other end has sent its first SETTINGS is the caller's to know.)
  bool at_boundary() const {
    const bool inside = in_frame_ || block_open_;
    return !half_ && !opaque_ && !stopped_ && raw_left_ == 0 &&
           !(action_ == Action::kPass && inside);
  }
  // True: nothing is parsed any more, and everything passes.
  bool opaque() const { return opaque_; }

 protected:
  ~FramePath() = default;
  enum class Action : uint8_t { kPass, kDrop, kHold };

  // The header of a frame came. Not asked for CONTINUATION, which goes where its HEADERS went.
  virtual Action begin(const http2::FrameHeader& frame) = 0;
  // A frame that is held is whole; `bytes` has its header, too. A header block is told once: with the
  // header of its first frame, and with the bytes of all its frames.
  virtual void take(const http2::FrameHeader& frame, std::string_view bytes) = 0;
  // A frame ended, whatever became of it.
  virtual void ended() = 0;
  // The bytes are not HTTP/2, or beyond what is followed. True: they pass unseen from now on.
  virtual bool lost(http2::Error error) = 0;

  // The connection's past: frames (and the preface) for the parser only. `raw`: bytes that pass
  // before the first frame begins. `half`: what was passed already of the first frame, or header
  // block, which passes whatever begin() says. False: `half` is more than a part of one, or `raw` is
  // given, too.
  bool resume(std::string_view past, uint64_t raw, std::string_view half);
  Action action() const { return action_; }
  http2::FrameParser& parser() { return parser_; }
  ByteQueue* out() { return out_; }

 private:
  void on_frame(const http2::FrameHeader& frame, uint64_t start) final;
  void read(std::string_view piece);
  void pass(std::string_view piece);
  void end_frame();

  ByteQueue* const out_;
  http2::FrameParser parser_;
  uint64_t raw_left_ = 0;
  bool resuming_ = false;
  bool half_ = false;  // in the first frame, or block, of which a part was passed already
  size_t passed_ = 0;  // bytes of that part that have not been read here
  bool opaque_ = false;
  bool stopped_ = false;

  char header_[http2::kFrameHeaderSize];
  size_t have_ = 0;  // bytes of header_ that have come
  bool in_frame_ = false;
  bool block_open_ = false;  // HEADERS ended without END_HEADERS
  http2::FrameHeader frame_;
  http2::FrameHeader first_;  // of the current header block, or of the current frame
  uint64_t left_ = 0;         // bytes of the frame that are still to come
  Action action_ = Action::kPass;
  std::string held_;
};

}  // namespace filibuster
