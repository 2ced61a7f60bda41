// Finds where the frames of a client begin, for a reader that joins in the middle and knows nothing of
// what went before (retirement.h).
//
//   FrameWalk         from one frame header to the next
//   BoundarySearch    which walk is the right one
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "core/http2/frame.h"
#include "core/pieces.h"

namespace filibuster::http2 {

// Goes from frame header to frame header of what a client sends, and reads nothing else. Since it begins
// in the middle, only what looks like the frames of RFC 9113 §6 and RFC 9218 is taken for frames.
class FrameWalk {
 public:
  // False: these are no frames of a client; nothing is known any more.
  bool feed(const char* data, size_t size);
  bool feed(Pieces pieces, size_t size);

  bool valid() const { return valid_; }
  // Another frame may be placed here (not inside a header block, §4.3).
  bool at_boundary() const { return valid_ && have_ == 0 && left_ == 0 && !in_block_; }
  // How many frame headers were read.
  uint64_t frames() const { return frames_; }
  // How many of them were requests: HEADERS of a stream above all streams before.
  uint64_t opened() const { return opened_; }
  // The walk is certainly right: from now on frames of unknown types are frames, too (§5.5).
  void trust() { trusted_ = true; }

 private:
  bool begin_frame();

  uint64_t left_ = 0;  // bytes of the frame
  uint64_t frames_ = 0;
  uint64_t opened_ = 0;
  uint32_t highest_ = 0;
  uint32_t block_ = 0;  // its stream
  bool in_block_ = false;
  bool valid_ = true;
  bool trusted_ = false;
  uint8_t have_ = 0;
  char header_[kFrameHeaderSize];
};

// What lies inside a frame may look like a header: the second byte of a DATA frame is the first of
// another one, 256 times as long, of a higher stream (00 00 07 00 00 00 00 00 01 6d). So a walk is
// believed only when it led through several frames, or from one end of a write to the other; and
// beside the first one, another is tried from where a write was accepted as a whole, since what
// comes next then begins where the application's buffer does.
class BoundarySearch {
 public:
  // Before a write: will it begin between two frames for certain, and open a stream?
  bool opens_request(Pieces pieces, size_t offered);
  // After the write, of which `accepted` bytes were accepted. Returns how many requests these opened;
  // where that is not known, at least 1.
  uint64_t sent(Pieces pieces, size_t accepted, size_t offered);
  // Bytes went by unseen.
  void forget() { *this = {}; }

  // It is certain where the frames begin.
  bool found() const { return found_; }

 private:
  void believe(const FrameWalk& walk);

  FrameWalk first_;     // begun at the first write, or after one that was no frame
  FrameWalk other_;     // begun where a write ended, while first_ is not believed
  bool tried_ = false;  // other_ has begun
  bool found_ = false;
  uint64_t counted_ = 0;  // how many of first_.opened() were returned already
};

}  // namespace filibuster::http2
