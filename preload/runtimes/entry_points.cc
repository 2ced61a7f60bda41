// The door for helpers that live in a runtime: C functions without types of ours, for ctypes, N-API
// and JNI alike. Exported.

#include "preload/interpose.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/task.h"

namespace filibuster::preload {
namespace {

// "" is kUnknown, "-" kNothing, else the value of a header field.
bool parse_task(const char* text, size_t size, TaskContext* task) {
  *task = {};
  if (size == 0) return true;
  if (size == 1 && *text == '-') {
    task->state = TaskContext::State::kNothing;
    return true;
  }
  task->state = TaskContext::State::kRequest;
  return decode_header_value({text, size}, &task->cause);
}

size_t print_task(const TaskContext& task, char* out) {
  switch (task.state) {
    case TaskContext::State::kUnknown:
      return 0;
    case TaskContext::State::kNothing:
      *out = '-';
      return 1;
    case TaskContext::State::kRequest:
      encode_header_value(task.cause, out);
      return kHeaderValueSize;
  }
  return 0;
}

}  // namespace
}  // namespace filibuster::preload

#define FILIBUSTER_ENTRY extern "C" __attribute__((visibility("default")))

using namespace filibuster;
using namespace filibuster::preload;

// Contexts are texts: "" (not known), "-" (caused by nothing that came in), or the kHeaderValueSize
// bytes of the incoming request's field. A buffer for a context holds kHeaderValueSize bytes, one for
// a field kRuntimeValueSize.

// Does an execution run here? Helpers that cost something ask first.
FILIBUSTER_ENTRY int filibuster_executing() {
  HookScope scope;
  return executing() ? 1 : 0;
}

// Writes the context that work inherits which is handed to another thread or task now. Returns its
// size.
FILIBUSTER_ENTRY size_t filibuster_task(char* out) {
  HookScope scope;
  return print_task(inheritable_task(), out);
}

// Sets the calling thread's context. Writes the previous one into `previous` and returns its size. A
// text that is no context is refused: nothing changes, and the result is SIZE_MAX.
FILIBUSTER_ENTRY size_t filibuster_swap_task(const char* next, size_t size, char* previous) {
  HookScope scope;
  TaskContext task;
  if (!parse_task(next, size, &task)) return SIZE_MAX;
  return print_task(swap_task(task), previous);
}

// The field for a request that is made now for the context `task`, from the call stack `site` (one
// frame a line, innermost first, "file:line function"; may be empty). Returns its size, 100. 0: no
// execution runs, or the context is not known; then nothing must be put into the request.
FILIBUSTER_ENTRY size_t filibuster_field(const char* task, size_t task_size, const char* site,
                                         size_t site_size, char* out) {
  HookScope scope;
  TaskContext context;
  if (!executing() || !parse_task(task, task_size, &context) ||
      context.state == TaskContext::State::kUnknown) {
    return 0;
  }
  RuntimeField field;
  field.has_cause = context.state == TaskContext::State::kRequest;
  field.cause = context.cause;
  field.site = intern_site({site, site_size});
  encode_runtime_value(field, out);
  return kRuntimeValueSize;
}
