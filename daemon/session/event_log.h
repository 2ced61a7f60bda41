// What a session tells about itself: numbered events (docs/api.md), which clients fetch from a number
// on. May be used from several threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

namespace filibuster {

class EventLog {
 public:
  // Numbers the event and keeps it. Secrets in its texts are redacted.
  void tell(nlohmann::json event);
  // No further event follows.
  void end(int exit_code);
  bool ended() const;

  struct News {
    std::vector<nlohmann::json> events;
    uint64_t next = 0;
    bool done = false;
    int exit_code = 0;
  };
  // Events with n >= after; waits at most `wait` for the first, and a little for more.
  News news(uint64_t after, std::chrono::milliseconds wait);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<nlohmann::json> events_;  // the last kKept events, or up to twice as many
  uint64_t first_ = 0;
  std::chrono::steady_clock::time_point last_asked_;
  bool ended_ = false;
  int exit_code_ = 0;
};

}  // namespace filibuster
