// Tells which request causes what a Python program does in asyncio's tasks, pools and threads. helper.py
// is compiled into the library and run in the interpreter when a session is there. So it needs no
// environment variable and no file, which -I, -E or a virtual environment could hide, or which could hide
// one of the program's own. The questions at a send are answered here, from context variables, and run no
// Python code: a signal handler or a finaliser of the host must not run in the middle of its send.
#include <cstring>

#include "preload/interpose.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/cpython/api.h"
#include "preload/runtimes/cpython/draws.h"
#include "preload/runtimes/cpython/greenlets.h"
#include "preload/runtimes/cpython/origins.h"
#include "preload/runtimes/grpc/credentials.h"
#include "preload/runtimes/grpc/target.h"
#include "preload/runtimes/runtimes.h"
#include "preload/session/state.h"
#include "preload/stream/registry.h"

// helper.py and its further parts, one text that ends with a zero. (The Makefile knows that this file contains them.)
__asm__(R"(
    .section .rodata
    .globl filibuster_python_helper
    .hidden filibuster_python_helper
    .type filibuster_python_helper, @object
filibuster_python_helper:
    .incbin "preload/runtimes/cpython/helper.py"
    .incbin "preload/runtimes/cpython/helper_grpc.py"
    .incbin "preload/runtimes/cpython/helper_install.py"
    .byte 0
    .size filibuster_python_helper, .-filibuster_python_helper
    .previous
)");
extern "C" const char filibuster_python_helper[];

namespace filibuster::preload {
namespace {

using cpython::api;
using cpython::Object;

// Objects that the helper has given, kept for ever.
struct Loop {
  Object* running = nullptr;       // () -> the loop that runs on this thread, or None
  Object* current_task = nullptr;  // (loop) -> its task, or None
  Object* is_instance = nullptr;   // isinstance
  Object* own = nullptr;           // the class of asyncio's own loops
};
constinit Loop g_loop{};
constinit Object* g_request = nullptr;     // ContextVar
constinit Object* g_connection = nullptr;  // ContextVar
constinit Object* g_outgoing = nullptr;    // ContextVar
constinit std::atomic<bool> g_ready{false};
constinit std::atomic<bool> g_installed{false};

constinit thread_local bool t_serving __attribute__((tls_model("initial-exec"))) = false;
// This thread read a request where no connection is known. From then on, nothing is known of what runs
// without a connection.
constinit thread_local bool t_stray __attribute__((tls_model("initial-exec"))) = false;

// A thread that does not read for others has read a request: this program serves by threads. Then a
// thread that has read no request, and was given none, is known to work for none, such as a heartbeat
// that runs while one request is open. (Where one thread reads for others, the rules of causality.h
// decide.)
constinit std::atomic<bool> g_threads_serve{false};
// A greenlet of this thread has read a request. Then one that has no request works for none.
constinit thread_local bool t_greenlets_serve __attribute__((tls_model("initial-exec"))) = false;
// So does the greenlet that the thread began with, unless it has read requests, too.
constinit thread_local bool t_first_serves __attribute__((tls_model("initial-exec"))) = false;
constinit thread_local bool t_inheriting __attribute__((tls_model("initial-exec"))) = false;

// Requests that came while the one before on their connection was still open (pipelining). Nobody sees
// which of them the application works on, so they prove no cause. The ids of the last ones are kept.
constexpr uint32_t kPipelined = 64;
constinit std::atomic<uint64_t> g_pipelined[kPipelined] = {};
constinit std::atomic<uint32_t> g_pipelined_next{0};

void note_pipelined(uint64_t rpc) {
  const uint32_t at = g_pipelined_next.fetch_add(1, std::memory_order_relaxed);
  g_pipelined[at % kPipelined].store(rpc, std::memory_order_relaxed);
}
bool is_pipelined(uint64_t rpc) {
  if (g_pipelined_next.load(std::memory_order_relaxed) == 0) return false;
  for (const auto& known : g_pipelined) {
    if (known.load(std::memory_order_relaxed) == rpc) return true;
  }
  return false;
}

// --- texts of contexts (entry_points.cc) as bytes objects ---------------------------------------

std::string_view text_of(Object* bytes) {
  char* text = nullptr;
  intptr_t size = 0;
  if (bytes == nullptr || api().bytes_as(bytes, &text, &size) != 0) {
    api().error_clear();
    return {};
  }
  return {text, static_cast<size_t>(size)};
}

TaskContext task_of(Object* bytes) {
  TaskContext task;
  const std::string_view text = text_of(bytes);
  if (text == "-") {
    task.state = TaskContext::State::kNothing;
  } else if (decode_header_value(text, &task.cause) && !is_pipelined(task.cause.rpc)) {
    task.state = TaskContext::State::kRequest;
  }
  return task;
}

Object* bytes_of(const TaskContext& task) {
  char text[kHeaderValueSize] = {'-'};
  if (task.state == TaskContext::State::kRequest) encode_header_value(task.cause, text);
  const size_t size = task.state == TaskContext::State::kUnknown   ? 0
                      : task.state == TaskContext::State::kNothing ? 1
                                                                   : sizeof text;
  return api().bytes_from(text, static_cast<intptr_t>(size));
}

// --- what the helper calls ----------------------------------------------------------------------

Object* none() {
  api().increase_reference(api().none);
  return api().none;
}

Object* inherit(Object*, Object*) {
  HookScope scope;
  t_inheriting = true;  // a thread that is started may read requests of its own
  const TaskContext task = executing() ? inheritable_task() : TaskContext{};
  t_inheriting = false;
  return bytes_of(task);
}

Object* swap(Object*, Object* next) {
  HookScope scope;
  // What runs on this thread may be one greenlet of many.
  if (Object* previous = cpython::swap_request_of_greenlet(g_request, next)) return previous;
  return bytes_of(swap_task(task_of(next)));
}

Object* greenlets(Object*, Object* getcurrent) {
  cpython::follow_greenlets(getcurrent);
  return none();
}

Object* serving(Object*, Object*) {
  t_serving = true;
  return none();
}

// where(): the number of this thread's call stack (site_bytes); b"": no execution runs, or there is no
// room for another stack.
Object* where(Object*, Object*) {
  HookScope scope;
  const Scratch scratch;
  if (!executing() || !scratch) return cpython::site_bytes(0);
  return cpython::site_bytes(
      intern_stack(capture_stack(reinterpret_cast<char*>(scratch.data()), Scratch::kSize)));
}

// field(site, forwarded): the field for a request that is made now; b"": the request must be left as it
// is. `forwarded` is the field that the program itself has put into the request; b"": none.
Object* field(Object*, Object* arguments) {
  HookScope scope;
  Object* site = api().tuple_item(arguments, 0);
  Object* forwarded = site != nullptr ? api().tuple_item(arguments, 1) : nullptr;
  if (forwarded == nullptr) return nullptr;
  char value[kRuntimeValueSize];
  if (!executing()) return api().bytes_from(value, 0);
  TaskContext task;
  if (text_of(forwarded).empty()) {
    task = inheritable_task();
  } else {
    task = task_of(forwarded);
    // The field is damaged, or not ours: the library reports that when the request leaves.
    if (task.state != TaskContext::State::kRequest) return api().bytes_from(value, 0);
  }
  encode_runtime_value(field_of(task, cpython::parse_site(site)), value);
  return api().bytes_from(value, sizeof value);
}

// plain(target): does this process speak in the clear to the target of a channel that was made before the
// session? (grpcio does not keep the credentials of a channel.)
Object* plain(Object*, Object* target) {
  HookScope scope;
  const std::string_view text = text_of(target);
  return !text.empty() && grpc::is_plain_target(text, session_generation())
             ? api().bytes_from("1", 1)
             : api().bytes_from("", 0);
}

// encrypted(path): the session in which calls may carry our field on a channel that is made now with encryption, by
// the gRPC inside of the library at `path`; b"": in none. Without a path: the session of now.
Object* encrypted(Object*, Object* path) {
  HookScope scope;
  const std::string_view text = text_of(path);
  char name[1024];
  if (text.size() >= sizeof name) return api().bytes_from("", 0);
  std::memcpy(name, text.data(), text.size());
  name[text.size()] = '\0';
  const uint64_t session = text.empty() ? session_generation() : grpc::tls_marked_in(name);
  return session == grpc::kNever
             ? api().bytes_from("", 0)
             : api().bytes_from(reinterpret_cast<const char*>(&session), sizeof session);
}

Object* note(Object*, Object* text) {
  HookScope scope;
  intptr_t size = 0;
  const char* utf8 = api().as_utf8(text, &size);
  if (utf8 == nullptr) return nullptr;
  report_note({utf8, static_cast<size_t>(size)});
  return none();
}

Object* ready(Object*, Object* arguments) {
  Object* given[5];
  for (intptr_t i = 0; i < 5; ++i) {
    given[i] = api().tuple_item(arguments, i);
    if (given[i] == nullptr) return nullptr;
    api().increase_reference(given[i]);
  }
  g_loop = {given[0], given[1], given[3], given[4]};
  cpython::set_loop_code(given[2]);
  g_ready.store(true, std::memory_order_release);
  return none();
}

constinit cpython::Method g_methods[] = {
    {"inherit", inherit, cpython::kNoArguments, nullptr},
    {"swap", swap, cpython::kOneArgument, nullptr},
    {"greenlets", greenlets, cpython::kOneArgument, nullptr},
    {"serving", serving, cpython::kNoArguments, nullptr},
    {"where", where, cpython::kNoArguments, nullptr},
    {"began", cpython::began, cpython::kOneArgument, nullptr},
    {"resume", cpython::resume, cpython::kOneArgument, nullptr},
    {"field", field, cpython::kManyArguments, nullptr},
    {"plain", plain, cpython::kOneArgument, nullptr},
    {"encrypted", encrypted, cpython::kOneArgument, nullptr},
    {"drawing", cpython::drawing, cpython::kOneArgument, nullptr},
    {"note", note, cpython::kOneArgument, nullptr},
    {"ready", ready, cpython::kManyArguments, nullptr},
};

// --- installation -------------------------------------------------------------------------------

bool set_and_drop(Object* names, const char* name, Object* value) {
  if (value == nullptr) return false;
  const bool good = api().dict_set(names, name, value) == 0;
  api().decrease_reference(value);
  return good;
}

// Does the session say to those that join that call sites count where something was begun?
bool asks_origins() {
  return session_present() && attached() && (lane_options() & kOptionOrigins) != 0;
}

bool run_helper() {
  const cpython::Api& py = api();
  Object* names = py.dict_new();
  Object* builtins = py.import_add_module("builtins");  // borrowed
  if (names == nullptr || builtins == nullptr) return false;
  g_request = py.context_variable_new("filibuster_request", nullptr);
  g_connection = py.context_variable_new("filibuster_connection", nullptr);
  g_outgoing = py.context_variable_new("filibuster_outgoing", nullptr);
  Object* origin = py.context_variable_new("filibuster_origin", nullptr);
  if (g_request == nullptr || g_connection == nullptr || g_outgoing == nullptr || origin == nullptr)
    return false;
  bool good = py.dict_set(names, "__builtins__", builtins) == 0 &&
              py.dict_set(names, "origin", origin) == 0 &&
              py.dict_set(names, "request", g_request) == 0 &&
              py.dict_set(names, "connection", g_connection) == 0 &&
              py.dict_set(names, "outgoing", g_outgoing) == 0 &&
              set_and_drop(names, "origins", py.long_from(asks_origins() ? 1 : 0));
  if (asks_origins()) cpython::follow_origins(origin);
  py.decrease_reference(origin);
  for (cpython::Method& method : g_methods)
    good = good && set_and_drop(names, method.name, py.function_new(&method, nullptr, nullptr));
  Object* code =
      good ? py.compile(filibuster_python_helper, cpython::kHelperFile.data(), cpython::kFileInput)
           : nullptr;
  Object* result = code != nullptr ? py.evaluate(code, names, names) : nullptr;
  good = result != nullptr;
  if (result != nullptr) py.decrease_reference(result);
  if (code != nullptr) py.decrease_reference(code);
  if (!good && py.error_occurred() != nullptr) {
    // If Ctrl-C came just now, its handler ran in our code. The interrupt is meant for the program.
    const bool interrupted = py.error_matches(*py.keyboard_interrupt) != 0;
    py.error_clear();
    if (interrupted) py.set_interrupt();
  }
  py.decrease_reference(names);
  return good;
}

// "cpython 3.6.0: frames not readable (needs 3.9): ..."
std::string_view unreadable() {
  static constinit char text[160] = {};
  char version[32];
  size_t used = 0;
  for (std::string_view part :
       {std::string_view{"cpython "}, cpython::version(version),
        std::string_view{
            ": frames not readable (needs 3.9): call stacks take no part in indexes"}}) {
    std::memcpy(text + used, part.data(), part.size());
    used += part.size();
  }
  return {text, used};
}

std::string_view install() {
  const cpython::Runtime runtime = cpython::find_runtime();
  if (runtime == cpython::Runtime::kUnreadable) return unreadable();
  if (runtime != cpython::Runtime::kReady) return {};
  // The session was met by a random number that the interpreter needs while it starts.
  if (cpython::api().is_initialized() == 0) {
    postpone_runtimes();
    return {};
  }
  cpython::follow_draws();
  if (g_installed.load(std::memory_order_acquire)) return {};
  constexpr std::string_view kNot =
      "cpython: which request causes a task of asyncio or of a pool is not known: ";
  static constinit char text[192] = {};
  const auto refused = [&](std::string_view why) -> std::string_view {
    std::memcpy(text, kNot.data(), kNot.size());
    std::memcpy(text + kNot.size(), why.data(), why.size());
    return {text, kNot.size() + why.size()};
  };
  if (!cpython::has_helper_functions()) return refused("this version lacks functions for it");
  if (!cpython::usable())
    return refused("the session met a thread that the interpreter does not know");
  // It cannot be told which interpreter this thread is in, and it may hold the GIL for another one.
  const cpython::Api& py = api();
  if (py.interpreter_next(py.interpreter_head()) != nullptr)
    return refused("the program runs several interpreters");
  if (g_installed.exchange(true, std::memory_order_acq_rel)) return {};
  const cpython::Scope scope;
  return run_helper() ? std::string_view{} : refused("the helper did not run");
}

// --- questions at a request ---------------------------------------------------------------------

// Does the program have neither asyncio nor greenlets? Then there is nothing to ask the interpreter for.
bool has_threads_only() {
  return !g_ready.load(std::memory_order_acquire) && !cpython::has_greenlets();
}

// The loop that runs on this thread, as a new reference; nullptr: none, or asyncio is not loaded.
Object* running_loop() {
  if (!g_ready.load(std::memory_order_acquire)) return nullptr;
  Object* loop = api().call(g_loop.running, static_cast<Object*>(nullptr));
  if (loop == nullptr) api().error_clear();
  if (loop != api().none) return loop;
  api().decrease_reference(loop);
  return nullptr;
}

bool runs_task(Object* loop) {
  Object* task = api().call(g_loop.current_task, loop, static_cast<Object*>(nullptr));
  if (task == nullptr) {
    api().error_clear();
    return false;
  }
  const bool any = task != api().none;
  api().decrease_reference(task);
  return any;
}

// Does this loop run the callbacks of a connection in a context of that connection? Other loops (uvloop)
// read in the context that they were started in: what is set there would hold for all that they serve.
bool has_contexts(Object* loop) {
  Object* answer = api().call(g_loop.is_instance, loop, g_loop.own, static_cast<Object*>(nullptr));
  if (answer == nullptr) {
    api().error_clear();
    return false;
  }
  const bool own = api().long_as(answer) == 1;
  api().decrease_reference(answer);
  return own;
}

// The variable's value in the running context, as a new reference; nullptr: not set, or None.
Object* value_of(Object* variable) {
  Object* value = nullptr;
  if (api().context_variable_get(variable, nullptr, &value) != 0) api().error_clear();
  if (value != api().none) return value;
  api().decrease_reference(value);
  return nullptr;
}

// The cause of what a connection's tasks do now; `held` is the value of `connection` (helper.py). `loop` is nullptr in a child
// of fork that starts a program: asyncio knows no loop there, and only tasks start programs.
TaskContext task_of_connection(Object* held, Object* loop) {
  Object* request = api().list_item(held, 0);  // borrowed
  if (request == nullptr || request == api().none) return {};
  Object* count = api().list_item(held, 1);
  // After several requests, a callback may be left over from an earlier one. A task is of the last one.
  if (loop != nullptr && count != nullptr && api().long_as(count) > 1 && !runs_task(loop))
    return {};
  return task_of(request);
}

TaskContext task_of_thread() {
  TaskContext task;
  if (t_inheriting || !g_threads_serve.load(std::memory_order_relaxed)) return task;
  CauseOf cause;
  g_incoming.of_thread(&t_state.requests, &cause);  // drops the requests that are closed
  if (t_state.requests.size == 0) task.state = TaskContext::State::kNothing;
  return task;
}

TaskContext current() {
  TaskContext task;
  if (!g_installed.load(std::memory_order_acquire) || !cpython::usable()) return task;
  if (has_threads_only()) return task_of_thread();
  const cpython::Scope scope;
  Object* loop = running_loop();
  const bool in_loop = loop != nullptr || (t_serving && !own_process());
  if (Object* request = value_of(g_request)) {
    // This holds on a thread without a loop too: pools run work in the context of who gave it to them.
    task = task_of(request);
    api().decrease_reference(request);
  } else if (in_loop) {
    Object* held = value_of(g_connection);
    bool any = false;
    if (held != nullptr) {
      Object* seen = api().list_item(held, 0);
      any = seen != nullptr && seen != api().none;
      if (any) task = task_of_connection(held, loop);
      api().decrease_reference(held);
    }
    // A task of a server's loop that no connection has led to is caused by nothing that came in.
    if (!any && t_serving && !t_stray) task.state = TaskContext::State::kNothing;
  } else if (cpython::in_greenlet()) {
    if (Object* own = cpython::request_of_greenlet(g_request)) {
      task = task_of(own);
      api().decrease_reference(own);
    } else if (t_greenlets_serve) {
      task.state = TaskContext::State::kNothing;
    }
  } else if (t_greenlets_serve && !t_first_serves) {
    task.state = TaskContext::State::kNothing;
  } else {
    task = task_of_thread();
  }
  api().error_clear();
  if (loop != nullptr) api().decrease_reference(loop);
  return task;
}

// `before` is the request that the same connection or greenlet has read before `rpc`.
void note_if_pipelined(std::string_view before, uint64_t rpc) {
  RpcContext previous;
  if (!decode_header_value(before, &previous) || !g_incoming.is_open(previous.rpc)) return;
  note_pipelined(previous.rpc);
  note_pipelined(rpc);
}

void put_request(Object* held, Object* bytes, uint64_t rpc) {
  const cpython::Api& py = api();
  Object* before = py.list_item(held, 0);  // borrowed
  if (before != nullptr && before != py.none) note_if_pipelined(text_of(before), rpc);
  Object* counted = py.list_item(held, 1);
  const long count = counted != nullptr ? py.long_as(counted) : 0;
  py.increase_reference(bytes);
  py.list_set(held, 0, bytes);
  if (Object* next = py.long_from(count + 1)) py.list_set(held, 1, next);
}

// False: this thread runs no greenlet.
bool read_by_greenlet(const RpcContext& request) {
  if (!cpython::in_greenlet()) return false;
  TaskContext task;
  task.state = TaskContext::State::kRequest;
  task.cause = request;
  Object* bytes = bytes_of(task);
  if (bytes == nullptr) return false;
  if (Object* before = cpython::swap_request_of_greenlet(g_request, bytes)) {
    note_if_pipelined(text_of(before), request.rpc);
    api().decrease_reference(before);
  }
  api().decrease_reference(bytes);
  t_greenlets_serve = true;
  note_multiplexing_thread();  // greenlets take turns: that one of them has read a request says nothing of the others
  return true;
}

void incoming(const RpcContext& request, bool multiplexed) {
  // gRPC reads for all calls, on whichever thread polls. The metadata of a call says what causes it.
  if (multiplexed && !t_serving) return;
  if (!g_installed.load(std::memory_order_acquire) || !cpython::usable()) return;
  Object* loop = nullptr;
  const auto read_by_thread = [multiplexed] {
    if (multiplexed) return;
    swap_task({});  // what this thread inherited is not what it works for from now on
    if (!t_state.multiplexing) g_threads_serve.store(true, std::memory_order_relaxed);
  };
  if (has_threads_only()) return read_by_thread();
  const cpython::Scope scope;
  loop = running_loop();
  if (loop == nullptr) {
    if (!multiplexed && read_by_greenlet(request)) return;
    t_first_serves = true;
    return read_by_thread();
  }
  if (!has_contexts(loop)) return api().decrease_reference(loop);
  TaskContext task;
  task.state = TaskContext::State::kRequest;
  task.cause = request;
  if (Object* bytes = bytes_of(task)) {
    Object* held = value_of(g_connection);
    if (held == nullptr) {
      t_stray = t_stray || !multiplexed;
    } else {
      put_request(held, bytes, request.rpc);
      api().decrease_reference(held);
    }
    // What this callback starts is caused by this request. For a task that reads by itself nothing is set,
    // since it goes on to the next request.
    if (!runs_task(loop) && (held != nullptr || !multiplexed)) {
      if (Object* token = api().context_variable_set(g_request, bytes))
        api().decrease_reference(token);
    }
    api().decrease_reference(bytes);
  }
  api().error_clear();
  api().decrease_reference(loop);
}

}  // namespace

constinit const TaskReader kCpythonTasks{install, current, incoming};

bool cpython::serves_on_this_thread() {
  return t_serving;
}

}  // namespace filibuster::preload
