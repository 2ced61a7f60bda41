// The process at the snapshot point, which forks a child for each execution, or has two that are reset in turn. It never runs a line of
// the test again, unless it goes on as an execution itself.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "preload/snapshot/fresh.h"
#include "preload/snapshot/standby.h"

namespace filibuster::preload {

class SnapshotServer {
 public:
  // `socket` leads to the daemon, and is closed in each process that is an execution; `log` is the inode of the log until now. `timers` are armed again in each execution.
  SnapshotServer(int socket, const Timers& timers, ino_t log)
      : socket_(socket), timers_(timers), log_(log) {}

  // Returns in each process that is an execution.
  void serve();

 private:
  bool fork_one(int log);
  bool use_standby(int log);
  void resume();
  void begin_execution(int log);
  void watch_to_end(pid_t child);
  void watch_to_end(Standby* standby);
  void leave_standbys();

  int socket_;
  const Timers& timers_;
  ino_t log_;
  sigset_t mask_;
  struct sigaction on_child_ {};
  Standby standbys_[2];  // in turn: one is reset while the other one executes
  int next_ = 0;
};

// Ends this process at once: nobody waits for what it would do.
[[noreturn]] void leave_for_good();

}  // namespace filibuster::preload
