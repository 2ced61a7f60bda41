// A bounded map from the addresses of the host's objects to small values: lock-free, constant-
// initialised, safe in a forked child. What does not fit is not known; nothing is ever guessed.
//
// Each key has a window of slots. The keys of a window lie side by side, because most look-ups are for
// keys that are not there. While a slot is written its key is kBusy, which is no address, and other
// threads pass it by.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace filibuster::preload::grpc {

template <typename Value, size_t kSlots, unsigned kGranule = 4>
class PointerTable {
  static_assert((kSlots & (kSlots - 1)) == 0);
  static constexpr size_t kWindow = 8;
  static constexpr uintptr_t kFree = 0, kBusy = 1;

 public:
  // False: no room. The caller knows that the key is not in the table yet.
  bool insert(const void* key, const Value& value) {
    const size_t first = first_of(address(key));
    for (size_t i = 0; i < kWindow; ++i) {
      if (write((first + i) & (kSlots - 1), kFree, address(key), value)) return true;
    }
    return false;
  }
  // Inserts the key, in the place of another one if there is no room.
  void force(const void* key, const Value& value) {
    if (insert(key, value)) return;
    const size_t slot =
        (first_of(address(key)) + victim_.fetch_add(1, std::memory_order_relaxed) % kWindow) &
        (kSlots - 1);
    const uintptr_t other = keys_[slot].load(std::memory_order_relaxed);
    if (other != kBusy) write(slot, other, address(key), value);
  }
  bool take(const void* key, Value* value) {
    const size_t first = first_of(address(key));
    for (size_t i = 0; i < kWindow; ++i) {
      const size_t slot = (first + i) & (kSlots - 1);
      uintptr_t known = address(key);
      if (keys_[slot].load(std::memory_order_relaxed) != known ||
          !keys_[slot].compare_exchange_strong(known, kBusy, std::memory_order_acq_rel))
        continue;
      *value = values_[slot];
      keys_[slot].store(kFree, std::memory_order_release);
      return true;
    }
    return false;
  }
  void remove(const void* key) {
    Value value;
    take(key, &value);
  }
  // The value stays in the table. False: it is not there, or is just being written.
  bool find(const void* key, Value* value) const {
    const size_t first = first_of(address(key));
    for (size_t i = 0; i < kWindow; ++i) {
      const size_t slot = (first + i) & (kSlots - 1);
      if (key_at(slot) != address(key)) continue;
      *value = values_[slot];
      std::atomic_thread_fence(std::memory_order_acquire);
      if (keys_[slot].load(std::memory_order_relaxed) == address(key)) return true;
    }
    return false;
  }
  // The lowest key in (from, from + size]; nullptr: none. `size` is at most one granule.
  void* next_after(const void* from, size_t size) const {
    const uintptr_t low = address(from), high = low + size;
    uintptr_t found = 0;
    for (uintptr_t end : {low, high}) {
      const size_t first = first_of(end);
      for (size_t i = 0; i < kWindow; ++i) {
        const uintptr_t key = key_at(first + i);
        if (key > low && key <= high && (found == 0 || key < found)) found = key;
      }
    }
    return reinterpret_cast<void*>(found);
  }

 private:
  static uintptr_t address(const void* key) { return reinterpret_cast<uintptr_t>(key); }
  static size_t first_of(uintptr_t key) {
    return static_cast<size_t>((key >> kGranule) * 0x9E3779B97F4A7C15ull >> 32);
  }
  uintptr_t key_at(size_t slot) const {
    return keys_[slot & (kSlots - 1)].load(std::memory_order_acquire);
  }
  bool write(size_t slot, uintptr_t expected, uintptr_t key, const Value& value) {
    if (keys_[slot].load(std::memory_order_relaxed) != expected ||
        !keys_[slot].compare_exchange_strong(expected, kBusy, std::memory_order_acq_rel))
      return false;
    values_[slot] = value;
    keys_[slot].store(key, std::memory_order_release);
    return true;
  }

  std::atomic<uintptr_t> keys_[kSlots] = {};
  Value values_[kSlots] = {};
  std::atomic<size_t> victim_{0};
};

}  // namespace filibuster::preload::grpc
