#include "preload/rpc/write_origins.h"

#include <cstring>
#include <new>

#include "preload/os/pool.h"

namespace filibuster::preload {
namespace {

Pool<WriteOrigins, 8, 512> g_write_origins;

}  // namespace

void WriteOrigins::add(uint64_t start, uint64_t end, const RuntimeField& field) {
  char value[kRuntimeValueSize];
  encode_runtime_value(field, value);
  Entry& last = entries_[last_];
  if (last.end == start && std::memcmp(last.value, value, sizeof value) == 0) {
    last.end = end;
    return;
  }
  last_ = (last_ + 1) % kMost;
  Entry& entry = entries_[last_];
  entry.start = start;
  entry.end = end;
  std::memcpy(entry.value, value, sizeof value);
}

std::string_view WriteOrigins::at(uint64_t position) const {
  for (size_t i = 0; i < kMost; ++i) {
    const Entry& entry = entries_[(last_ + kMost - i) % kMost];
    if (entry.start <= position && position < entry.end) return {entry.value, sizeof entry.value};
  }
  return {};
}

WriteOrigins* make_write_origins() {
  WriteOrigins* memory = g_write_origins.take();
  return memory == nullptr ? nullptr : new (memory) WriteOrigins;
}

void free_write_origins(WriteOrigins* origins) {
  g_write_origins.give(origins);
}

}  // namespace filibuster::preload
