#include "core/grpc/message_reader.h"

#include <algorithm>
#include <cstring>

#include "core/http2/frame.h"

namespace filibuster::grpc {

bool MessageReader::feed(const char* data, size_t size, MessageHandler* handler) {
  while (size != 0 && !failed_) {
    size_t n = 0;
    if (left_ != 0) {
      n = std::min<size_t>(size, left_);
      left_ -= static_cast<uint32_t>(n);
      handler->on_message_bytes(current_, data, n);
    } else {
      n = std::min<size_t>(size, kPrefixSize - have_);
      if (have_ == 0) current_.offset = position_;
      std::memcpy(prefix_ + have_, data, n);
      have_ = static_cast<uint8_t>(have_ + n);
      if (static_cast<unsigned char>(prefix_[0]) > 1) {
        failed_ = true;
        return false;
      }
      if (have_ == kPrefixSize) {
        current_.index = complete_;
        current_.compressed = prefix_[0] == 1;
        current_.size = left_ = http2::read_u32(prefix_ + 1);
        handler->on_message(current_);
      }
    }
    position_ += n;
    data += n;
    size -= n;
    if (have_ == kPrefixSize && left_ == 0) {
      have_ = 0;
      ++complete_;
      handler->on_message_end(current_);
    }
  }
  return !failed_;
}

void write_prefix(bool compressed, uint32_t size, char* out) {
  out[0] = compressed ? 1 : 0;
  http2::write_u32(out + 1, size);
}

}  // namespace filibuster::grpc
