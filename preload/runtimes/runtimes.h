// The runtimes that have a helper: one row each in runtimes.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

#include "preload/runtimes/task.h"

namespace filibuster::preload {

struct TaskReader {
  // Once per registration (or again, where it was postponed), on a thread of the host, outside every lock: installs the helper if this
  // process runs the runtime. What the report must say if that did not work; empty: it did, or there
  // is no such runtime here.
  std::string_view (*install)();
  // The running task's context; kUnknown: this thread runs no task of this runtime. nullptr: the
  // helper pushes or carries.
  TaskContext (*current)();
  // This thread has read an incoming request: the task that will serve it is told. nullptr: the
  // helper sees the field in the request by itself.
  // `multiplexed`: one of several on its connection (HTTP/2), which whatever thread reads for all.
  void (*incoming)(const RpcContext& request, bool multiplexed);
};

extern const TaskReader kCpythonTasks;  // cpython/helper.cc

extern const TaskReader kJvmTasks;  // jvm/jvm.cc

void install_runtimes();
// Of install(): the runtime is still starting. install_runtimes() is called again by the next hook.
void postpone_runtimes();
extern std::atomic<bool> g_runtimes_postponed;
TaskContext pull_task();
void tell_runtimes(const RpcContext& incoming, bool multiplexed);

}  // namespace filibuster::preload
