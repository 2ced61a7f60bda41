// Tells which request causes what a Ruby program does in threads and fibers. helper.rb is compiled into the library and run in
// the machine when a session is there.
//
// A thread that reads a request serves it (rpc/causality.h). What begins elsewhere gets its context here: a thread's is pushed
// (task.h), a fiber's is kept under a number, since the fibers of a thread take turns.
#include <atomic>
#include <cstring>

#include "preload/interpose.h"
#include "preload/os/symbols.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/ruby/api.h"
#include "preload/runtimes/runtimes.h"
#include "preload/session/state.h"

// helper.rb as a text that ends with a zero. (The Makefile knows that this file contains it.)
__asm__(R"(
    .section .rodata
    .globl filibuster_ruby_helper
    .hidden filibuster_ruby_helper
    .type filibuster_ruby_helper, @object
filibuster_ruby_helper:
    .incbin "preload/runtimes/ruby/helper.rb"
    .byte 0
    .size filibuster_ruby_helper, .-filibuster_ruby_helper
    .previous
)");
extern "C" const char filibuster_ruby_helper[];

namespace filibuster::preload {
namespace {

using ruby::api;
using ruby::Value;

// --- fibers ---------------------------------------------------------------------------------------
//
// A number is given once. Its place is given again when so many more were given, and the number is not known any more.

constexpr uint32_t kFibers = 8192;
struct Fiber {
  std::atomic<uint64_t> number{0};
  TaskContext task;
};
constinit Fiber g_fibers[kFibers];
constinit std::atomic<uint64_t> g_last_fiber{0};
constinit thread_local uint64_t t_fiber __attribute__((tls_model("initial-exec"))) =
    0;  // that runs; 0: no number
// A scheduler runs it: when it waits, the thread works for another fiber.
constinit thread_local bool t_scheduled __attribute__((tls_model("initial-exec"))) = false;
// This thread works for who started it, until it waits to be handed something.
constinit thread_local bool t_inherited __attribute__((tls_model("initial-exec"))) = false;

uint64_t give_number(const TaskContext& task) {
  const uint64_t number = g_last_fiber.fetch_add(1, std::memory_order_relaxed) + 1;
  Fiber& made = g_fibers[number % kFibers];
  made.task = task;
  made.number.store(number, std::memory_order_relaxed);
  return number;
}

Fiber* running_fiber() {
  if (t_fiber == 0) return nullptr;
  Fiber& fiber = g_fibers[t_fiber % kFibers];
  return fiber.number.load(std::memory_order_relaxed) == t_fiber ? &fiber : nullptr;
}

// --- contexts as texts ----------------------------------------------------------------------------

Value text_of_task(const TaskContext& task) {
  char text[kHeaderValueSize];
  if (task.state != TaskContext::State::kRequest) return api()->string_from("", 0);
  encode_header_value(task.cause, text);
  return api()->string_from(text, sizeof text);
}

TaskContext task_of(Value string) {
  TaskContext task;
  if (decode_header_value(ruby::text_of(string), &task.cause))
    task.state = TaskContext::State::kRequest;
  return task;
}

TaskContext swap_own(const TaskContext& next) {
  Fiber* fiber = running_fiber();
  if (fiber == nullptr) return swap_task(next);
  const TaskContext before = fiber->task;
  fiber->task = next;
  return before;
}

// --- what the helper calls ------------------------------------------------------------------------

Value task(Value) {
  HookScope scope;
  return text_of_task(executing() ? inheritable_task() : TaskContext{});
}

Value fiber(Value) {
  HookScope scope;
  if (!executing()) return ruby::value_of(0);
  return ruby::value_of(static_cast<long>(give_number(inheritable_task())));
}

Value swap(Value, Value next) {
  HookScope scope;
  return text_of_task(swap_own(task_of(next)));
}

Value waits(Value) {
  if (!t_inherited) return ruby::value_of(0);
  HookScope scope;
  t_inherited = false;
  swap_task({});
  return ruby::value_of(0);
}

Value source(Value) {
  return api()->string_from(filibuster_ruby_helper,
                            static_cast<long>(std::strlen(filibuster_ruby_helper)));
}

// --- events ---------------------------------------------------------------------------------------

constexpr uint32_t kThreadBegins =
    0x0400;  // RUBY_EVENT_THREAD_BEGIN (include/ruby/internal/event.h)
constexpr uint32_t kFiberSwitches = 0x100000;  // RUBY_EVENT_FIBER_SWITCH

constinit Value g_threads = 0, g_fibers_made = 0;  // the helper's tables
constinit uintptr_t g_number_of_fiber = 0;         // the name of what a fiber keeps

void thread_begins(uint32_t, Value, Value, uintptr_t, Value) {
  HookScope scope;
  const TaskContext given = task_of(api()->hash_delete(g_threads, api()->current_thread()));
  t_inherited = given.state == TaskContext::State::kRequest;
  if (t_inherited) swap_task(given);
}

// Called in the fiber that goes on.
void fiber_switches(uint32_t, Value, Value, uintptr_t, Value) {
  HookScope scope;
  const Value thread = api()->current_thread();
  t_scheduled = ruby::is_object(api()->fiber_scheduler());
  Value number = api()->fiber_local(thread, g_number_of_fiber);
  if (!ruby::is_small_number(number)) {
    number = api()->hash_delete(g_fibers_made, api()->current_fiber());
    // One that was made between executions, or before the helper ran, inherits nothing. It may read a request itself.
    if (!ruby::is_small_number(number) && t_scheduled)
      number = ruby::value_of(static_cast<long>(give_number({})));
    if (ruby::is_small_number(number)) api()->set_fiber_local(thread, g_number_of_fiber, number);
  }
  t_fiber = ruby::is_small_number(number) ? static_cast<uint64_t>(ruby::small_number(number)) : 0;
}

// --- installation ---------------------------------------------------------------------------------

constinit std::atomic<bool> g_installed{false};
constinit bool g_good = false;

using Function = Value (*)(...);
template <typename Pointer>
Function as_function(Pointer* pointer) {
  return reinterpret_cast<Function>(reinterpret_cast<void*>(pointer));
}

// Holds the GVL.
void* run_helper(void*) {
  const ruby::Api& ruby = *api();
  const Value module = ruby.define_module("FilibusterRuntime");
  ruby.define_function(module, "task", as_function(task), 0);
  ruby.define_function(module, "fiber", as_function(fiber), 0);
  ruby.define_function(module, "swap", as_function(swap), 1);
  ruby.define_function(module, "waits", as_function(waits), 0);
  ruby.define_function(module, "source", as_function(source), 0);
  int failed = 0;
  // Frames of this file count as Ruby's own.
  ruby.evaluate("TOPLEVEL_BINDING.eval(FilibusterRuntime.source, '<internal:filibuster>')",
                &failed);
  if (failed == 0) g_threads = ruby.evaluate("FilibusterRuntime.threads", &failed);
  if (failed == 0) g_fibers_made = ruby.evaluate("FilibusterRuntime.fibers", &failed);
  if (failed != 0) {
    int ignored = 0;
    ruby.set_error(ruby.evaluate("nil", &ignored));
    return nullptr;
  }
  g_number_of_fiber = ruby.intern("__filibuster");
  const Value number = ruby::value_of(0);
  ruby.add_event_hook(thread_begins, kThreadBegins, number);
  ruby.add_event_hook(fiber_switches, kFiberSwitches, number);
  g_good = true;
  return nullptr;
}

std::string_view install() {
  if (ruby::find_api() == nullptr || g_installed.load(std::memory_order_acquire)) return {};
  // A thread that Ruby does not know cannot run its code. The next one can.
  if (api()->is_ruby_thread() == 0) {
    postpone_runtimes();
    return {};
  }
  if (g_installed.exchange(true, std::memory_order_acq_rel)) return {};
  if (api()->has_gvl() != 0) {
    run_helper(nullptr);
  } else {
    api()->with_gvl(run_helper, nullptr);
  }
  return g_good
             ? std::string_view{}
             : "ruby: which request causes what threads and fibers do is not known: the helper did not run";
}

TaskContext current() {
  const Fiber* fiber = running_fiber();
  return fiber != nullptr ? fiber->task : TaskContext{};
}

void incoming(const RpcContext& request, bool multiplexed) {
  if (multiplexed || !g_installed.load(std::memory_order_acquire) || api()->is_ruby_thread() == 0)
    return;
  TaskContext task;
  if (t_scheduled) note_multiplexing_thread();
  // Else the thread proves it by what it has read.
  if (running_fiber() != nullptr) {
    task.state = TaskContext::State::kRequest;
    task.cause = request;
  }
  swap_own(task);
  t_inherited = false;
}

}  // namespace

constinit const TaskReader kRubyTasks{
    install, current, incoming,
    // Timeout raises in the thread that waits.
    [] { return symbol_of_program("ruby_description") != nullptr; }};

}  // namespace filibuster::preload
