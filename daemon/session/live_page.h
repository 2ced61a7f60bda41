// The data of the live page, between the session's thread, which makes them, and the server's threads,
// which hand them out. They are made only while somebody asks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace filibuster {

class LivePage {
 public:
  // --- the session's thread ---
  // True: somebody asked since the last put(), or nothing was put yet.
  bool wanted() const;
  void put(std::string summary, std::string executions = "[]");
  // Waits until whoever looks at the page has fetched what the last put() brought, the executions too, at most
  // `most`. Returns at once where nobody looks.
  void wait_until_fetched(std::chrono::milliseconds most);

  // --- the server's threads ---
  struct Version {
    uint64_t number = 0;  // 0: there are no data yet
    std::string summary;
  };
  // The data, if they are newer than version `seen`; else asks for newer ones, and waits for them at
  // most `wait`. `summary` is empty where nothing newer came.
  Version fetch(uint64_t seen, std::chrono::milliseconds wait);
  std::string executions();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t number_ = 0;
  uint64_t fetched_ = 0,
           given_ = 0;  // the versions whose summary, and whose executions, were handed out
  bool wanted_ = true;  // the first data are made at once: whoever opens the page sees them
  std::string summary_, executions_;
  std::chrono::steady_clock::time_point last_asked_;
};

}  // namespace filibuster
