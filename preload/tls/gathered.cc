#include "preload/tls/gathered.h"

#include <algorithm>

#include "preload/os/pool.h"

namespace filibuster::preload {
namespace {

// A record has room for so many bytes (RFC 8446 §5.1).
constexpr size_t kRecord = 16 * 1024;
static_assert(kRecord <= kHoldCapacity);
Pool<HoldBuffer, 4, 4096> g_buffers;

}  // namespace

HoldBuffer* take_tls_buffer() {
  return g_buffers.take();
}
void give_tls_buffer(HoldBuffer* buffer) {
  if (buffer != nullptr) g_buffers.give(buffer);
}

iovec Gathered::of(const OnTheWire& out) {
  if (size_ == 0 && out.count > 1) {
    if (buffer_ == nullptr) buffer_ = take_tls_buffer();
    if (buffer_ != nullptr) {
      size_ = std::min(out.bytes, kRecord);
      Pieces(out.vectors, out.count).copy(0, buffer_->bytes, size_);
    }
  }
  if (size_ == 0) return out.vectors[0];
  return {buffer_->bytes, size_};
}

void Gathered::drop() {
  give_tls_buffer(buffer_);
  buffer_ = nullptr;
  size_ = 0;
}

}  // namespace filibuster::preload
