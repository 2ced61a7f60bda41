// The runtimes that have a helper: one row each in runtimes.cc.
#pragma once

#include <atomic>
#include <string_view>

#include "preload/runtimes/task.h"

namespace filibuster::preload {

struct TaskReader {
  // Installs the helper if this process runs the runtime. Called once per registration, and again if it
  // was postponed, on a thread of the host and outside every lock. Returns what the report must say if
  // that did not work; empty if it did, or if the runtime is not in this process.
  std::string_view (*install)();
  // Returns the context of the running task; kUnknown if this thread runs no task of this runtime.
  // nullptr where the helper pushes or carries contexts (task.h).
  TaskContext (*current)();
  // Called when this thread has read an incoming request, so that the task that will serve it is told.
  // nullptr where the helper itself sees the field in the request. `multiplexed`: the request is one
  // of several on its connection (HTTP/2), and one thread may read them for all.
  void (*incoming)(const RpcContext& request, bool multiplexed);
  // Is the runtime in this process, and does it let one thread cut another's wait short as a matter of course, so that a wait
  // without a limit of its own may have one all the same? nullptr: it does not.
  bool (*cuts_waits_short)() = nullptr;
};

extern const TaskReader kCpythonTasks;  // cpython/helper.cc

extern const TaskReader kJvmTasks;  // jvm/jvm.cc

extern const TaskReader kRubyTasks;  // ruby/helper.cc

void install_runtimes();
// Called by install() while the runtime is still starting: the next hook calls install_runtimes() again.
void postpone_runtimes();
extern std::atomic<bool> g_runtimes_postponed;
bool waits_may_be_cut_short();  // TaskReader::cuts_waits_short, of any
TaskContext pull_task();
void tell_runtimes(const RpcContext& incoming, bool multiplexed);

}  // namespace filibuster::preload
