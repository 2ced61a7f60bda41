// What a session is trying now, for who looks at it while it runs. May be used from several threads.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace filibuster {

class Underway {
 public:
  using Clock = std::chrono::steady_clock;

  // Of a test the last text counts; "": nothing of it is tried any more.
  void tries(const std::string& test, std::string what) {
    const std::lock_guard lock(mutex_);
    if (what.empty())
      tried_.erase(test);
    else
      tried_[test] = std::move(what);
  }
  void set_end(Clock::time_point end) {
    const std::lock_guard lock(mutex_);
    end_ = end;
  }

  struct Row {
    std::string test, what;
  };
  std::vector<Row> rows() const {
    const std::lock_guard lock(mutex_);
    std::vector<Row> out;
    for (const auto& [test, what] : tried_) out.push_back({test, what});
    return out;
  }
  // Until the time (--max-time) is over, at least 0; nullopt: it is not bounded.
  std::optional<double> seconds_left() const {
    const std::lock_guard lock(mutex_);
    if (!end_) return std::nullopt;
    return std::max(0.0, std::chrono::duration<double>(*end_ - Clock::now()).count());
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> tried_;  // by test
  std::optional<Clock::time_point> end_;
};

}  // namespace filibuster
