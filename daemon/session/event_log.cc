#include "daemon/session/event_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

constexpr size_t kKept = 20000;  // a client that is further behind misses some
// Executions may take a few milliseconds each. Events are gathered this long, so that the client gets
// several at once.
constexpr std::chrono::milliseconds kGather{25};

}  // namespace

void EventLog::tell(nlohmann::json event) {
  redact_texts(&event);
  const std::lock_guard lock(mutex_);
  event["n"] = first_ + events_.size();
  events_.push_back(std::move(event));
  if (events_.size() > 2 * kKept) {
    events_.erase(events_.begin(), events_.begin() + kKept);
    first_ += kKept;
  }
  changed_.notify_all();
}

void EventLog::end(int exit_code) {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  exit_code_ = exit_code;
  changed_.notify_all();
}

bool EventLog::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

EventLog::News EventLog::news(uint64_t after, std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  const auto end = [&] { return first_ + events_.size(); };
  changed_.wait_for(lock, wait, [&] { return end() > after || ended_; });
  if (!ended_ && end() > after)
    changed_.wait_until(lock, last_asked_ + kGather, [&] { return ended_; });
  last_asked_ = std::chrono::steady_clock::now();
  News out;
  for (uint64_t n = std::max(after, first_); n < end(); ++n) {
    out.events.push_back(events_[n - first_]);
  }
  out.next = std::max(after, end());
  out.done = ended_;
  out.exit_code = exit_code_;
  return out;
}

}  // namespace filibuster
