#include "preload/tls/tail.h"

#include <algorithm>
#include <cstring>

#include "preload/tls/gathered.h"

namespace filibuster::preload {

void Tail::add(Pieces pieces, size_t size, uint64_t open) {
  if (busy_.test_and_set(std::memory_order_acquire)) {
    lost_.store(true);
    return;
  }
  if (buffer_ == nullptr) buffer_ = take_tls_buffer();
  const size_t kept = static_cast<size_t>(std::min<uint64_t>(open, size_));
  if (buffer_ != nullptr && size <= kHoldCapacity - kept) {
    std::memmove(buffer_->bytes, buffer_->bytes + size_ - kept, kept);
    pieces.copy(0, buffer_->bytes + kept, size);
    size_ = kept + size;
  } else {
    size_ = 0;
  }
  busy_.clear(std::memory_order_release);
}

bool Tail::last(uint64_t open, std::string_view* out) const {
  if (lost_.load() || open > size_) return false;
  *out = {buffer_ == nullptr ? nullptr : buffer_->bytes + size_ - open, static_cast<size_t>(open)};
  return true;
}

void Tail::drop() {
  give_tls_buffer(buffer_);
  buffer_ = nullptr;
  size_ = 0;
}

}  // namespace filibuster::preload
