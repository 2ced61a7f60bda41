#include "core/http2/frame_walk.h"

#include <algorithm>
#include <cstring>

namespace filibuster::http2 {
namespace {

constexpr auto kPriorityUpdate = static_cast<FrameType>(0x10);  // RFC 9218 §7.1
constexpr size_t kSettingLength = 6;
constexpr uint32_t kMostSettings = 64;

// Number of frames from which a walk is believed. A walk that was begun beside another one needs more: it
// may follow HTTP/2 that an application carries in its DATA.
constexpr uint64_t kChain = 3;
constexpr uint64_t kOtherChain = 8;

bool only(const FrameHeader& h, uint8_t flags) {
  return (h.flags & ~flags) == 0;
}

// Could a client have sent it (RFC 9113 §6)? Flags without a meaning are unset (§4.1).
bool is_of_a_client(const FrameHeader& h, bool first) {
  const bool request = h.stream % 2 != 0;
  switch (h.type) {
    case FrameType::kData:
      return request && only(h, kFlagEndStream | kFlagPadded) &&
             h.length >= (h.has(kFlagPadded) ? 1u : 0u);
    case FrameType::kHeaders:
      // At least one field.
      return request && only(h, kFlagEndStream | kFlagEndHeaders | kFlagPadded | kFlagPriority) &&
             h.length >= 1 + (h.has(kFlagPadded) ? 1u : 0u) +
                             (h.has(kFlagPriority) ? uint32_t{kPriorityFieldSize} : 0u);
    case FrameType::kPriority:
      return h.stream != 0 && h.length == kPriorityFieldSize && only(h, 0);
    case FrameType::kRstStream:
      return h.stream != 0 && h.length == 4 && only(h, 0);
    case FrameType::kSettings:
      return h.stream == 0 && only(h, kFlagAck) && h.length % kSettingLength == 0 &&
             h.length <= (h.has(kFlagAck) ? 0 : kMostSettings * kSettingLength);
    case FrameType::kPushPromise:
      return false;
    case FrameType::kPing:
      return h.stream == 0 && h.length == 8 && only(h, kFlagAck);
    case FrameType::kGoaway:
      return h.stream == 0 && h.length >= 8 && h.length <= kDefaultMaxFrameSize && only(h, 0);
    case FrameType::kWindowUpdate:
      return h.length == 4 && only(h, 0);
    case FrameType::kContinuation:
      return !first && request && only(h, kFlagEndHeaders);
    default:
      return h.type == kPriorityUpdate && h.stream == 0 && h.length >= 4 &&
             h.length <= kDefaultMaxFrameSize && only(h, 0);
  }
}

}  // namespace

// --- FrameWalk -----------------------------------------------------------------------------------

bool FrameWalk::begin_frame() {
  const FrameHeader h = read_frame_header(header_);
  const bool reserved = (header_[5] & 0x80) != 0;
  const bool known = h.type <= FrameType::kContinuation || h.type == kPriorityUpdate;
  if (!(trusted_ && !known) && (reserved || !is_of_a_client(h, frames_ == 0))) return false;
  const bool continues = h.type == FrameType::kContinuation;
  if (continues != in_block_ || (continues && h.stream != block_)) return false;
  if (h.type == FrameType::kHeaders || continues) {
    in_block_ = !h.has(kFlagEndHeaders);
    block_ = h.stream;
  }
  if (h.type == FrameType::kHeaders && h.stream > highest_) {
    highest_ = h.stream;
    ++opened_;
  }
  ++frames_;
  left_ = h.length;
  return true;
}

bool FrameWalk::feed(const char* data, size_t size) {
  while (valid_ && size != 0) {
    if (left_ != 0) {
      const auto skip = static_cast<size_t>(std::min<uint64_t>(left_, size));
      left_ -= skip;
      data += skip;
      size -= skip;
      continue;
    }
    const size_t take = std::min(size, kFrameHeaderSize - have_);
    std::memcpy(header_ + have_, data, take);
    have_ = static_cast<uint8_t>(have_ + take);
    data += take;
    size -= take;
    if (have_ < kFrameHeaderSize) break;
    have_ = 0;
    valid_ = begin_frame();
  }
  return valid_;
}

bool FrameWalk::feed(Pieces pieces, size_t size) {
  pieces.each(0, size, [&](const char* part, size_t bytes) {
    feed(part, bytes);
    return true;
  });
  return valid_;
}

// --- BoundarySearch ------------------------------------------------------------------------------

void BoundarySearch::believe(const FrameWalk& walk) {
  first_ = walk;
  first_.trust();
  found_ = true;
  counted_ = first_.opened();
}

bool BoundarySearch::opens_request(Pieces pieces, size_t offered) {
  FrameWalk ahead = first_;
  if (!found_ && first_.at_boundary()) {
    if (!ahead.feed(pieces, offered)) {
      // What led here were no frames: the walk begins anew.
      first_ = ahead = {};
      counted_ = 0;
      ahead.feed(pieces, offered);
    }
    if (ahead.valid() && (ahead.at_boundary() || first_.frames() >= kChain)) believe(first_);
  } else if (found_) {
    ahead.feed(pieces, offered);
  }
  return found_ && first_.at_boundary() && ahead.valid() && ahead.opened() > first_.opened();
}

uint64_t BoundarySearch::sent(Pieces pieces, size_t accepted, size_t offered) {
  if (accepted == 0) return 0;
  const bool valid = first_.feed(pieces, accepted);
  uint64_t requests = valid ? first_.opened() - counted_ : 0;
  counted_ = first_.opened();
  if (found_) {
    if (valid) return requests;
    forget();
    return 1;  // there may be a request in these bytes
  }
  if (!valid) {
    first_ = {};
    counted_ = 0;
  }
  const bool whole = accepted == offered;
  if (tried_) {
    tried_ = other_.feed(pieces, accepted) && (!whole || other_.at_boundary());
    if (tried_ && other_.at_boundary() && other_.frames() >= kOtherChain && !first_.at_boundary())
      believe(other_);
  }
  if (!tried_ && whole) {
    other_ = {};
    tried_ = true;
  }
  return std::max<uint64_t>(requests, 1);
}

}  // namespace filibuster::http2
