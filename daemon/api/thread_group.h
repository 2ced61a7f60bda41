// Threads for one kind of jobs. They are started when they are needed, up to a bound, and stay; what is more waits.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace filibuster {

class ThreadGroup {
 public:
  explicit ThreadGroup(size_t most) : most_(most) {}
  ~ThreadGroup() { finish(); }

  void run(std::function<void()> job);
  size_t waiting();  // jobs that no thread has begun
  void finish();     // returns when all jobs are done

 private:
  void work();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool finished_ = false;
};

}  // namespace filibuster
