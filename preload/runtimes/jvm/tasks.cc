#include "preload/runtimes/jvm/tasks.h"

#include <atomic>
#include <iterator>

#include "preload/interpose.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/jvm/stack.h"
#include "preload/runtimes/task.h"
#include "preload/session/state.h"

namespace filibuster::preload::jvm {
namespace {

// --- contexts, as five numbers for Java --------------------------------------------------------

constexpr jsize kWords = 5;
constexpr jint kNotExecuting = 0, kUnknown = 1, kKnown = 2;

void to_words(const TaskContext& task, jlong (&words)[kWords]) {
  words[0] = static_cast<jlong>(uint64_t{task.cause.session} << 32 |
                                uint64_t{task.cause.lane} << 16 | static_cast<uint8_t>(task.state));
  words[1] = task.cause.execution;
  words[2] = static_cast<jlong>(task.cause.rpc);
  words[3] = static_cast<jlong>(task.cause.path.hi);
  words[4] = static_cast<jlong>(task.cause.path.lo);
}

TaskContext from_words(const jlong (&words)[kWords]) {
  TaskContext task;
  const auto first = static_cast<uint64_t>(words[0]);
  task.state = static_cast<TaskContext::State>(first & 3);
  task.cause.session = static_cast<uint32_t>(first >> 32);
  task.cause.lane = static_cast<uint16_t>(first >> 16);
  task.cause.execution = static_cast<uint32_t>(words[1]);
  task.cause.rpc = static_cast<uint64_t>(words[2]);
  task.cause.path.hi = static_cast<uint64_t>(words[3]);
  task.cause.path.lo = static_cast<uint64_t>(words[4]);
  return task;
}

jint give(JNIEnv* env, const TaskContext& task, jlongArray out) {
  if (task.state == TaskContext::State::kUnknown) return kUnknown;  // `out` is zeros
  jlong words[kWords];
  to_words(task, words);
  env->SetLongArrayRegion(out, 0, kWords, words);
  return kKnown;
}

// What this thread serves. While it serves something, it works for the requests that it reads.
enum class Serving : uint8_t {
  kNothing,
  kExchange,    // an exchange of the JDK's HTTP server, until the thread's next task
  kConnection,  // a connection of Jetty or Tomcat, between Natives.serve and Natives.served
};
constinit thread_local Serving t_serving __attribute__((tls_model("initial-exec"))) =
    Serving::kNothing;

jint JNICALL capture(JNIEnv* env, jclass, jlongArray out) {
  HookScope scope;
  return executing() ? give(env, inheritable_task(), out) : kNotExecuting;
}

// The context of work that is done later. If no request is open now, nothing causes that work: requests to
// come do not cause what was scheduled before them.
TaskContext of_what_comes_later() {
  TaskContext task = inheritable_task();
  if (task.state == TaskContext::State::kUnknown && g_incoming.active() == 0)
    task.state = TaskContext::State::kNothing;
  return task;
}

jint JNICALL capture_scheduled(JNIEnv* env, jclass, jlongArray out) {
  HookScope scope;
  return attached() ? give(env, of_what_comes_later(), out) : kNotExecuting;
}

void JNICALL swap(JNIEnv* env, jclass, jlongArray next, jlongArray previous) {
  jlong words[kWords];
  env->GetLongArrayRegion(next, 0, kWords, words);
  const TaskContext before = swap_task(from_words(words));
  if (previous == nullptr) return;
  to_words(before, words);
  env->SetLongArrayRegion(previous, 0, kWords, words);
}

void JNICALL forget(JNIEnv*, jclass) {
  t_serving = Serving::kNothing;
  t_state.task = {};
  t_state.requests.size = 0;
  t_state.requests.overflowed = false;
}

void JNICALL serve_others(JNIEnv*, jclass) {
  // A servlet that takes from a queue waits on behalf of its own request.
  if (t_serving != Serving::kConnection) t_state.task = {};
}

void JNICALL serve_exchange(JNIEnv* env, jclass helper) {
  forget(env, helper);
  t_serving = Serving::kExchange;
}

// A request that is dispatched again is served without being read: its context came with the task.
void JNICALL serve(JNIEnv* env, jclass helper, jlongArray before) {
  const TaskContext task = t_state.task;
  jlong words[kWords];
  to_words(task, words);
  env->SetLongArrayRegion(before, 0, kWords, words);
  forget(env, helper);
  t_state.task = task;
  t_serving = Serving::kConnection;
}

void JNICALL served(JNIEnv* env, jclass helper, jlongArray before) {
  forget(env, helper);
  swap(env, helper, before, nullptr);
}

// --- threads -----------------------------------------------------------------------------------

// Contexts for threads that are being started. Where so many others are started before a thread runs that
// its place is taken, the thread inherits nothing.
struct Inheritance {
  static constexpr int64_t kFree = 0, kBusy = -1;
  std::atomic<int64_t> thread{kFree};  // java.lang.Thread.tid, which no later thread has
  TaskContext task;
};
constexpr uint32_t kInheritances = 256;
constexpr int kAboveStart = 3;  // Natives.starting, Filibuster.starting, Thread.start
constinit Inheritance g_inheritances[kInheritances];
constinit std::atomic<uint32_t> g_next_inheritance{0};
constinit std::atomic<jfieldID> g_thread_id{nullptr};

void JNICALL starting(JNIEnv* env, jclass, jthread thread) {
  HookScope scope;
  const jfieldID id = g_thread_id.load(std::memory_order_acquire);
  if (thread == nullptr || id == nullptr || !attached()) return;
  // A thread that the program starts while no request is open has no cause until it takes others' work.
  const TaskContext task = of_what_comes_later();
  // Threads of a library's pool serve whoever comes.
  if (task.state == TaskContext::State::kUnknown || !called_by_program(kAboveStart)) return;
  const int64_t number = env->GetLongField(thread, id);
  if (number <= 0) return;
  Inheritance& slot =
      g_inheritances[g_next_inheritance.fetch_add(1, std::memory_order_relaxed) % kInheritances];
  if (slot.thread.exchange(Inheritance::kBusy, std::memory_order_acq_rel) == Inheritance::kBusy)
    return;
  slot.task = task;
  slot.thread.store(number, std::memory_order_release);
}

// --- requests of java.net.http -----------------------------------------------------------------

constexpr size_t kMaxSite = 8 * 1024;
constexpr int kAboveCaller = 2;  // Natives.field and Filibuster.field

jstring JNICALL field(JNIEnv* env, jclass, jstring carried) {
  HookScope scope;
  if (!executing()) return nullptr;
  Scratch scratch;
  if (!scratch) return nullptr;
  RuntimeField out;
  TaskContext task = inheritable_task();
  if (carried != nullptr) {
    // The application forwards the field of the request that it serves: that is the best proof of the cause.
    char text[kRuntimeValueSize + 1] = {};
    const jsize size = env->GetStringUTFLength(carried);
    if (size != static_cast<jsize>(kHeaderValueSize)) return nullptr;
    env->GetStringUTFRegion(carried, 0, size, text);
    if (!decode_header_value({text, kHeaderValueSize}, &task.cause)) return nullptr;
    task.state = TaskContext::State::kRequest;
  }
  out.cause_known = task.state != TaskContext::State::kUnknown;
  out.has_cause = task.state == TaskContext::State::kRequest;
  if (out.has_cause) out.cause = task.cause;
  out.thread = thread_id();
  FrameSink sink(reinterpret_cast<char*>(scratch.data()), kMaxSite);
  if (read_java_frames("", kAboveCaller, &sink))
    out.site = intern_site({reinterpret_cast<const char*>(scratch.data()), sink.text_size()});
  char value[kRuntimeValueSize + 1];
  encode_runtime_value(out, value);
  value[kRuntimeValueSize] = '\0';
  return env->NewStringUTF(value);
}

// --- calls of grpc-java --------------------------------------------------------------------------

// Calls are marked only where FilibusterGrpc.leaving takes the field out again of what will be encrypted.
enum class GrpcCalls : uint8_t { kNotYet, kMarked, kLeft };
constinit std::atomic<GrpcCalls> g_grpc_calls{GrpcCalls::kNotYet};

jstring JNICALL grpc_field(JNIEnv* env, jclass helper, jstring carried) {
  if (g_grpc_calls.load(std::memory_order_acquire) != GrpcCalls::kMarked) return nullptr;
  return field(env, helper, carried);
}

TaskContext task_of(std::string_view value) {
  TaskContext task;
  RuntimeField in_process;  // of a call that never came to a socket
  if (decode_header_value(value, &task.cause)) {
    task.state = TaskContext::State::kRequest;
  } else if (decode_runtime_value(value, &in_process) && in_process.cause_known) {
    task.state = in_process.has_cause ? TaskContext::State::kRequest : TaskContext::State::kNothing;
    task.cause = in_process.cause;
  }
  return task;
}

jint JNICALL received(JNIEnv* env, jclass, jstring value, jlongArray out) {
  HookScope scope;
  if (!executing()) return kNotExecuting;
  char text[kRuntimeValueSize + 1];
  const jsize size = value == nullptr ? 0 : env->GetStringUTFLength(value);
  if (size == 0 || size > static_cast<jsize>(kRuntimeValueSize) ||
      size != env->GetStringLength(value)) {
    return kUnknown;
  }
  env->GetStringUTFRegion(value, 0, size, text);
  return give(env, task_of({text, static_cast<size_t>(size)}), out);
}

template <typename Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

#define NATIVE(name, descriptor, function) \
  { const_cast<char*>(name), const_cast<char*>(descriptor), address(function) }

}  // namespace

bool bind_natives(JNIEnv* env, jclass natives) {
  const jclass thread = env->FindClass("java/lang/Thread");
  const jfieldID id = thread != nullptr ? env->GetFieldID(thread, "tid", "J") : nullptr;
  if (id == nullptr) return false;
  g_thread_id.store(id, std::memory_order_release);
  const JNINativeMethod methods[] = {
      NATIVE("capture", "([J)I", capture),
      NATIVE("captureScheduled", "([J)I", capture_scheduled),
      NATIVE("swap", "([J[J)V", swap),
      NATIVE("forget", "()V", forget),
      NATIVE("starting", "(Ljava/lang/Thread;)V", starting),
      NATIVE("serveOthers", "()V", serve_others),
      NATIVE("serveExchange", "()V", serve_exchange),
      NATIVE("serve", "([J)V", serve),
      NATIVE("served", "([J)V", served),
      NATIVE("field", "(Ljava/lang/String;)Ljava/lang/String;", field),
      NATIVE("grpcField", "(Ljava/lang/String;)Ljava/lang/String;", grpc_field),
      NATIVE("received", "(Ljava/lang/String;[J)I", received),
  };
  return env->RegisterNatives(natives, methods, static_cast<jint>(std::size(methods))) == JNI_OK;
}

void mark_grpc_calls() {
  GrpcCalls expected = GrpcCalls::kNotYet;
  g_grpc_calls.compare_exchange_strong(expected, GrpcCalls::kMarked, std::memory_order_acq_rel);
}

void leave_grpc_calls() {
  g_grpc_calls.store(GrpcCalls::kLeft, std::memory_order_release);
}

void JNICALL thread_started(jvmtiEnv*, JNIEnv* env, jthread thread) {
  const jfieldID id = g_thread_id.load(std::memory_order_acquire);
  if (id == nullptr || g_next_inheritance.load(std::memory_order_acquire) == 0) return;
  const int64_t number = env->GetLongField(thread, id);
  for (Inheritance& slot : g_inheritances) {
    int64_t expected = number;
    if (slot.thread.load(std::memory_order_relaxed) != number ||
        !slot.thread.compare_exchange_strong(expected, Inheritance::kBusy,
                                             std::memory_order_acq_rel))
      continue;
    t_state.task = slot.task;
    slot.thread.store(Inheritance::kFree, std::memory_order_release);
    return;
  }
}

void request_read(const RpcContext& request) {
  // What the thread inherited says nothing of a request that it reads itself.
  t_state.task = {};
  // If another request that the thread read is still open, it is not known which one is served first.
  const bool alone = t_state.requests.size == 1 && !t_state.requests.overflowed;
  if (t_serving != Serving::kNothing && alone)
    t_state.task = {TaskContext::State::kRequest, request};
}

}  // namespace filibuster::preload::jvm
