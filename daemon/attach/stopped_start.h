// Starts a program and stops it before its first instruction, so that it can be attached before it makes a
// connection. Shells and `env` that only start another program are let through to that one: what is
// stopped is what serves.
//
//   auto process = start_stopped(options);
//   ... attach to process->pid() ...
//   let_go(*process);
#pragma once

#include <chrono>

#include "core/result.h"
#include "daemon/process/process.h"

namespace filibuster::attach {

// Precondition: the daemon may trace its children (ptrace(2)). Error: the program does not start, or ended
// before it could be stopped; what it wrote is in its log.
Result<Process> start_stopped(SpawnOptions options, std::chrono::milliseconds limit, int wake_fd);
void let_go(Process* process);

}  // namespace filibuster::attach
