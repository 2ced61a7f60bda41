#include "daemon/api/thread_group.h"

#include <utility>

namespace filibuster {

void ThreadGroup::run(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (jobs_.size() > idle_ && threads_.size() < most_) threads_.emplace_back([this] { work(); });
  changed_.notify_one();
}

size_t ThreadGroup::waiting() {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

void ThreadGroup::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return !jobs_.empty() || finished_; });
    --idle_;
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

void ThreadGroup::finish() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace filibuster
