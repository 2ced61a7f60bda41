// Sets of taken operations with their state, as far as the search has come to them (check.h). Numbers of words in one arena,
// found by open addressing: no allocation for each set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/hash.h"

namespace filibuster::linear {

class Visited {
 public:
  Visited() : slots_(kFirstSlots, 0) {}

  // False: it was there.
  bool insert(std::span<const uint64_t> words) {
    if (4 * (count_ + 1) > 3 * slots_.size()) grow();
    size_t at = slot_of(words);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (equal(slots_[at] - 1, words)) return false;
    }
    slots_[at] = arena_.size() + 1;
    arena_.push_back(words.size());
    arena_.insert(arena_.end(), words.begin(), words.end());
    ++count_;
    return true;
  }
  uint64_t size() const { return count_; }
  size_t bytes() const { return (arena_.capacity() + slots_.capacity()) * sizeof(uint64_t); }

 private:
  static constexpr size_t kFirstSlots = 1024;  // a power of two, as later numbers are

  size_t slot_of(std::span<const uint64_t> words) const {
    return hash_bytes(words.data(), words.size_bytes()).lo & (slots_.size() - 1);
  }
  bool equal(size_t place, std::span<const uint64_t> words) const {
    if (arena_[place] != words.size()) return false;
    for (size_t i = 0; i < words.size(); ++i) {
      if (arena_[place + 1 + i] != words[i]) return false;
    }
    return true;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (size_t place = 0; place < arena_.size(); place += 1 + arena_[place]) {
      size_t at = slot_of({arena_.data() + place + 1, static_cast<size_t>(arena_[place])});
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = place + 1;
    }
  }

  std::vector<uint64_t> arena_;  // of each set the number of its words, then these
  std::vector<uint64_t> slots_;  // a place in the arena and 1; 0: free
  uint64_t count_ = 0;
};

}  // namespace filibuster::linear
