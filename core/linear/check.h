// Is a history linearisable? Is there an order of its operations that keeps the order of those that do not overlap, and in which
// each step is one of the model (Herlihy and Wing 1990)? The search is that of Wing and Gong (1993) with the memory of Lowe (2017): an
// operation is taken if no other one that has ended before its call is left, and a set of taken operations with its state is visited once.
//
//   Result result = check(operations, &model, {.stop = [&] { return clock() > deadline; }});
//   if (result.verdict == Verdict::kNot) ... result.longest, result.stuck ...
//
// What it does besides:
// - Steps are asked of the model once for each state.
// - A visited set is its first open position, a bitset from there on, and its state, so that memory grows with concurrency.
// - A step that only reads is taken as soon as it can happen, without an alternative: it can stand first in any order that there is.
//   (Not so for a step that keeps this state and changes others: writing 0 onto 0 may be needed later, behind a 1.)
// - Of unknown operations with equal steps the earliest one is taken first. One may never happen; while one keeps the state, it is left out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/linear/history.h"

namespace filibuster::linear {

enum class Verdict : uint8_t { kLinearisable, kNot, kUnknown };

inline constexpr size_t kMostOthers = 7;

struct Bounds {
  size_t bytes = size_t{2} << 30;        // of visited sets, and of the states that the model keeps
  std::function<bool()> stop = nullptr;  // is asked now and then; true ends the search
};

struct Result {
  Verdict verdict = Verdict::kUnknown;
  std::string why;  // of kUnknown
  // Numbers of operations: an order that holds all that are known; of kNot the longest one that the search has met.
  std::vector<uint32_t> longest;
  std::optional<uint32_t> stuck;  // of kNot: the operation behind whose end `longest` cannot go on
  // Of kNot: other orders that are as long, and the operation behind whose end each cannot go on. At most kMostOthers.
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> others;
  uint64_t visited = 0;  // sets of operations
};

// `operations` in any order. Error-free for any input: an operation that ends before its call is taken to end with it.
Result check(std::span<const Operation> operations, Model* model, const Bounds& bounds = {});

}  // namespace filibuster::linear
