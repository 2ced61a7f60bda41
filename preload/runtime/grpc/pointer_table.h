// A bounded map from the addresses of the host's objects to small values: lock-free, constant-
// initialised, safe in a forked child. What does not fit is not known; nothing is ever guessed.
//
// Each key has a window of slots. A slot is taken for the time of a write by a key that is no
// address; others pass it by.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace filibuster::preload::grpc {

template <typename Value, size_t kSlots, unsigned kGranule = 4>
class PointerTable {
  static_assert((kSlots & (kSlots - 1)) == 0);
  static constexpr size_t kWindow = 16;
  static constexpr uintptr_t kFree = 0, kBusy = 1;

 public:
  // False: no room. The key is not in the table yet.
  bool insert(const void* key, const Value& value) {
    const size_t first = first_of(address(key));
    for (size_t i = 0; i < kWindow; ++i) {
      if (write(&slots_[(first + i) & (kSlots - 1)], kFree, address(key), value)) return true;
    }
    return false;
  }
  // In the place of another if there is no room.
  void force(const void* key, const Value& value) {
    if (insert(key, value)) return;
    Slot* slot = &slots_[(first_of(address(key)) +
                          victim_.fetch_add(1, std::memory_order_relaxed) % kWindow) &
                         (kSlots - 1)];
    uintptr_t other = slot->key.load(std::memory_order_relaxed);
    if (other != kBusy) write(slot, other, address(key), value);
  }
  bool take(const void* key, Value* value) {
    for (Slot& slot : slots_of(address(key))) {
      uintptr_t known = address(key);
      if (slot.key.load(std::memory_order_relaxed) != known ||
          !slot.key.compare_exchange_strong(known, kBusy, std::memory_order_acq_rel))
        continue;
      *value = slot.value;
      slot.key.store(kFree, std::memory_order_release);
      return true;
    }
    return false;
  }
  void remove(const void* key) {
    Value value;
    take(key, &value);
  }
  bool contains(const void* key) const {
    for (const Slot& slot : slots_of(address(key))) {
      if (slot.key.load(std::memory_order_acquire) == address(key)) return true;
    }
    return false;
  }
  // The lowest key in (from, from + size]; nullptr: none. `size` is at most one granule.
  void* next_after(const void* from, size_t size) const {
    const uintptr_t low = address(from), high = low + size;
    uintptr_t found = 0;
    for (uintptr_t end : {low, high}) {
      for (const Slot& slot : slots_of(end)) {
        const uintptr_t key = slot.key.load(std::memory_order_acquire);
        if (key > low && key <= high && (found == 0 || key < found)) found = key;
      }
    }
    return reinterpret_cast<void*>(found);
  }

 private:
  struct Slot {
    std::atomic<uintptr_t> key{kFree};
    Value value{};
  };
  // The window of a key as a range; it may wrap around.
  template <typename Table, typename Element>
  struct Window {
    Table* table;
    size_t first;
    struct Iterator {
      Table* table;
      size_t at;
      Element& operator*() const { return table->slots_[at & (kSlots - 1)]; }
      void operator++() { ++at; }
      bool operator!=(const Iterator& other) const { return at != other.at; }
    };
    Iterator begin() const { return {table, first}; }
    Iterator end() const { return {table, first + kWindow}; }
  };

  static uintptr_t address(const void* key) { return reinterpret_cast<uintptr_t>(key); }
  static size_t first_of(uintptr_t key) {
    return static_cast<size_t>((key >> kGranule) * 0x9E3779B97F4A7C15ull >> 32);
  }
  Window<PointerTable, Slot> slots_of(uintptr_t key) { return {this, first_of(key)}; }
  Window<const PointerTable, const Slot> slots_of(uintptr_t key) const {
    return {this, first_of(key)};
  }
  static bool write(Slot* slot, uintptr_t expected, uintptr_t key, const Value& value) {
    if (slot->key.load(std::memory_order_relaxed) != expected ||
        !slot->key.compare_exchange_strong(expected, kBusy, std::memory_order_acq_rel))
      return false;
    slot->value = value;
    slot->key.store(key, std::memory_order_release);
    return true;
  }

  Slot slots_[kSlots];
  std::atomic<size_t> victim_{0};
};

}  // namespace filibuster::preload::grpc
