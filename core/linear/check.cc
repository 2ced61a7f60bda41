#include "core/linear/check.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/linear/asked.h"
#include "core/linear/visited.h"

namespace filibuster::linear {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr uint64_t kStepsBetweenLooks = 4096;  // until Bounds are looked at again
constexpr size_t kMostOfOthers =
    10'000;  // operations of an order that is copied beside the longest one

// Bits of which the lowest ones are soon all set.
class Bits {
 public:
  explicit Bits(size_t size) : words_((size + 63) / 64 + 1, 0) {}
  bool get(uint32_t at) const { return (words_[at / 64] >> at % 64 & 1) != 0; }
  void set(uint32_t at) {
    words_[at / 64] |= uint64_t{1} << at % 64;
    last_ = std::max(last_, at / 64);
    while (words_[first_] == UINT64_MAX) ++first_;
  }
  void unset(uint32_t at) {
    words_[at / 64] &= ~(uint64_t{1} << at % 64);
    first_ = std::min(first_, at / 64);
    while (last_ > 0 && words_[last_] == 0) --last_;
  }
  // The words between those that are full and those that are empty: `out` gets the number of the former and of these, and these.
  void append_to(std::vector<uint64_t>* out) const {
    const uint32_t end = std::max(last_ + 1, first_);
    out->push_back(uint64_t{first_} << 32 | (end - first_));
    out->insert(out->end(), words_.begin() + first_, words_.begin() + end);
  }

 private:
  std::vector<uint64_t> words_;  // the last one stays empty
  uint32_t first_ = 0, last_ = 0;
};

class Search {
 public:
  Search(std::span<const Operation> operations, Model* model, const Bounds& bounds)
      : operations_(operations),
        model_(*model),
        bounds_(bounds),
        place_(operations.size(), kNone),
        equal_before_(operations.size(), kNone),
        only_reads_(operations.size()),
        taken_known_(operations.size()),
        taken_unknown_(operations.size()) {
    link();
  }

  Result run() {
    state_ = model_.initial();
    uint32_t entry = fresh();
    while (left_ > 0) {
      if (++steps_ % kStepsBetweenLooks == 0 && is_over()) return finish(Verdict::kUnknown);
      if (entry != kHead && is_call(entry)) {
        entry = try_call(entry) ? fresh() : next_[entry];
        continue;
      }
      note_stuck(entry);
      if (!step_back(&entry)) return finish(Verdict::kNot);
    }
    note_longest();
    return finish(Verdict::kLinearisable);
  }

 private:
  static constexpr uint32_t kHead = 0;  // of the list of entries, which is a ring

  struct Taken {
    uint32_t entry;
    State before;
    bool is_forced;  // there is no alternative to it
  };

  // A call and an end of each operation in the order of time; what is not known has no end, so that nothing waits for it.
  void link() {
    struct Event {
      int64_t time;
      bool is_end;
      uint32_t operation;
    };
    std::vector<Event> events;
    for (uint32_t i = 0; i < operations_.size(); ++i) {
      const Operation& each = operations_[i];
      events.push_back({each.call, false, i});
      if (!each.is_unknown()) events.push_back({std::max(each.end, each.call), true, i});
    }
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.time != b.time ? a.time < b.time : a.is_end < b.is_end;
    });
    const auto size = static_cast<uint32_t>(events.size() + 1);
    next_.resize(size);
    before_.resize(size);
    of_entry_.resize(size, kNone);
    end_entry_.resize(operations_.size(), kNone);
    is_end_.resize(size, false);
    uint32_t known = 0, unknown = 0;
    std::unordered_map<Step, uint32_t> last_of_step;
    for (uint32_t at = 0; at < size; ++at) {
      next_[at] = (at + 1) % size;
      before_[(at + 1) % size] = at;
      if (at == kHead) continue;
      const Event& event = events[at - 1];
      of_entry_[at] = event.operation;
      is_end_[at] = event.is_end;
      if (event.is_end) {
        end_entry_[event.operation] = at;
        continue;
      }
      const Operation& operation = operations_[event.operation];
      place_[event.operation] = operation.is_unknown() ? unknown++ : known++;
      only_reads_[event.operation] = !operation.is_unknown() && model_.only_reads(operation.step);
      if (!operation.is_unknown()) continue;
      const auto [last, is_first] = last_of_step.emplace(operation.step, event.operation);
      if (!is_first) equal_before_[event.operation] = std::exchange(last->second, event.operation);
    }
    left_ = known;
  }

  bool is_call(uint32_t entry) const { return !is_end_[entry]; }

  std::optional<State> next_state(Step step) {
    return asked_.answer(state_, step, [&] { return model_.next(state_, step); });
  }

  // Where the scan of a set begins that was just reached: behind the steps that only read, which are taken at once.
  uint32_t fresh() {
    for (uint32_t entry = next_[kHead]; entry != kHead && is_call(entry);) {
      const Operation& operation = operations_[of_entry_[entry]];
      const uint32_t after = next_[entry];
      if (only_reads_[of_entry_[entry]] && next_state(operation.step)) {
        // An end that stood in the way may be gone now.
        const bool ends_here = after == end_entry_[of_entry_[entry]];
        take(entry, state_, true);
        if (left_ == 0) return kHead;
        entry = ends_here ? next_[before_[entry]] : after;
        continue;
      }
      entry = after;
    }
    return next_[kHead];
  }

  bool try_call(uint32_t entry) {
    const uint32_t number = of_entry_[entry];
    const Operation& operation = operations_[number];
    const uint32_t equal = equal_before_[number];
    if (operation.is_unknown() && equal != kNone && !taken_unknown_.get(place_[equal]))
      return false;
    const std::optional<State> next = next_state(operation.step);
    if (!next || (operation.is_unknown() && *next == state_)) return false;
    mark(number, true);
    words_.clear();
    words_.push_back(*next);
    taken_known_.append_to(&words_);
    taken_unknown_.append_to(&words_);
    const bool is_new = visited_.insert(words_);
    mark(number, false);
    if (is_new) take(entry, *next, false);
    return is_new;
  }

  void mark(uint32_t number, bool on) {
    Bits& bits = operations_[number].is_unknown() ? taken_unknown_ : taken_known_;
    if (on) bits.set(place_[number]);
    if (!on) bits.unset(place_[number]);
  }

  void take(uint32_t entry, State next, bool is_forced) {
    const uint32_t number = of_entry_[entry];
    taken_.push_back({entry, state_, is_forced});
    state_ = next;
    mark(number, true);
    unlink(entry);
    if (operations_[number].is_unknown()) return;
    unlink(end_entry_[number]);
    --left_;
  }

  // Gives back what was taken last and had an alternative. False: nothing had.
  bool step_back(uint32_t* entry) {
    while (!taken_.empty()) {
      const Taken last = taken_.back();
      taken_.pop_back();
      same_as_longest_ = std::min(same_as_longest_, taken_.size());
      const uint32_t number = of_entry_[last.entry];
      if (!operations_[number].is_unknown()) {
        link_again(end_entry_[number]);
        ++left_;
      }
      link_again(last.entry);
      mark(number, false);
      state_ = last.before;
      if (last.is_forced) continue;
      *entry = next_[last.entry];
      return true;
    }
    return false;
  }

  void unlink(uint32_t entry) {
    next_[before_[entry]] = next_[entry];
    before_[next_[entry]] = before_[entry];
  }
  void link_again(uint32_t entry) {
    next_[before_[entry]] = entry;
    before_[next_[entry]] = entry;
  }

  // What is taken, of which the first `same` are in `*out` already.
  void copy_taken(size_t same, std::vector<uint32_t>* out) const {
    out->resize(same);
    for (size_t i = same; i < taken_.size(); ++i) out->push_back(of_entry_[taken_[i].entry]);
  }
  // An order that only grows is copied once.
  void note_longest() {
    copy_taken(std::min(same_as_longest_, result_.longest.size()), &result_.longest);
    same_as_longest_ = taken_.size();
  }
  // The end at `entry` cannot be passed: its operation was not taken.
  void note_stuck(uint32_t entry) {
    if (entry == kHead) return;
    const uint32_t operation = of_entry_[entry];
    if (!result_.stuck || taken_.size() > result_.longest.size()) {
      note_longest();
      result_.stuck = operation;
      result_.others.clear();
      return;
    }
    if (taken_.size() < result_.longest.size() || taken_.size() > kMostOfOthers ||
        result_.others.size() == kMostOthers || operation == *result_.stuck)
      return;
    for (const auto& [other, order] : result_.others) {
      if (other == operation) return;
    }
    result_.others.emplace_back(operation, std::vector<uint32_t>());
    copy_taken(0, &result_.others.back().second);
  }

  bool is_over() {
    if (visited_.bytes() + asked_.bytes() + model_.bytes() > bounds_.bytes)
      result_.why = "the bound of memory was reached";
    if (bounds_.stop && bounds_.stop()) result_.why = "the time was over";
    return !result_.why.empty();
  }

  Result finish(Verdict verdict) {
    result_.verdict = verdict;
    result_.visited = visited_.size();
    if (verdict != Verdict::kNot) {
      result_.stuck.reset();
      result_.others.clear();
    }
    return std::move(result_);
  }

  const std::span<const Operation> operations_;
  Model& model_;
  const Bounds& bounds_;
  std::vector<uint32_t> next_, before_;  // of entries
  std::vector<uint32_t> of_entry_;       // the operation
  std::vector<bool> is_end_;             // of an entry
  std::vector<uint32_t> end_entry_;      // of an operation; kNone: it has none
  std::vector<uint32_t> place_;         // of an operation among the known ones, or among the others
  std::vector<uint32_t> equal_before_;  // of an unknown one: the one before it with the same step
  std::vector<bool> only_reads_;        // of an operation that is known
  Bits taken_known_, taken_unknown_;
  std::vector<Taken> taken_;
  size_t same_as_longest_ =
      0;  // of taken_, from the first one on: what result_.longest begins with
  State state_ = 0;
  uint32_t left_ = 0;  // known ones that are not taken
  Visited visited_;
  Asked asked_;
  std::vector<uint64_t> words_;
  uint64_t steps_ = 0;
  Result result_;
};

}  // namespace

Result check(std::span<const Operation> operations, Model* model, const Bounds& bounds) {
  return Search(operations, model, bounds).run();
}

}  // namespace filibuster::linear
