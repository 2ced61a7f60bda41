// The last bytes of a stream: those that one side of an engine has already, and the other one has not yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/pieces.h"
#include "preload/stream/wire.h"

namespace filibuster::preload {

class Tail {
 public:
  // More bytes came; `open` of all that were there before have not arrived.
  void add(Pieces pieces, size_t size, uint64_t open);
  // The last `open` bytes, which stay valid until the next add(). False: they are not all there.
  bool last(uint64_t open, std::string_view* out) const;
  void drop();

 private:
  HoldBuffer* buffer_ = nullptr;
  size_t size_ = 0;
  // Two threads add at once: their order is not known, nor what is missing.
  std::atomic_flag busy_{};
  std::atomic<bool> lost_{false};
};

}  // namespace filibuster::preload
