// A flat hash table with 128-bit hashes as keys: millions of entries, no heap object per entry, no
// long pause when it grows. It is cut into 256 open-addressing shards that double one by one, at
// different fill levels, so that at most 1/256 of the entries move at a time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/hash.h"

namespace filibuster::search {

struct NoValue {};

template <typename Value>
class HashTable {
 public:
  struct Insertion {
    Value* value;
    bool added;  // false: the key was there, the value is as it was
  };

  Insertion insert(Hash128 key, Value value) {
    key = non_zero(key);
    Shard& shard = shards_[shard_of(key)];
    if (shard.size >= shard.limit) grow(shard, shard_of(key));
    Slot* slot = find_slot(shard, key);
    if (!slot->key.is_zero()) return {&slot->value, false};
    slot->key = key;
    slot->value = value;
    ++shard.size;
    ++size_;
    return {&slot->value, true};
  }
  const Value* find(Hash128 key) const {
    key = non_zero(key);
    const Shard& shard = shards_[shard_of(key)];
    if (shard.slots == nullptr) return nullptr;
    const Slot* slot = find_slot(shard, key);
    return slot->key.is_zero() ? nullptr : &slot->value;
  }
  bool contains(Hash128 key) const { return find(key) != nullptr; }
  // Asks the processor to fetch what a following call with this key will read.
  void prefetch(Hash128 key) const {
    key = non_zero(key);
    const Shard& shard = shards_[shard_of(key)];
    if (shard.slots != nullptr) __builtin_prefetch(&shard.slots[key.lo & shard.mask]);
  }
  size_t size() const { return size_; }

 private:
  struct Slot {
    Hash128 key;  // zero: free
    [[no_unique_address]] Value value;
  };
  struct Shard {
    std::unique_ptr<Slot[]> slots;
    size_t mask = 0;   // capacity - 1
    size_t limit = 0;  // the shard grows before it holds more entries
    size_t size = 0;
  };
  static constexpr size_t kShards = 256;
  static constexpr size_t kFirstCapacity = 16;

  // Zero marks a free slot; no hash is zero but by a chance of 2^-128.
  static Hash128 non_zero(Hash128 key) { return key.is_zero() ? Hash128{0, 1} : key; }
  static size_t shard_of(Hash128 key) { return key.hi >> 56; }

  static Slot* find_slot(const Shard& shard, Hash128 key) {
    size_t at = key.lo & shard.mask;
    while (!shard.slots[at].key.is_zero() && shard.slots[at].key != key) at = (at + 1) & shard.mask;
    return &shard.slots[at];
  }
  void grow(Shard& shard, size_t number) {
    const size_t capacity = shard.slots == nullptr ? kFirstCapacity : 2 * (shard.mask + 1);
    Shard larger;
    larger.slots = std::make_unique<Slot[]>(capacity);
    larger.mask = capacity - 1;
    // Between 1/2 and 3/4 full, another level for each shard: they never all grow at once.
    larger.limit = capacity / 2 + capacity / 4 * number / kShards;
    for (size_t i = 0; shard.slots != nullptr && i <= shard.mask; ++i) {
      if (!shard.slots[i].key.is_zero()) *find_slot(larger, shard.slots[i].key) = shard.slots[i];
    }
    larger.size = shard.size;
    shard = std::move(larger);
  }

  std::array<Shard, kShards> shards_;
  size_t size_ = 0;
};

// An array that grows without moving what it holds.
template <typename T>
class ChunkedArray {
 public:
  void push_back(const T& value) {
    if (size_ % kChunk == 0) chunks_.push_back(std::make_unique<T[]>(kChunk));
    chunks_.back()[size_++ % kChunk] = value;
  }
  T& operator[](size_t at) { return chunks_[at / kChunk][at % kChunk]; }
  const T& operator[](size_t at) const { return chunks_[at / kChunk][at % kChunk]; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kChunk = 1 << 15;
  std::vector<std::unique_ptr<T[]>> chunks_;
  size_t size_ = 0;
};

}  // namespace filibuster::search
