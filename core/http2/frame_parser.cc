#include "core/http2/frame_parser.h"

#include <algorithm>
#include <cstring>

namespace filibuster::http2 {
namespace {

constexpr size_t kSettingSize = 6;

bool carries_block(FrameType type) {
  return type == FrameType::kHeaders || type == FrameType::kPushPromise ||
         type == FrameType::kContinuation;
}

bool may_be_padded(FrameType type) {
  return type == FrameType::kData || type == FrameType::kHeaders || type == FrameType::kPushPromise;
}

}  // namespace

FrameParser::FrameParser(Direction direction, FrameHandler* handler)
    : handler_(handler),
      direction_(direction),
      step_(direction == Direction::kRequests ? Step::kPreface : Step::kHeader) {}

void FrameParser::fail(Error error) {
  if (error_ == Error::kNone) error_ = error;
}

void FrameParser::allow_frame_size(uint32_t size) {
  max_frame_size_ = std::max(max_frame_size_, std::min(size, kLargestMaxFrameSize));
}

uint64_t FrameParser::hold_from() const {
  if (block_.stream != 0) return block_.start;
  // A frame's type is not known before its header is complete.
  return step_ == Step::kHeader && have_ != 0 ? frame_start_ : position_;
}

Error FrameParser::feed(const char* data, size_t size) {
  while (size != 0 && error_ == Error::kNone) {
    size_t n = 0;
    switch (step_) {
      case Step::kPreface:
        n = std::min(size, kClientPreface.size() - have_);
        if (std::memcmp(data, kClientPreface.data() + have_, n) != 0) {
          fail(Error::kBadPreface);
          return error_;
        }
        have_ = static_cast<uint8_t>(have_ + n);
        position_ += n;
        if (have_ == kClientPreface.size()) {
          have_ = 0;
          step_ = Step::kHeader;
        }
        break;
      case Step::kHeader: {
        if (have_ == 0) frame_start_ = position_;
        n = std::min<size_t>(size, kFrameHeaderSize - have_);
        const char* header = data;
        if (n != kFrameHeaderSize) {
          std::memcpy(scratch_ + have_, data, n);
          header = scratch_;
        }
        have_ = static_cast<uint8_t>(have_ + n);
        position_ += n;
        if (have_ == kFrameHeaderSize) {
          have_ = 0;
          frame_ = read_frame_header(header);
          begin_frame();
        }
        break;
      }
      case Step::kPadLength:
        n = 1;
        ++position_;
        after_pad_length(static_cast<uint8_t>(*data));
        break;
      case Step::kFixed: {
        n = std::min<size_t>(size, fixed_ - have_);
        std::memcpy(scratch_ + have_, data, n);
        have_ = static_cast<uint8_t>(have_ + n);
        position_ += n;
        if (have_ == fixed_) take_fixed();
        break;
      }
      case Step::kContent:
        n = std::min<size_t>(size, content_);
        content_ -= static_cast<uint32_t>(n);
        position_ += n;
        if (frame_.type == FrameType::kData) {
          handler_->on_data(frame_.stream, data, n);
        } else {
          handler_->on_block_bytes(data, n);
        }
        move_on();
        break;
      case Step::kSkip:
        n = std::min<size_t>(size, skip_);
        skip_ -= static_cast<uint32_t>(n);
        position_ += n;
        move_on();
        break;
    }
    data += n;
    size -= n;
  }
  return error_;
}

Error FrameParser::skip_data(uint64_t size) {
  if (error_ != Error::kNone || size == 0) return error_;
  if (step_ != Step::kContent || frame_.type != FrameType::kData || size > content_) {
    fail(Error::kFrameSize);
    return error_;
  }
  content_ -= static_cast<uint32_t>(size);
  position_ += size;
  move_on();
  return error_;
}

// Everything that can be known from the 9 bytes.
Error FrameParser::check_frame() const {
  if (!settings_seen_ && (frame_.type != FrameType::kSettings || frame_.has(kFlagAck))) {
    return Error::kFirstNotSettings;
  }
  if (frame_.length > max_frame_size_) return Error::kFrameTooLarge;
  if (block_open_ && (frame_.type != FrameType::kContinuation || frame_.stream != block_.stream)) {
    return Error::kContinuationExpected;
  }
  const uint32_t length = frame_.length;
  bool size_fits = true;
  bool on_stream = true;
  switch (frame_.type) {
    case FrameType::kData:
      size_fits = length >= (frame_.has(kFlagPadded) ? 1u : 0u);
      break;
    case FrameType::kHeaders:
      size_fits = length >= (frame_.has(kFlagPadded) ? 1u : 0u) +
                                (frame_.has(kFlagPriority) ? kPriorityFieldSize : 0u);
      break;
    case FrameType::kPushPromise:
      if (direction_ == Direction::kRequests) return Error::kPushByClient;
      size_fits = length >= (frame_.has(kFlagPadded) ? 5u : 4u);
      break;
    case FrameType::kContinuation:
      if (frame_.stream != 0 && !block_open_) return Error::kContinuationUnexpected;
      break;
    case FrameType::kPriority:
      break;  // a wrong length is an error of the stream only, §6.3
    case FrameType::kRstStream:
      size_fits = length == 4;
      break;
    case FrameType::kSettings:
      size_fits = frame_.has(kFlagAck) ? length == 0 : length % kSettingSize == 0;
      on_stream = false;
      break;
    case FrameType::kPing:
      size_fits = length == 8;
      on_stream = false;
      break;
    case FrameType::kGoaway:
      size_fits = length >= 8;
      on_stream = false;
      break;
    case FrameType::kWindowUpdate:
      return length == 4 ? Error::kNone : Error::kFrameSize;
    default:
      return Error::kNone;
  }
  if (on_stream && frame_.stream == 0) return Error::kStreamZero;
  if (!on_stream && frame_.stream != 0) return Error::kNotStreamZero;
  return size_fits ? Error::kNone : Error::kFrameSize;
}

void FrameParser::begin_frame() {
  const Error wrong = check_frame();
  if (wrong != Error::kNone) {
    fail(wrong);
    return;
  }
  handler_->on_frame(frame_, frame_start_);
  if (error_ != Error::kNone) return;
  content_ = 0;
  skip_ = 0;
  fixed_ = 0;
  if (carries_block(frame_.type)) {
    begin_block();
    if (error_ != Error::kNone) return;
  }
  if (may_be_padded(frame_.type)) {
    if (frame_.has(kFlagPadded)) {
      step_ = Step::kPadLength;
    } else {
      after_pad_length(0);
    }
    return;
  }
  const uint32_t length = frame_.length;
  switch (frame_.type) {
    case FrameType::kContinuation:
      content_ = length;
      block_.fragment_end = frame_start_ + kFrameHeaderSize + length;
      break;
    case FrameType::kRstStream:
    case FrameType::kWindowUpdate:
      fixed_ = 4;
      break;
    case FrameType::kSettings:
      settings_seen_ = true;
      settings_.changes_table_size = false;
      content_ = length;  // bytes of entries left; Step::kContent is never entered for SETTINGS
      if (length != 0) fixed_ = kSettingSize;
      break;
    case FrameType::kPing:
      fixed_ = 8;
      break;
    case FrameType::kGoaway:
      fixed_ = 8;
      skip_ = length - 8;
      break;
    case FrameType::kPriority:
      if (length != 5) handler_->on_stream_error(frame_.stream, Error::kFrameSize);
      skip_ = length;
      break;
    default:
      skip_ = length;
      break;
  }
  if (fixed_ != 0) {
    step_ = Step::kFixed;
  } else {
    move_on();
  }
}

void FrameParser::begin_block() {
  if (frame_.type == FrameType::kContinuation) {
    block_bytes_ += frame_.length;
    if (++block_.frames > kMaxBlockFrames) fail(Error::kTooManyContinuations);
  } else {
    block_ = HeaderBlock();
    block_.stream = frame_.stream;
    block_.start = frame_start_;
    block_.frames = 1;
    block_.end_stream = frame_.type == FrameType::kHeaders && frame_.has(kFlagEndStream);
    block_bytes_ = frame_.length;
  }
  if (block_bytes_ > kMaxHeaderBlock) fail(Error::kHeaderBlockTooLarge);
  block_.last = frame_;
  block_.last_start = frame_start_;
  block_.end = frame_start_ + frame_.size();
}

// DATA, HEADERS, PUSH_PROMISE: [pad length] [fixed part] content padding
void FrameParser::after_pad_length(uint8_t pad) {
  uint32_t left = frame_.length - (frame_.has(kFlagPadded) ? 1 : 0);
  if (frame_.type == FrameType::kHeaders && frame_.has(kFlagPriority)) fixed_ = kPriorityFieldSize;
  if (frame_.type == FrameType::kPushPromise) fixed_ = 4;
  left -= fixed_;  // check_frame has seen that it is there
  if (pad > left) {
    fail(Error::kPadding);
    return;
  }
  content_ = left - pad;
  skip_ = pad;
  if (frame_.type != FrameType::kData) {
    block_.fragment_end = frame_start_ + frame_.size() - pad;
  }
  if (fixed_ != 0) {
    step_ = Step::kFixed;
    return;
  }
  if (frame_.type == FrameType::kHeaders) handler_->on_block(block_);
  move_on();
}

void FrameParser::take_fixed() {
  have_ = 0;
  fixed_ = 0;
  switch (frame_.type) {
    case FrameType::kHeaders:
      block_.has_priority = true;
      std::memcpy(block_.priority, scratch_, kPriorityFieldSize);
      handler_->on_block(block_);
      break;
    case FrameType::kPushPromise:
      block_.promised = read_u32(scratch_) & 0x7fffffff;
      if (block_.promised == 0 || block_.promised % 2 != 0) {
        fail(Error::kStreamId);
        return;
      }
      handler_->on_block(block_);
      break;
    case FrameType::kRstStream:
      handler_->on_reset(frame_.stream, read_u32(scratch_));
      break;
    case FrameType::kWindowUpdate: {
      const uint32_t increment = read_u32(scratch_) & 0x7fffffff;
      if (increment != 0) {
        handler_->on_window_update(frame_.stream, increment);
      } else if (frame_.stream != 0) {
        handler_->on_stream_error(frame_.stream, Error::kZeroIncrement);
      } else {
        fail(Error::kZeroIncrement);
      }
      break;
    }
    case FrameType::kPing:
      handler_->on_ping(frame_.has(kFlagAck), scratch_);
      break;
    case FrameType::kGoaway:
      handler_->on_goaway(read_u32(scratch_) & 0x7fffffff, read_u32(scratch_ + 4));
      break;
    case FrameType::kSettings:
      take_setting(scratch_);
      content_ -= kSettingSize;
      if (content_ != 0) {
        fixed_ = kSettingSize;
        return;
      }
      break;
    default:
      break;
  }
  move_on();
}

void FrameParser::take_setting(const char* entry) {
  const uint32_t id = read_u32(entry) >> 16;
  const uint32_t value = read_u32(entry + 2);
  Settings& now = settings_.now;
  switch (static_cast<SettingId>(id)) {
    case SettingId::kHeaderTableSize:
      settings_.smallest_table_size =
          settings_.changes_table_size ? std::min(settings_.smallest_table_size, value) : value;
      settings_.changes_table_size = true;
      now.header_table_size = value;
      break;
    case SettingId::kEnablePush:
      // A server may only say 0 (§6.5.2).
      if (value > (direction_ == Direction::kRequests ? 1u : 0u)) fail(Error::kBadSetting);
      now.enable_push = value != 0;
      break;
    case SettingId::kMaxConcurrentStreams:
      now.max_concurrent_streams = value;
      break;
    case SettingId::kInitialWindowSize:
      if (value > kLargestWindow) fail(Error::kBadSetting);
      now.initial_window_size = value;
      break;
    case SettingId::kMaxFrameSize:
      if (value < kDefaultMaxFrameSize || value > kLargestMaxFrameSize) fail(Error::kBadSetting);
      now.max_frame_size = value;
      break;
    case SettingId::kMaxHeaderListSize:
      now.max_header_list_size = value;
      break;
    default:
      break;  // unknown ones are ignored (§6.5.2)
  }
}

bool FrameParser::preset_settings(const char* payload, size_t size) {
  if (size % kSettingSize != 0 || position_ != 0) return false;
  settings_.changes_table_size = false;
  for (size_t at = 0; at < size; at += kSettingSize) take_setting(payload + at);
  return error_ == Error::kNone;
}

void FrameParser::move_on() {
  if (error_ != Error::kNone) return;
  if (content_ != 0) {
    step_ = Step::kContent;
  } else if (skip_ != 0) {
    step_ = Step::kSkip;
  } else {
    end_frame();
  }
}

void FrameParser::end_frame() {
  step_ = Step::kHeader;
  switch (frame_.type) {
    case FrameType::kData:
      handler_->on_data_end(frame_.stream, frame_.length, frame_.has(kFlagEndStream));
      break;
    case FrameType::kHeaders:
    case FrameType::kPushPromise:
    case FrameType::kContinuation:
      block_open_ = !frame_.has(kFlagEndHeaders);
      if (!block_open_) {
        handler_->on_block_end(block_);
        block_.stream = 0;
      }
      break;
    case FrameType::kSettings:
      if (frame_.has(kFlagAck)) {
        handler_->on_settings_ack();
      } else {
        handler_->on_settings(settings_);
      }
      break;
    default:
      break;
  }
}

}  // namespace filibuster::http2
