// The JVM's row of the table in runtimes.cc: puts the helper into the running machine. Classes of
// ours are defined beside those of the JDK (the boot loader), methods of the JDK are edited to call
// them (edits.cc). Everything goes through JNI and JVMTI in the process itself:
// -XX:+DisableAttachMechanism and a set JAVA_TOOL_OPTIONS do not matter. What fails leaves the JDK
// as it was.
#include <atomic>
#include <cstring>

#include "preload/rpc/agent.h"
#include "preload/rpc/draws.h"
#include "preload/runtimes/jvm/draws.h"
#include "preload/runtimes/jvm/edits.h"
#include "preload/runtimes/jvm/libraries.h"
#include "preload/runtimes/jvm/loaded_class.h"
#include "preload/runtimes/jvm/tasks.h"
#include "preload/runtimes/jvm/tls.h"
#include "preload/runtimes/jvm/vm.h"
#include "preload/runtimes/runtimes.h"

// The class files, one after the other: a little-endian size, the loader, and the bytes (classes.cc).
extern "C" const uint8_t __start_filibuster_classes[] __attribute__((visibility("hidden")));
extern "C" const uint8_t __stop_filibuster_classes[] __attribute__((visibility("hidden")));

namespace filibuster::preload {
namespace {

using jvm::Edit;

// A context is kept with the system thread that it is for. Virtual threads (21) need other means.
constexpr int kFirstVersion = 17, kLastVersion = 20;
constexpr size_t kMaxClasses = 64;

enum class State : uint8_t { kWaiting, kInstalling, kInstalled, kRefused };
constinit std::atomic<State> g_state{State::kWaiting};

// Edits of the table, by bit 0 to 63; written by the installing thread.
constinit uint64_t g_done = 0;
constinit uint64_t g_done_high = 0;

void mark_done(size_t edit) {
  (edit < 64 ? g_done : g_done_high) |= uint64_t{1} << (edit % 64);
}
bool is_done(size_t edit) {
  return ((edit < 64 ? g_done : g_done_high) >> (edit % 64) & 1) != 0;
}

void JNICALL class_file_load(jvmtiEnv* tools, JNIEnv*, jclass redefined, jobject, const char* name,
                             jobject, jint size, const unsigned char* data, jint* new_size,
                             unsigned char** new_data) {
  if (redefined == nullptr || name == nullptr) return;
  const std::span<const Edit> edits = jvm::edits_of(jvm::edit_table(), name);
  if (edits.empty()) return;
  const uint32_t done =
      jvm::edit_loaded_class(tools, edits, {data, static_cast<size_t>(size)}, new_size, new_data);
  const auto first = static_cast<size_t>(edits.data() - jvm::edit_table().data());
  for (size_t i = 0; i < edits.size(); ++i) {
    if ((done >> i & 1) != 0) mark_done(first + i);
  }
}

// The two loaders of the JDK's modules. java.net.http and jdk.httpserver belong to the platform's.
struct Loaders final : jvm::ClassLoading {
  explicit Loaders(JNIEnv* jni) : env(jni) {}

  JNIEnv* env;
  jclass classes = nullptr;  // java.lang.Class
  jmethodID for_name = nullptr;
  jobject platform = nullptr;

  bool find() {
    const jclass loaders = env->FindClass("java/lang/ClassLoader");
    classes = env->FindClass("java/lang/Class");
    if (loaders == nullptr || classes == nullptr) return false;
    for_name = env->GetStaticMethodID(
        classes, "forName", "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;");
    const jmethodID get =
        env->GetStaticMethodID(loaders, "getPlatformClassLoader", "()Ljava/lang/ClassLoader;");
    if (for_name == nullptr || get == nullptr) return false;
    platform = env->CallStaticObjectMethod(loaders, get);
    return !env->ExceptionCheck() && platform != nullptr;
  }

  // "java/lang/Thread", loaded but not initialised; nullptr: this image has none.
  jclass load(std::string_view name) override {
    char text[128];
    if (name.size() >= sizeof text) return nullptr;
    for (size_t i = 0; i < name.size(); ++i) text[i] = name[i] == '/' ? '.' : name[i];
    text[name.size()] = '\0';
    const jstring wanted = env->NewStringUTF(text);
    const jobject found = wanted == nullptr ? nullptr
                                            : env->CallStaticObjectMethod(classes, for_name, wanted,
                                                                          JNI_FALSE, platform);
    if (!env->ExceptionCheck()) return static_cast<jclass>(found);
    env->ExceptionClear();
    return nullptr;
  }
};

// Defines our classes and binds their natives. An image without the module java.net.http has no place for
// that module's helper, and no use for it.
bool define_classes(Loaders* loaders, jvmtiEnv* tools) {
  JNIEnv* env = loaders->env;
  for (const uint8_t* at = __start_filibuster_classes; at < __stop_filibuster_classes;) {
    uint32_t size;
    std::memcpy(&size, at, sizeof size);
    at += sizeof size;
    const bool boot = *at++ == 0;
    env->DefineClass(nullptr, boot ? nullptr : loaders->platform,
                     reinterpret_cast<const jbyte*>(at), static_cast<jsize>(size));
    if (env->ExceptionCheck()) env->ExceptionClear();
    at += size;
  }
  const jclass natives = loaders->load("filibuster/Natives");
  if (natives == nullptr || loaders->load("java/util/concurrent/Filibuster") == nullptr ||
      !jvm::bind_natives(env, natives)) {
    return false;
  }
  const jobject base = env->GetModule(loaders->classes), unnamed = env->GetModule(natives);
  return base != nullptr && unnamed != nullptr &&
         tools->AddModuleReads(base, unnamed) == JVMTI_ERROR_NONE;
}

std::string_view edit_classes(Loaders* loaders, jvmtiEnv* tools) {
  const std::span<const Edit> table = jvm::edit_table();
  jclass found[kMaxClasses];
  jint count = 0;
  for (size_t i = 0; i < table.size();) {
    const size_t end = i + jvm::edits_of(table, table[i].in.type).size();
    const jclass type = loaders->load(table[i].in.type);
    if (type != nullptr && count < static_cast<jint>(kMaxClasses)) {
      found[count++] = type;
      i = end;
    }
    for (; i < end; ++i) mark_done(i);  // nothing to edit
  }
  // The event is on for this moment only, because classes are loaded faster without it.
  jvmtiError error =
      tools->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
  if (error == JVMTI_ERROR_NONE) error = tools->RetransformClasses(count, found);
  tools->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
  if (error != JVMTI_ERROR_NONE)
    return "the JVM refused changes to its classes: asynchronous code is attributed by thread only";
  for (size_t i = 0; i < table.size(); ++i) {
    if (!is_done(i))
      return "some classes of this JVM differ from those of version 17: asynchronous code is "
             "attributed in part";
  }
  return {};
}

std::string_view install_now(JNIEnv* env) {
  const int version = jvm::major_version();
  if (version < kFirstVersion || version > kLastVersion)
    return "task contexts are carried in JVM 17 to 20: asynchronous code of this one is attributed "
           "by thread only";
  jvmtiCapabilities capabilities{};
  capabilities.can_retransform_classes = 1;
  jvmtiEnv* tools = jvm::make_tools(capabilities);
  if (tools == nullptr)
    return "the JVM does not let its classes be changed: asynchronous code is attributed by thread "
           "only";
  const jvm::ExceptionsAside aside(env);
  if (env->PushLocalFrame(2 * kMaxClasses) != JNI_OK) return "the JVM has no memory left";
  std::string_view problem;
  Loaders loaders(env);
  if (!loaders.find() || !define_classes(&loaders, tools)) {
    problem = "the JVM refused our helper: asynchronous code is attributed by thread only";
  } else {
    jvmtiEventCallbacks callbacks{};
    callbacks.ClassFileLoadHook = class_file_load;
    callbacks.ThreadStart = jvm::thread_started;
    tools->SetEventCallbacks(&callbacks, sizeof callbacks);
    tools->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_THREAD_START, nullptr);
    problem = edit_classes(&loaders, tools);
    if (problem.empty()) problem = jvm::edit_libraries(env);
    const std::string_view tls = jvm::edit_tls(env, &loaders);
    if (problem.empty()) problem = tls;
    if (g_draws_from_start.load(std::memory_order_relaxed)) {
      const std::string_view draws = jvm::edit_draws(env, &loaders);
      if (problem.empty()) problem = draws;
    }
  }
  if (env->ExceptionCheck()) env->ExceptionClear();
  env->PopLocalFrame(nullptr);
  return problem;
}

// While the machine starts, the next hook tries again. On a thread that is not Java's nothing is done
// either: it is tried again when a request is read.
std::string_view install() {
  if (g_state.load(std::memory_order_acquire) != State::kWaiting) return {};
  if (!jvm::find()) {
    if (jvm::is_being_created()) postpone_runtimes();
    return {};
  }
  if (jvm::is_attach_listener()) return {};
  JNIEnv* env = jvm::of_thread();
  if (env == nullptr || jvm::tools() == nullptr) return {};
  State expected = State::kWaiting;
  if (!g_state.compare_exchange_strong(expected, State::kInstalling, std::memory_order_acq_rel))
    return {};
  const std::string_view problem = install_now(env);
  g_state.store(problem.empty() ? State::kInstalled : State::kRefused, std::memory_order_release);
  return problem;
}

void incoming(const RpcContext& request, bool multiplexed) {
  if (!jvm::known()) return;
  if (g_state.load(std::memory_order_acquire) == State::kWaiting) {
    const std::string_view problem = install();
    if (!problem.empty()) report_note(problem);
  }
  if (!multiplexed && jvm::of_thread() != nullptr) jvm::request_read(request);
}

}  // namespace

constinit const TaskReader kJvmTasks{install, nullptr, incoming,
                                     // A watchdog closes the socket.
                                     [] { return jvm::known() || jvm::is_being_created(); }};

}  // namespace filibuster::preload
