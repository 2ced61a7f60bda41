// A passive HTTP/2 frame reader for one direction of one connection (RFC 9113 §4 to §6).
//
// Feed it the bytes of the stream in any split; it calls the handler with positions in the stream
// (bytes from its first one, which is position 0). It never guesses: after an error nothing is
// parsed any more. It never allocates and buffers nothing but a few bytes of frame headers: header
// blocks and data go to the handler in the pieces they came in. What it reports does not depend on
// the split, but for the number of those pieces.
//
// The order of calls for one frame:
//   on_frame, then by type
//     HEADERS, PUSH_PROMISE     on_block, on_block_bytes*; with END_HEADERS on_block_end
//     CONTINUATION              on_block_bytes*; with END_HEADERS on_block_end
//     DATA                      on_data*, on_data_end
//     the others                one call each, none for PRIORITY and unknown types
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/http2/frame.h"

namespace filibuster::http2 {

// Where a whole header block stands: HEADERS (or PUSH_PROMISE) and its CONTINUATION frames.
struct HeaderBlock {
  uint32_t stream = 0;
  uint32_t promised = 0;    // PUSH_PROMISE: the stream it opens; else 0
  bool end_stream = false;  // the flag of HEADERS
  bool has_priority = false;
  char priority[kPriorityFieldSize] = {};  // as sent, with has_priority
  uint64_t start = 0;                      // of the first frame's header
  uint64_t end = 0;                        // after the last frame
  uint32_t frames = 0;
  // The last frame, the one with END_HEADERS (it may be the first).
  FrameHeader last;
  uint64_t last_start = 0;    // of its header
  uint64_t fragment_end = 0;  // after its last byte of the block; its padding follows
};

// A SETTINGS frame's effect.
struct SettingsFrame {
  Settings now;  // all that this end has asked for, this frame included
  bool changes_table_size = false;
  uint32_t smallest_table_size = 0;  // within this frame, with changes_table_size (RFC 7541 §4.2)
};

// Every function does nothing unless it is overridden.
class FrameHandler {
 public:
  virtual void on_frame(const FrameHeader&, uint64_t /*start*/) {}
  // Everything in the block is known but its end.
  virtual void on_block(const HeaderBlock&) {}
  virtual void on_block_bytes(const char*, size_t) {}
  virtual void on_block_end(const HeaderBlock&) {}
  virtual void on_data(uint32_t /*stream*/, const char*, size_t) {}
  // `flow_controlled`: the payload with its padding (§6.9.1).
  virtual void on_data_end(uint32_t /*stream*/, uint32_t /*flow_controlled*/, bool /*end*/) {}
  virtual void on_reset(uint32_t /*stream*/, uint32_t /*error_code*/) {}
  virtual void on_settings(const SettingsFrame&) {}
  virtual void on_settings_ack() {}
  virtual void on_ping(bool /*ack*/, const char* /*8 bytes*/) {}
  virtual void on_goaway(uint32_t /*last_stream*/, uint32_t /*error_code*/) {}
  virtual void on_window_update(uint32_t /*stream*/, uint32_t /*increment*/) {}
  // RFC 9113 calls it an error of this stream only: its reader answers with RST_STREAM.
  virtual void on_stream_error(uint32_t /*stream*/, Error) {}

 protected:
  ~FrameHandler() = default;
};

// Bounds of ours: a block beyond them ends the parsing (kHeaderBlockTooLarge, ...).
// Bytes of one block on the wire, compressed.
inline constexpr uint32_t kMaxHeaderBlock = 64 * 1024;
inline constexpr uint32_t kMaxBlockFrames = 64;  // HEADERS and its CONTINUATION frames

class FrameParser {
 public:
  // `handler` outlives the parser. From the client's side the preface is demanded first.
  FrameParser(Direction direction, FrameHandler* handler);
  FrameParser(const FrameParser&) = delete;
  FrameParser& operator=(const FrameParser&) = delete;

  // Consumes all of it unless there is an error. Returns the error, kNone as a rule.
  Error feed(const char* data, size_t size);
  // To be called in a callback, or from outside: nothing more is parsed.
  void fail(Error error);
  // Data bytes that went by unseen (sendfile): at most what is left of a DATA frame. Returns the
  // error; on_data is not called for them.
  Error skip_data(uint64_t size);

  // The reader of this direction allows frames of this size (its SETTINGS_MAX_FRAME_SIZE). Values
  // only grow: what is in flight may still follow the larger one.
  void allow_frame_size(uint32_t size);
  // The settings that were sent outside of a frame (HTTP2-Settings of an upgrade, §3.2.1 of
  // RFC 7540): `payload` as that of a SETTINGS frame. Before the first feed. False: malformed.
  bool preset_settings(const char* payload, size_t size);

  Error error() const { return error_; }
  uint64_t position() const { return position_; }  // bytes fed
  // Between two frames, outside of a header block, after the first SETTINGS: frames of others may
  // be placed here.
  bool at_boundary() const {
    return settings_seen_ && step_ == Step::kHeader && have_ == 0 && block_.stream == 0;
  }
  // The first byte that must not leave yet, so that a header block can still be changed or taken
  // away when it is complete: the start of a block (or of an unfinished frame header), else
  // position(). At most kMaxHeaderBlock and kMaxBlockFrames frame headers lie in between.
  uint64_t hold_from() const;
  // The frame that is half read: its header is complete, and bytes_left() of it are to come. nullptr:
  // none.
  const FrameHeader* unfinished_frame() const { return bytes_left() == 0 ? nullptr : &frame_; }
  uint64_t bytes_left() const {
    if (step_ == Step::kPreface || step_ == Step::kHeader) return 0;
    return frame_start_ + frame_.size() - position_;
  }
  const Settings& settings() const { return settings_.now; }

 private:
  enum class Step : uint8_t {
    kPreface,
    kHeader,     // the 9 bytes
    kPadLength,  // 1 byte
    kFixed,      // fixed_ bytes, kept in scratch_
    kContent,    // fragment or data
    kSkip,       // padding, what is not looked at
  };

  void begin_frame();
  Error check_frame() const;
  void begin_block();
  void after_pad_length(uint8_t pad);
  void take_fixed();
  void take_setting(const char* entry);
  void move_on();  // over the steps that need no byte
  void end_frame();

  FrameHandler* handler_;
  uint64_t position_ = 0;
  const Direction direction_;
  Step step_;
  Error error_ = Error::kNone;
  uint8_t have_ = 0;   // bytes in scratch_, or of the preface
  uint8_t fixed_ = 0;  // bytes wanted in scratch_
  bool settings_seen_ = false;
  bool block_open_ = false;  // HEADERS without END_HEADERS came: only CONTINUATION may follow
  char scratch_[kFrameHeaderSize];

  FrameHeader frame_;  // the current one
  uint64_t frame_start_ = 0;
  uint32_t content_ = 0;  // bytes left of fragment or data
  uint32_t skip_ = 0;     // bytes left to skip after them
  uint32_t max_frame_size_ = kDefaultMaxFrameSize;
  uint32_t block_bytes_ = 0;
  HeaderBlock block_;  // stream 0: none
  SettingsFrame settings_;
};

}  // namespace filibuster::http2
