#include "preload/runtimes/grpc/contexts.h"

#include "core/rpc/header_field.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/grpc/pointer_table.h"

namespace filibuster::preload::grpc {
namespace {

struct Operation {
  TaskContext task;
  uint32_t more = 0;  // other operations under way with the same tag: which is which is not known
};
// An operation whose end is told by a function, not by a queue, stays until another takes its place.
constinit PointerTable<Operation, 4096> g_operations;
constinit PointerTable<const MetadataArray*, 4096> g_requests;

// Objects of libgrpc++ 1.51 have their array 64 bytes behind their beginning, where their tag points.
constexpr size_t kArrayReach = 256;
constinit PointerTable<char, 8192, 8> g_arrays;  // a granule (2^8) is as large as the reach

// The queue that gave this thread its current work.
constinit thread_local const Queue* t_queue __attribute__((tls_model("initial-exec"))) = nullptr;

// The context that the caller's side put into the request (the last one counts).
TaskContext context_in(const MetadataArray& array) {
  TaskContext task;
  for (size_t i = array.count; i-- > 0;) {
    if (text_of(array.elements[i].key) != kHeaderName) continue;
    if (decode_header_value(text_of(array.elements[i].value), &task.cause))
      task.state = TaskContext::State::kRequest;
    break;
  }
  return task;
}

bool is_same(const TaskContext& a, const TaskContext& b) {
  return a.state == b.state && (a.state != TaskContext::State::kRequest || a.cause == b.cause);
}

void work_for(const TaskContext& task, const Queue* queue) {
  swap_task(task);
  t_queue = queue;
}

// Is `tag` that of a request? Then `array` is its metadata (nullptr: not known which).
bool is_request(void* tag, const MetadataArray** array) {
  if (g_requests.take(tag, array)) return true;
  *array = static_cast<const MetadataArray*>(g_arrays.next_after(tag, kArrayReach));
  return *array != nullptr;
}

}  // namespace

void operation_starts(const void* tag, const TaskContext& task) {
  Operation operation;
  if (g_operations.take(tag, &operation)) {
    operation.task = {};
    ++operation.more;
  } else {
    operation.task = task;
  }
  g_operations.force(tag, operation);
}

void operation_forgotten(const void* tag) {
  Operation operation;
  g_operations.take(tag, &operation);
}

void request_awaited(const void* tag, const MetadataArray* array) {
  const MetadataArray* other = nullptr;
  g_requests.force(tag, g_requests.take(tag, &other) ? nullptr : array);
}

void array_begins(MetadataArray* array) {
  g_arrays.force(array, 0);
}

void array_ends(MetadataArray* array) {
  g_arrays.remove(array);
}

void queue_asked(const Queue* queue) {
  // A thread that asks another queue goes on with its work: it waits for what it has started itself.
  if (t_queue == queue) work_for({}, nullptr);
}

void operation_awaited(const void* tag) {
  Operation operation;
  if (g_operations.take(tag, &operation) && operation.more > 0) {
    --operation.more;
    g_operations.force(tag, operation);
  }
}

void event_delivered(const Queue* queue, const Event& event) {
  if (event.type != kOpComplete) return;
  Operation operation;
  const MetadataArray* array = nullptr;
  TaskContext task;
  if (g_operations.take(event.tag, &operation)) {
    task = operation.task;
    if (operation.more > 0) {
      --operation.more;
      operation.task = {};
      g_operations.force(event.tag, operation);
    }
  } else if (event.success != 0 && is_request(event.tag, &array)) {
    // This thread polls for all: from now on, what it reads is not therefore its own work.
    note_multiplexing_thread();
    if (array != nullptr) task = context_in(*array);
    return work_for(task, queue);
  }
  const TaskContext now = inheritable_task();
  if (is_same(task, now)) return;
  if (now.state == TaskContext::State::kUnknown) return work_for(task, queue);
  // The thread works for another RPC just now: it is not known which of the two goes on afterwards.
  if (t_queue != nullptr) return work_for({}, t_queue);
  // `now` is a request that this thread itself has read. An unknown task says nothing against that.
  if (task.state == TaskContext::State::kUnknown) return;
  task.state = TaskContext::State::kNothing;
  work_for(task, queue);
}

}  // namespace filibuster::preload::grpc
