// A thread of the agent. It exists only while there is something to do that no thread of the application does.
#pragma once

namespace filibuster::preload {

// Starts a thread that blocks the signals of the host, is not seen by hooks, and ends when `run` returns.
// False: it cannot be made now.
bool start_agent_thread(void (*run)(void*), void* argument);

}  // namespace filibuster::preload
