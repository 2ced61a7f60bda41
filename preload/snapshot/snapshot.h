// Snapshots of the test (core/protocol/snapshot.h): at its snapshot point the process stops, and the daemon
// has it forked once for each execution, or lets it go on as one. A child of the fork has what a fresh start
// has from there on: sockets made anew, files of its own, its log, signals, timers, process group.
//
// Only the process that the daemon started as the test has a snapshot point, and only where the
// environment asks for it. In any other process the check is one relaxed load.
#pragma once

#include <atomic>

namespace filibuster::preload {

enum class SnapshotState : int {
  kOff,     // there is none, or it is passed
  kWanted,  // not reached yet
  kHeld,    // a thread of this process is at it
};
extern std::atomic<SnapshotState> g_snapshot;

enum class SnapshotPoint {
  kConnect,
  kBind,  // to a port of its choice: only for a process that waits (tests bind to learn what works)
  kThread,  // only for a process that is forked
};

// Called by a hook before anything that cannot be shared by two executions. Returns in each process that
// is an execution. Keeps errno.
void stop_at_snapshot(SnapshotPoint point);

inline void reach_snapshot(SnapshotPoint point) {
  if (__builtin_expect(g_snapshot.load(std::memory_order_relaxed) != SnapshotState::kOff, 0))
    stop_at_snapshot(point);
}

// A child that the test forks by itself has no snapshot point.
void forget_snapshot_after_fork();

}  // namespace filibuster::preload
