// A bounded heap in memory of its owner, for the one library that must allocate (libnghttp2's HPACK):
// the host's heap is not touched (docs/laws.md, law 6), and what does not fit is refused (law 2).
//
// A buddy allocator: blocks of 64 bytes to the whole, joined again when they are given back, so
// that a connection that lives long does not wear it out. Nothing of the memory is touched before
// the first allocation (fresh pages stay unmapped).
#pragma once

#include <cstddef>
#include <cstdint>

namespace filibuster::http2 {

class Arena {
 public:
  // `memory` is aligned to 64 bytes and outlives the arena. The largest power of two that fits beside a
  // table of 1/64 of it can be used.
  Arena(void* memory, size_t size);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // nullptr: it does not fit. Aligned to 64 bytes. 0 bytes are a block too.
  void* allocate(size_t size);
  // nullptr: it does not fit, and `block` stays as it is. `block` may be nullptr.
  void* reallocate(void* block, size_t size);
  void release(void* block);  // nullptr: nothing

  // Everything was given back.
  bool empty() const { return used_ == 0; }
  size_t used() const { return used_; }  // bytes, in whole blocks
  size_t capacity() const { return size_t{kUnit} << top_; }
  bool refused() const { return refused_; }  // an allocation did not fit

  static constexpr size_t kUnit = 64;

 private:
  static constexpr unsigned kOrders = 20;  // 32 MiB
  struct FreeBlock {
    FreeBlock* next;
    FreeBlock* previous;
  };

  void push(size_t unit, unsigned order);
  void unlink(size_t unit, unsigned order);
  size_t unit_of(const void* block) const {
    return static_cast<size_t>(static_cast<const char*>(block) - base_) / kUnit;
  }
  FreeBlock* block_at(size_t unit) const {
    return reinterpret_cast<FreeBlock*>(base_ + unit * kUnit);
  }

  uint8_t* orders_;  // by unit: the order of the block that begins there, with kFree if it is free
  char* base_;
  unsigned top_ = 0;  // order of the whole
  bool usable_ = false;
  bool begun_ = false;
  bool refused_ = false;
  size_t used_ = 0;
  FreeBlock* free_[kOrders] = {};
};

}  // namespace filibuster::http2
