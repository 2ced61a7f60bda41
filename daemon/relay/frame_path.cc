#include "daemon/relay/frame_path.h"

#include <algorithm>
#include <cstring>

namespace filibuster {

using http2::FrameType;

namespace {
constexpr size_t kKept = 64 * 1024;  // bytes of memory that are kept between two frames
}  // namespace

bool FramePath::resume(std::string_view past, uint64_t raw, std::string_view half) {
  resuming_ = true;
  parser_.feed(past.data(), past.size());
  resuming_ = false;
  // Whoever sends a frame knows what its reader allows; we only pass it.
  parser_.allow_frame_size(http2::kLargestMaxFrameSize);
  if (!half.empty()) {
    half_ = true;
    passed_ = half.size();
    feed(half);
    if (!half_ || raw != 0) return false;
  }
  raw_left_ = raw;
  return true;
}

void FramePath::feed(std::string_view bytes) {
  while (!bytes.empty() && !stopped_) {
    if (opaque_) {
      pass(bytes);
      return;
    }
    if (raw_left_ > 0) {
      const auto size = static_cast<size_t>(std::min<uint64_t>(raw_left_, bytes.size()));
      out_->append(bytes.substr(0, size));
      bytes.remove_prefix(size);
      raw_left_ -= size;
      if (raw_left_ == 0) ended();
      continue;
    }
    if (!in_frame_) {
      const size_t size = std::min(sizeof header_ - have_, bytes.size());
      std::memcpy(header_ + have_, bytes.data(), size);
      bytes.remove_prefix(size);
      have_ += size;
      if (have_ < sizeof header_) return;
      have_ = 0;
      in_frame_ = true;
      frame_ = http2::read_frame_header(header_);
      left_ = frame_.length;
      read({header_, sizeof header_});
    } else {
      const auto size = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
      left_ -= size;
      read(bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    if (left_ == 0 && !opaque_ && !stopped_) end_frame();
  }
}

void FramePath::on_frame(const http2::FrameHeader& frame, uint64_t) {
  if (resuming_ || frame.type == FrameType::kContinuation) return;
  first_ = frame;
  action_ = begin(frame);
  if (half_) action_ = Action::kPass;
}

void FramePath::pass(std::string_view piece) {
  const size_t before = std::min(passed_, piece.size());
  passed_ -= before;
  out_->append(piece.substr(before));
}

void FramePath::read(std::string_view piece) {
  if (const http2::Error error = parser_.feed(piece.data(), piece.size());
      error != http2::Error::kNone) {
    if (!lost(error)) {
      stopped_ = true;
      return;
    }
    opaque_ = true;
    out_->append(held_);
    pass(piece);
    held_ = {};
    return;
  }
  if (action_ == Action::kPass) pass(piece);
  if (action_ == Action::kHold) held_.append(piece);
}

void FramePath::end_frame() {
  in_frame_ = false;
  const bool block = frame_.type == FrameType::kHeaders || frame_.type == FrameType::kPushPromise ||
                     frame_.type == FrameType::kContinuation;
  block_open_ = block && !frame_.has(http2::kFlagEndHeaders);
  if (action_ == Action::kHold && !block_open_) {
    take(first_, held_);
    held_.clear();
    if (held_.capacity() > kKept) held_ = {};
  }
  if (!block_open_) half_ = false;
  ended();
}

}  // namespace filibuster
