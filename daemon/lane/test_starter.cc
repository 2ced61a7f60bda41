#include "daemon/lane/test_starter.h"

#include <algorithm>
#include <thread>

#include "daemon/process/session_lane.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;

// What a test computed from a clock before its snapshot point becomes older with each child. A snapshot is
// made anew after this time, or after this many times what it took to make it.
constexpr uint64_t kLeastAgeNs = 5'000'000'000;
constexpr uint64_t kAgeOfStart = 20;
// A runtime that waits at its snapshot point does not stop its clocks: timers of the test run there.
constexpr uint64_t kMostWaitNs = 400'000'000;
constexpr size_t kMostAhead = 4;
// A test whose children cannot be reset so many times in turn is forked: it costs more to prepare a child for that.
constexpr int kMostRefusedInTurn = 3;

}  // namespace

std::string_view way_name(Way way) {
  switch (way) {
    case Way::kReset:
      return "reset";
    case Way::kForked:
      return "forked";
    case Way::kAhead:
      return "ahead";
    case Way::kPlain:
      break;
  }
  return "plain";
}

TestStarter::TestStarter(SpawnOptions spawn, std::string folder, std::string log,
                         OwnedProcesses* owned)
    : owned_(owned),
      spawn_(std::move(spawn)),
      folder_(std::move(folder)),
      log_(std::move(log)),
      depth_(std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostAhead)) {
  spawn_.log_path = log_;
}

Result<std::unique_ptr<Snapshot>> TestStarter::start_snapshot() {
  Snapshot::Options options{.spawn = spawn_, .folder = folder_, .name = std::to_string(++started_)};
  options.spawn.log_path += ".snapshot" + options.name;
  return Snapshot::start(std::move(options), owned_);
}

Result<void> TestStarter::find_way(milliseconds limit, int wake_fd) {
  auto snapshot = start_snapshot();
  if (!snapshot) return snapshot.error();
  const auto state = snapshot.value()->wait_ready(limit, wake_fd);
  way_ = Way::kPlain;
  if (state == Snapshot::State::kStopped) return {};
  if (state != Snapshot::State::kReady) {
    why_ = state == Snapshot::State::kEnded
               ? "its own process makes no connection: another one that it starts does"
               : "it did not connect in time";
    if (state == Snapshot::State::kEnded) kind_ = NotForked::kAnotherProcess;
    return {};
  }
  why_ = snapshot.value()->obstacle();
  kind_ = snapshot.value()->obstacle_kind();
  if (why_.empty()) {
    way_ = best_;
    snapshot_ = std::move(snapshot).value();
  } else if (!snapshot.value()->is_exclusive()) {
    way_ = Way::kAhead;
    ahead_.push_back(std::move(snapshot).value());
  }
  return {};
}

void TestStarter::end_snapshots() {
  snapshot_.reset();
  ahead_.clear();
}

void TestStarter::fall_back(const std::string& why) {
  if (way_ == Way::kPlain) return;
  if (way_ == Way::kReset) {
    way_ = Way::kForked;
    why_not_reset_ = why;
    return;
  }
  why_not_reset_.clear();
  way_ = way_ == Way::kForked ? Way::kAhead : Way::kPlain;
  why_ = why;
  kind_ = NotForked::kDiffers;
  end_snapshots();
}

void TestStarter::use_plain(const std::string& why) {
  way_ = Way::kPlain;
  why_ = why;
  why_not_reset_.clear();
  kind_ = NotForked::kUnknown;
  end_snapshots();
}

Result<std::unique_ptr<RunningTest>> TestStarter::start(uint32_t execution, Start start,
                                                        milliseconds limit, int wake_fd) {
  if (start == Start::kPlain || way_ == Way::kPlain) return start_plain(execution);
  auto test = way_ == Way::kAhead ? take_one_ahead(limit, wake_fd) : fork(limit, wake_fd);
  if (test) return test;
  use_plain(test.error().message);
  return start_plain(execution);
}

Result<std::unique_ptr<RunningTest>> TestStarter::start_plain(uint32_t execution) {
  SpawnOptions options = spawn_;
  set_variable(&options.environment, "FILIBUSTER_EXECUTION", std::to_string(execution));
  auto process = Process::spawn(options);
  if (!process) return process.error();
  return running_process(std::move(process).value());
}

Result<std::unique_ptr<RunningTest>> TestStarter::fork(milliseconds limit, int wake_fd) {
  if (snapshot_) {
    const Snapshot::Resets& resets = snapshot_->resets();
    if (way_ == Way::kReset &&
        (resets.refused_for_good || resets.refused_in_turn >= kMostRefusedInTurn))
      fall_back(resets.why);
    const uint64_t took = snapshot_->reached_ns() - snapshot_->started_ns();
    const uint64_t most = std::max(kLeastAgeNs, kAgeOfStart * took);
    if (clock_ns() - snapshot_->reached_ns() > most) snapshot_.reset();
  }
  if (!snapshot_) {
    auto snapshot = start_snapshot();
    if (!snapshot) return snapshot.error();
    if (snapshot.value()->wait_ready(limit, wake_fd) != Snapshot::State::kReady ||
        !snapshot.value()->obstacle().empty())
      return Error{"it could be forked at first, but not when it was started again"};
    snapshot_ = std::move(snapshot).value();
  }
  return snapshot_->fork(log_,
                         way_ == Way::kReset ? Snapshot::Child::kReset : Snapshot::Child::kForked);
}

Result<std::unique_ptr<RunningTest>> TestStarter::take_one_ahead(milliseconds limit, int wake_fd) {
  std::unique_ptr<Snapshot> next;
  while (!next) {
    if (ahead_.empty()) {
      auto snapshot = start_snapshot();
      if (!snapshot) return snapshot.error();
      ahead_.push_back(std::move(snapshot).value());
    }
    std::unique_ptr<Snapshot> first = std::move(ahead_.front());
    ahead_.pop_front();
    if (first->wait_ready(limit, wake_fd) != Snapshot::State::kReady)
      return Error{"a process that was started ahead ended before its first connection"};
    if (clock_ns() - first->reached_ns() <= kMostWaitNs) next = std::move(first);
  }
  auto process = next->let_go(log_);
  if (!process) return process.error();
  // The next ones start while this one runs.
  while (ahead_.size() < depth_) {
    auto snapshot = start_snapshot();
    if (!snapshot) break;
    ahead_.push_back(std::move(snapshot).value());
  }
  return running_process(std::move(process).value());
}

}  // namespace filibuster
