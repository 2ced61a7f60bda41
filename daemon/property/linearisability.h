// Is a history of calls linearisable? Each key of an object that has keys is checked alone (Herlihy and Wing 1990, 'locality'; Horn and
// Kroening 2015), several at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/linear/check.h"
#include "daemon/property/history.h"
#include "daemon/property/object.h"

namespace filibuster::property {

struct CheckOptions {
  size_t threads = 1;
  size_t bytes = size_t{2} << 30;  // of visited sets, of all threads
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
  bool partition = true;  // false: all keys are one object
  // What is known of calls without an answer narrows what they may have done (Call::reached, Call::seen_answer).
  bool evidence = false;
};

// An order in which the calls of a part may have happened, as far as it goes.
struct Order {
  std::vector<size_t> calls;           // numbers in History::calls
  std::vector<nlohmann::json> states;  // behind each of them
  std::optional<size_t>
      stuck;  // the call that had to come next, and cannot; nullopt: the order is whole
};

// The calls of one object.
struct CheckedPart {
  std::string key;
  linear::Verdict verdict = linear::Verdict::kUnknown;
  std::string why;            // of kUnknown
  std::vector<size_t> calls;  // of this part, those that did nothing left out
  nlohmann::json initial;     // the state before the first call
  // The longest orders; of kLinearisable one that is whole.
  std::vector<Order> orders;
  uint64_t visited = 0;
};

struct CheckedHistory {
  linear::Verdict verdict = linear::Verdict::kUnknown;
  std::string why;  // of kUnknown
  std::vector<CheckedPart>
      parts;             // in the order of their first calls; without those that were not begun
  size_t not_begun = 0;  // parts: another one is not linearisable
  size_t left_out = 0;   // calls that are of no part, since they did nothing
  uint64_t visited = 0;
};

// An object in its first state. Objects of several parts are used at once, each by one thread.
using ObjectMaker = std::function<Result<std::unique_ptr<Object>>()>;
// Error: "LINE: what was expected", where a call is none of the object; or why the object cannot be asked.
Result<CheckedHistory> check_history(const History& history, const ObjectMaker& make,
                                     const CheckOptions& options);

// "line 12: process 3, read → 5": as reports name a call.
std::string call_text(const Call& call);

}  // namespace filibuster::property
