// Who makes what a client writes, where the write itself does not tell: the runtime writes from a loop, in
// a protocol without a field for the cause. The runtime's helper tells it for each write, before the bytes
// come, by their positions in the application's stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/rpc/header_field.h"

namespace filibuster::preload {

class WriteOrigins {
 public:
  static constexpr size_t kMost = 64;

  // Tells who makes the bytes [start, end), which follow those of the last call. If there are kMost entries,
  // the oldest is forgotten.
  void add(uint64_t start, uint64_t end, const RuntimeField& field);
  // The value (encode_runtime_value) of the write that holds the byte at `position`; empty: nothing was
  // said of it. It stays until the next add().
  std::string_view at(uint64_t position) const;

 private:
  struct Entry {
    uint64_t start = 0, end = 0;
    char value[kRuntimeValueSize] = {};
  };

  Entry entries_[kMost];
  size_t last_ = 0;
};

// A constructed object; nullptr: too many connections have one, or there is no memory.
WriteOrigins* make_write_origins();
void free_write_origins(WriteOrigins* origins);

}  // namespace filibuster::preload
