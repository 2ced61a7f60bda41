// Task contexts: which incoming request causes what runs now, where the thread alone does not prove
// it (event loops, pools of threads). A runtime's helper carries the context with the task, by the
// runtime's own means (CPython contextvars, Node AsyncLocalStorage, wrapped Runnables of the JVM).
// A context is a value, not a reference: work that outlives the request is still caused by it.
//
// Three ways in:
//   pushed   the helper calls swap_task around the task (threads that run one task at a time)
//   carried  the helper puts a RuntimeField into the request (core/rpc/header_field.h)
//   pulled   a TaskReader (runtimes.h) asks the runtime at the moment of the request (an event loop that writes
//            from within the task)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/rpc/header_field.h"
#include "preload/runtimes/stack.h"

namespace filibuster::preload {

struct TaskContext {
  enum class State : uint8_t {
    kUnknown = 0,  // no helper said anything: the other rules decide
    kNothing,      // known to be caused by no incoming request
    kRequest,      // `cause` is the incoming request
  };
  State state = State::kUnknown;
  RpcContext cause;
  uint64_t site = 0;  // where the helper saw the call (intern_site); 0: the library looks itself
};

// The context of the calling thread: what its helper pushed, or else what a TaskReader pulls.
TaskContext current_task();
// Pushes a context for the calling thread. Returns the one before, to be put back when the task ends.
TaskContext swap_task(const TaskContext& next);
// What a task that starts now on another thread inherits: current_task(), else the request that the
// calling thread alone is serving.
TaskContext inheritable_task();

// The field that a request carries from where it is made to the socket that it leaves by. If the
// context is not known, the field has the call site only.
RuntimeField field_of(const TaskContext& task, uint64_t site);

// --- call sites ------------------------------------------------------------------------------

// Keeps a call stack that a helper took (one frame a line, innermost first, "file:line function").
// Returns its number, which is the same for the same text; 0: the table is full, or there is no
// memory. Frames that frame_filter.h drops do not take part, unless nothing else is left.
uint64_t intern_site(std::string_view text);
// Keeps a call stack that capture_stack gave. 0: it is empty, or there is no room as for intern_site.
uint64_t intern_stack(const CapturedStack& stack);
// The stack again, as capture_stack would have given it; the text goes into `buffer`. False: unknown.
bool site_stack(uint64_t site, char* buffer, size_t capacity, CapturedStack* stack);
// The stack of `site` if it is known, else the calling thread's.
CapturedStack stack_of(uint64_t site, char* buffer, size_t capacity);

}  // namespace filibuster::preload
