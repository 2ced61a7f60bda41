// How the test of an execution is started: as a process of its own (plain), as a child that is forked from
// a process at its snapshot point, as such a child that has ended another execution and was reset, or as a
// process that was started ahead and waits there (core/protocol/snapshot.h).
//
//   TestStarter starter(spawn, folder, log);
//   starter.find_way(limit, wake_fd);       // way(), why_not_forked()
//   auto test = starter.start(17, TestStarter::Start::kBest, limit, wake_fd);
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "core/result.h"
#include "daemon/lane/running_test.h"
#include "daemon/lane/snapshot.h"

namespace filibuster {

// How executions are started, in the order in which each is the fallback of the one before.
enum class Way : uint8_t { kReset, kForked, kAhead, kPlain };
std::string_view way_name(Way way);  // "reset", "forked", "ahead", "plain"

class TestStarter {
 public:
  enum class Start : uint8_t { kPlain, kBest };

  TestStarter() = default;
  // `spawn`: without FILIBUSTER_EXECUTION, which only plain starts have. `folder` is for sockets; `log` is
  // the file of the last execution's output.
  TestStarter(SpawnOptions spawn, std::string folder, std::string log, OwnedProcesses* owned);

  // Starts the test once, until its snapshot point, and decides by what is there. Nothing is executed, but
  // a test that never comes there runs whole. Error: it cannot be started.
  Result<void> find_way(std::chrono::milliseconds limit, int wake_fd);
  Way way() const { return way_; }
  // Why the test is not forked; "": it is, or nobody has tried.
  const std::string& why_not_forked() const { return why_; }
  // Why what is forked is not reset; "": it is, or it is not forked.
  const std::string& why_not_reset() const { return why_not_reset_; }
  NotForked kind_of_why() const { return kind_; }
  // Each child serves one execution.
  void use_no_resets() { best_ = Way::kForked; }
  // From now on the next way is taken. `why` is the reason.
  void fall_back(const std::string& why);
  // Every execution is plain from now on.
  void use_plain(const std::string& why);
  void end_snapshots();

  Result<std::unique_ptr<RunningTest>> start(uint32_t execution, Start start,
                                             std::chrono::milliseconds limit, int wake_fd);

 private:
  Result<std::unique_ptr<Snapshot>> start_snapshot();
  Result<std::unique_ptr<RunningTest>> start_plain(uint32_t execution);
  Result<std::unique_ptr<RunningTest>> fork(std::chrono::milliseconds limit, int wake_fd);
  Result<std::unique_ptr<RunningTest>> take_one_ahead(std::chrono::milliseconds limit, int wake_fd);

  OwnedProcesses* owned_ = nullptr;
  SpawnOptions spawn_;
  std::string folder_, log_;
  Way way_ = Way::kPlain;
  Way best_ = Way::kReset;  // of those of a test that can be forked
  std::string why_, why_not_reset_;
  NotForked kind_ = NotForked::kUnknown;         // of why_
  std::unique_ptr<Snapshot> snapshot_;           // kReset, kForked
  std::deque<std::unique_ptr<Snapshot>> ahead_;  // kAhead
  size_t depth_ = 1;                             // of ahead_
  uint32_t started_ = 0;
};

}  // namespace filibuster
