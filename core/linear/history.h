// A history of operations that several clients made on one object, as the checker wants it (check.h). Reading one: daemon/property/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace filibuster::linear {

// Of a model: equal numbers are equal states, and equal steps (a command with its answer).
using State = uint32_t;
using Step = uint32_t;

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// `call` and `end` are times on one clock, in any unit. Both ends belong to the operation: two that touch are concurrent.
struct Operation {
  uint32_t client = 0;
  int64_t call = 0;
  int64_t end =
      0;  // kNever: its outcome is not known. It may take effect at any time behind its call, or never
  Step step = 0;

  bool is_unknown() const { return end == kNever; }
};

// What an object may do. Both functions are pure: the same arguments have the same result. States are numbered by the model.
class Model {
 public:
  virtual ~Model() = default;
  virtual State initial() = 0;
  // The state behind a step; nullopt: the step cannot happen in this state. A step of an unknown operation stands for its effect.
  virtual std::optional<State> next(State from, Step step) = 0;
  // Does the step leave every state as it is, in which it can happen? False where that is not known. A write of the value that is there
  // does not: elsewhere it changes the state.
  virtual bool only_reads(Step) { return false; }
  // About what it keeps of states, which counts for the bound of memory.
  virtual size_t bytes() const { return 0; }
};

}  // namespace filibuster::linear
