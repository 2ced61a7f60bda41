// One process of the test, or of a service, at its snapshot point, or on its way there
// (core/protocol/snapshot.h).
//
//   auto snapshot = Snapshot::start({spawn, folder, "1"}, &owned);
//   if ((*snapshot)->wait_ready(limit, wake_fd) == Snapshot::State::kReady)
//     if ((*snapshot)->obstacle().empty()) auto test = (*snapshot)->fork(log_path);
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/protocol/snapshot.h"
#include "core/result.h"
#include "daemon/base/descriptors.h"
#include "daemon/lane/running_test.h"
#include "daemon/process/process.h"
#include "daemon/process/session_lane.h"

namespace filibuster {

class Snapshot {
 public:
  enum class State {
    kStarting,
    kReady,    // at its snapshot point
    kEnded,    // the process ended before it
    kStopped,  // the session is to stop
  };
  struct Options {
    SpawnOptions spawn;            // its log is that of the snapshot
    std::string folder;            // of the socket
    std::string name;              // tells it from other snapshots of the session
    std::string service = "test";  // in processes.json
    bool may_fork = true;
  };
  // `owned` outlives the snapshot.
  static Result<std::unique_ptr<Snapshot>> start(Options options, OwnedProcesses* owned);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot();  // ends the process by SIGKILL, unless it was let go

  // kStarting: `limit` is over.
  State wait_ready(std::chrono::milliseconds limit, int wake_fd);
  // Why it cannot be forked; "": it can.
  const std::string& obstacle() const { return obstacle_; }
  NotForked obstacle_kind() const { return obstacle_kind_; }
  // It cannot be started while another test of the same command runs, either.
  bool is_exclusive() const { return exclusive_; }
  // Since when it waits, and since when it runs.
  uint64_t reached_ns() const { return reached_ns_; }
  uint64_t started_ns() const { return started_ns_; }
  const Process& process() const { return *process_; }

  // One execution: a child whose output goes to the file `log`, which begins with what was written before
  // the snapshot point. One at a time. The snapshot outlives it. Error: no more can be forked.
  enum class Child {
    kForked,
    kReset
  };  // kReset: one that has ended an execution and was reset, if there is one
  Result<std::unique_ptr<RunningTest>> fork(const std::string& log, Child child);
  // What has become of children that were to be reset.
  struct Resets {
    int refused_in_turn = 0;
    bool refused_for_good = false;
    std::string why;  // the last one was refused
  };
  const Resets& resets() const { return resets_; }
  // The process itself goes on. What it has written goes to the file `log`, with what it writes from now on;
  // `append`: behind what is there. The snapshot is of no use any more.
  Result<Process> let_go(const std::string& log, bool append = false);

 private:
  class Forked;
  Snapshot() = default;
  State take_hello();
  void note(NotReset refusal, const char (&why)[kWhyNotReset]);
  void send_on(UniqueFd socket);
  Result<UniqueFd> begin_log(const std::string& log, bool append) const;

  OwnedProcesses* owned_ = nullptr;
  std::optional<Process> process_;
  UniqueFd listener_, socket_;
  std::vector<UniqueFd> sent_on_;  // of processes that are not this one
  std::string socket_path_, log_path_;
  bool ready_ = false;
  std::string obstacle_;
  NotForked obstacle_kind_ = NotForked::kUnknown;
  bool exclusive_ = false;
  uint64_t reached_ns_ = 0, started_ns_ = 0;
  Resets resets_;
  pid_t last_ = 0, last_but_one_ = 0;  // children: two take turns
};

// A test that was started as a process of its own.
std::unique_ptr<RunningTest> running_process(Process process);

}  // namespace filibuster
