// Between the API, at which the program of a structured test asks what it is to do next (POST /v1/blocks, docs/api.md), and the
// thread that directs the test. Thread-safe.
//
//   program:  post({"hello": ...})  -> {"do": "begin", ...}     director:  hello(), tell({"do": "begin", ...}) -> {"begun": 1}
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace filibuster::principled {

// A time in a block in which calls get no faults, or belong to a named group; CLOCK_MONOTONIC, in nanoseconds.
struct Interval {
  uint64_t begin_ns = 0, end_ns = 0;  // 0: it goes on
  std::string group;                  // "": injection is suspended
};

class BlockChannel {
 public:
  // --- for the API ---
  // A post of the program; returns the answer. Waits for the next instruction at most `wait`. Error: nobody directs a test, or the
  // program says what does not fit.
  Result<nlohmann::json> post(const nlohmann::json& said, std::chrono::milliseconds wait);

  // --- for the director ---
  // A test begins whose program is about to come. `barrier`: returns when the lane is quiet.
  void open(std::function<void()> barrier);
  // Its program may still ask: it is told to finish.
  void close();
  // Waits for what the program says next. `goes_on` is asked again and again, and ends the wait when it says false: nullopt.
  std::optional<nlohmann::json> next(const std::function<bool()>& goes_on);
  void tell(nlohmann::json instruction);
  // Since the last call of it.
  std::vector<Interval> take_intervals();

 private:
  void note(const nlohmann::json& said);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  std::function<void()> barrier_;
  std::optional<nlohmann::json> said_, instruction_;
  std::vector<Interval> intervals_;
};

}  // namespace filibuster::principled
