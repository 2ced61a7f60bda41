// A child that waits for executions, as the process that forks it and the child itself see it.
#pragma once

#include <sys/types.h>

#include "core/protocol/snapshot.h"
#include "preload/snapshot/reset/reset.h"

namespace filibuster::preload {

// From the constructor of the library, before any exit handler: what is registered first runs last, after the destructors of all
// libraries (exit(3), on_exit(3)).
void watch_exit();

class Standby {
 public:
  bool is_there() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  int channel() const { return channel_; }

  // --- in the process that forks it ---
  // Forks. True: in the child. Afterwards it is there, unless no process can be made.
  bool start();
  // Waits until it is as it was at 'go'. False: it has ended instead. The answer says what keeps it from being reset, unless it says
  // already why another one was not.
  bool wait_ready(SnapshotForked* answer);
  // Its execution begins, with this log.
  void begin(int log);
  // It has ended without a reset: why.
  void say_why_it_ended(SnapshotEnded* message) const;
  // Ends it and its sibling, if they are there. `is_reaped`: it has ended, and its pid may be another process already.
  void leave(bool is_reaped = false);

  // --- in a child ---
  // This one is of no concern to it.
  void forget();
  // Returns the log of an execution when it begins, again and again. Its descriptors are fresh then, but for those of `log_inode`.
  int stand_by(ino_t log_inode);

 private:
  reset::Arena* arena_ = nullptr;
  pid_t pid_ = 0;
  int channel_ = -1;
};

}  // namespace filibuster::preload
