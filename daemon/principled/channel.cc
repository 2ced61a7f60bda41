#include "daemon/principled/channel.h"

#include <time.h>

namespace filibuster::principled {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::milliseconds kLook{50};  // between two looks at whether a program still runs

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

void BlockChannel::open(std::function<void()> barrier) {
  const std::lock_guard lock(mutex_);
  is_open_ = true;
  barrier_ = std::move(barrier);
  said_.reset();
  instruction_.reset();
  intervals_.clear();
}

void BlockChannel::close() {
  const std::lock_guard lock(mutex_);
  is_open_ = false;
  changed_.notify_all();
}

// `suspend` and `group` change what the calls from now on mean, so nothing of before may be under way.
void BlockChannel::note(const Json& said) {
  std::function<void()> barrier;
  {
    const std::lock_guard lock(mutex_);
    barrier = barrier_;
  }
  if (barrier) barrier();
  const bool is_group = said.contains("group");
  const Json& value = said.at(is_group ? "group" : "suspend");
  const bool begins = is_group ? value.is_string() : value == Json(true);
  const std::lock_guard lock(mutex_);
  const uint64_t now = now_ns();
  // A group within a group ends where the outer one is named again.
  for (Interval& each : intervals_) {
    if (each.end_ns == 0 && each.group.empty() != is_group) each.end_ns = now;
  }
  if (begins) intervals_.push_back({now, 0, is_group ? value.get<std::string>() : ""});
}

Result<Json> BlockChannel::post(const Json& said, std::chrono::milliseconds wait) {
  if (!said.is_object()) return Error{"expected a JSON object"};
  if (said.contains("suspend") || said.contains("group")) {
    note(said);
    return Json::object();
  }
  std::unique_lock lock(mutex_);
  const Json finish = {{"do", "finish"}, {"passed", true}, {"text", ""}};
  if (!is_open_) {
    if (said.contains("waiting") || said.contains("ended") || said.contains("ran")) return finish;
    return Error{
        "no principled test runs: start it by `filibuster principled`, which starts its program"};
  }
  if (!said.contains("waiting")) {
    if (said_)
      return Error{"the last post of this program has not been read: it posts from one thread"};
    said_ = said;
    changed_.notify_all();
  }
  changed_.wait_for(lock, wait, [&] { return instruction_.has_value() || !is_open_; });
  if (instruction_) {
    Json out = std::move(*instruction_);
    instruction_.reset();
    return out;
  }
  if (!is_open_) return finish;
  return Json{{"do", "wait"}};
}

std::optional<Json> BlockChannel::next(const std::function<bool()>& goes_on) {
  std::unique_lock lock(mutex_);
  while (!said_) {
    changed_.wait_for(lock, kLook, [&] { return said_.has_value(); });
    if (said_) break;
    lock.unlock();
    const bool more = goes_on();
    lock.lock();
    if (!more && !said_) return std::nullopt;
  }
  std::optional<Json> out = std::move(said_);
  said_.reset();
  return out;
}

void BlockChannel::tell(Json instruction) {
  const std::lock_guard lock(mutex_);
  instruction_ = std::move(instruction);
  changed_.notify_all();
}

std::vector<Interval> BlockChannel::take_intervals() {
  const std::lock_guard lock(mutex_);
  return std::exchange(intervals_, {});
}

}  // namespace filibuster::principled
