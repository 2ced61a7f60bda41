// What the model has answered: the state behind each step in each state in which it was asked (check.h). Open addressing, since
// there are many answers, and most of them are asked for once.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/linear/history.h"

namespace filibuster::linear {

class Asked {
 public:
  Asked() : slots_(kFirstSlots) {}

  // `ask` says the answer, once for each state and step. It asks for nothing here.
  template <typename Ask>
  std::optional<State> answer(State state, Step step, Ask ask) {
    const uint64_t key = uint64_t{state} << 32 | step;
    size_t at = place_of(key);
    for (; slots_[at].answer != kFree; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key != key) continue;
      if (slots_[at].answer == kImpossible) return std::nullopt;
      return static_cast<State>(slots_[at].answer - kFirstState);
    }
    const std::optional<State> next = ask();
    slots_[at] = {key, next ? kFirstState + *next : kImpossible};
    if (2 * ++count_ > slots_.size()) grow();
    return next;
  }

  size_t bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  static constexpr size_t kFirstSlots = 1024;  // a power of two, as later numbers are
  static constexpr uint64_t kFree = 0, kImpossible = 1, kFirstState = 2;
  struct Slot {
    uint64_t key = 0, answer = kFree;
  };

  size_t place_of(uint64_t key) const {
    const uint64_t mixed = key * 0x9e3779b97f4a7c15;
    return (mixed ^ mixed >> 32) & (slots_.size() - 1);
  }
  void grow() {
    const std::vector<Slot> before = std::move(slots_);
    slots_ = std::vector<Slot>(2 * before.size());
    for (const Slot& each : before) {
      if (each.answer == kFree) continue;
      size_t at = place_of(each.key);
      while (slots_[at].answer != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = each;
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace filibuster::linear
