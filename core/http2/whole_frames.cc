#include "core/http2/whole_frames.h"

#include <algorithm>
#include <cstring>

#include "core/http2/frame.h"

namespace filibuster::http2 {
namespace {

// Does the header block go on in the next frame? (If another frame comes instead of a CONTINUATION, the
// reader refuses it.)
bool is_continued(const FrameHeader& frame) {
  const bool block = frame.type == FrameType::kHeaders || frame.type == FrameType::kPushPromise ||
                     frame.type == FrameType::kContinuation;
  return block && !frame.has(kFlagEndHeaders);
}

}  // namespace

// Called while nothing is kept: what is whole is given where it stands.
WholeFrames::Step WholeFrames::scan(const char* data, size_t size) {
  if (as_it_comes_) return {.give = size};
  if (data_left_ != 0) {
    const auto give = static_cast<size_t>(std::min<uint64_t>(size, data_left_));
    data_left_ -= give;
    return {.give = give};
  }
  size_t whole = 0;
  size_t at = 0;
  while (size - at >= kFrameHeaderSize) {
    const FrameHeader frame = read_frame_header(data + at);
    const uint64_t left = size - at;
    if (frame.size() > left) {
      if (frame.type != FrameType::kData || at != whole) break;
      data_left_ = frame.size() - left;
      return {.give = size};
    }
    at += static_cast<size_t>(frame.size());
    if (!is_continued(frame)) whole = at;
  }
  return keep(data, whole, size);
}

WholeFrames::Step WholeFrames::keep(const char* data, size_t whole, size_t size) {
  Step step{.give = whole, .kept = size - whole};
  if (step.kept > kMostKept) {
    as_it_comes_ = true;
    return {.give = size};
  }
  // (Where there is nothing to keep, nothing may be written either: it is a page of its own.)
  if (step.kept == 0) return step;
  std::memcpy(kept_, data + whole, step.kept);
  kept_size_ = step.kept;
  frame_ = 0;
  while (kept_size_ - frame_ >= kFrameHeaderSize) {
    const uint64_t wanted = read_frame_header(kept_ + frame_).size();
    if (wanted > kept_size_ - frame_) break;
    frame_ += static_cast<size_t>(wanted);
  }
  return step;
}

// Takes as many bytes as the unfinished frame lacks: first of its header, then of the whole frame.
WholeFrames::Step WholeFrames::complete(const char* data, size_t size) {
  const size_t have = kept_size_ - frame_;
  const bool headless = have < kFrameHeaderSize;
  const uint64_t wanted = headless ? kFrameHeaderSize : read_frame_header(kept_ + frame_).size();
  if (frame_ + wanted > kMostKept) {
    as_it_comes_ = true;
    return {.give = size, .give_kept = true};
  }
  const auto more = static_cast<size_t>(std::min<uint64_t>(size, wanted - have));
  std::memcpy(kept_ + kept_size_, data, more);
  kept_size_ += more;
  if (have + more < wanted) return {.kept = more};
  const FrameHeader frame = read_frame_header(kept_ + frame_);
  Step step{.kept = more};
  if (frame_ == 0 && frame.type == FrameType::kData) {
    data_left_ = frame.length;
    step.give_kept = true;
  } else if (have + more == frame.size()) {
    step.give_kept = !is_continued(frame);
    frame_ = kept_size_;
  }
  return step;
}

bool WholeFrames::skip(uint64_t size) {
  if (as_it_comes_) return true;
  if (size > data_left_) return false;
  data_left_ -= size;
  return true;
}

}  // namespace filibuster::http2
