#include "daemon/session/live_page.h"

namespace filibuster {
namespace {

// A page that has not asked for so long is closed.
constexpr std::chrono::seconds kLooks{5};

}  // namespace

bool LivePage::wanted() const {
  const std::lock_guard lock(mutex_);
  return wanted_;
}

void LivePage::put(std::string summary, std::string executions) {
  const std::lock_guard lock(mutex_);
  summary_ = std::move(summary);
  executions_ = std::move(executions);
  ++number_;
  wanted_ = false;
  changed_.notify_all();
}

void LivePage::wait_until_fetched(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  if (last_asked_ + kLooks < std::chrono::steady_clock::now()) return;
  changed_.wait_for(lock, most, [this] { return fetched_ == number_ && given_ == number_; });
}

LivePage::Version LivePage::fetch(uint64_t seen, std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  last_asked_ = std::chrono::steady_clock::now();
  if (number_ <= seen) {
    wanted_ = true;
    changed_.wait_for(lock, wait, [&] { return number_ > seen; });
  }
  if (number_ <= seen) return {number_, ""};
  fetched_ = number_;
  changed_.notify_all();
  return {number_, summary_};
}

std::string LivePage::executions() {
  const std::lock_guard lock(mutex_);
  given_ = number_;
  changed_.notify_all();
  return executions_;
}

}  // namespace filibuster
