// The test of one execution while it runs, however it was started (test_starter.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/process/process.h"

namespace filibuster {

class RunningTest {
 public:
  virtual ~RunningTest() = default;
  virtual pid_t pid() const = 0;  // the leader of its process group
  virtual uint64_t start_time() const = 0;
  // Waits at most `timeout` for its end; also ends when `wake_fd` is readable. What is left of its group
  // has ended with it.
  virtual std::optional<ExitStatus> wait(std::chrono::milliseconds timeout, int wake_fd) = 0;
  // Ends it and its group by SIGKILL, and waits until it is gone.
  virtual void kill() = 0;
};

}  // namespace filibuster
