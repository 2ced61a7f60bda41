// A thread of the agent. It exists only while there is something to do that no thread of the application does.
#pragma once

namespace filibuster::preload {

// Starts a thread that blocks the signals of the host, is not seen by hooks, and ends when `run` returns.
// False: it cannot be made now.
bool start_agent_thread(void (*run)(void*), void* argument);
// The kernel has refused one: the process has as many as it may have (RLIMIT_NPROC, or the pids of a cgroup).
bool agent_thread_was_refused();

}  // namespace filibuster::preload
