// Bytes of several pieces in one, for a library that takes one piece. If it cannot take them now, it gets the same
// ones again.
#pragma once

#include "preload/stream/edited_stream.h"
#include "preload/stream/wire.h"

namespace filibuster::preload {

class Gathered {
 public:
  // The first piece of `out`, or so many of its pieces as make up a record.
  iovec of(const OnTheWire& out);
  // They were taken, or will not be offered again.
  void forget() { size_ = 0; }
  void drop();

 private:
  HoldBuffer* buffer_ = nullptr;
  size_t size_ = 0;
};

// Memory for a while; nullptr: there is none.
HoldBuffer* take_tls_buffer();
void give_tls_buffer(HoldBuffer* buffer);  // nullptr: nothing

}  // namespace filibuster::preload
