#include "preload/runtimes/task.h"

#include "preload/runtimes/runtimes.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

// True while this thread asks a runtime. What the runtime does meanwhile must not ask again.
constinit thread_local bool t_asking __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

TaskContext current_task() {
  if (t_state.task.state != TaskContext::State::kUnknown || t_asking) return t_state.task;
  t_asking = true;
  const TaskContext task = pull_task();
  t_asking = false;
  return task;
}

TaskContext swap_task(const TaskContext& next) {
  const TaskContext previous = t_state.task;
  t_state.task = next;
  return previous;
}

TaskContext inheritable_task() {
  TaskContext task = current_task();
  if (task.state != TaskContext::State::kUnknown || t_state.multiplexing) return task;
  // A forked child that starts a program is not registered itself.
  const LaneOfSession last = last_lane();
  CauseOf cause;
  if (last.session == 0 || !g_incoming.of_thread(&t_state.requests, &cause)) return task;
  task.state = TaskContext::State::kRequest;
  task.cause = {last.session, last.lane, cause.execution, cause.rpc, cause.path};
  return task;
}

RuntimeField field_of(const TaskContext& task, uint64_t site) {
  RuntimeField field;
  field.cause_known = task.state != TaskContext::State::kUnknown;
  field.has_cause = task.state == TaskContext::State::kRequest;
  field.cause = task.cause;
  field.site = site;
  return field;
}

}  // namespace filibuster::preload
