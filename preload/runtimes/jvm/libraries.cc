#include "preload/runtimes/jvm/libraries.h"

#include <atomic>

#include "preload/interpose.h"
#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/jvm/loaded_class.h"
#include "preload/runtimes/jvm/tasks.h"
#include "preload/runtimes/jvm/vm.h"

namespace filibuster::preload::jvm {
namespace {

constexpr size_t kMaxAtOnce = 32;

// Which classes are edited, and what the report says if a class differs from those that are known.
struct Library {
  std::string_view packages, differs;
};
constexpr std::string_view kAnyDiffers =
    "a class of a library differs from those that are known: its calls are attributed in part";
constexpr Library kLibraries[] = {
    {"io/grpc/",
     "a class of grpc-java differs from those that are known: its calls are attributed in part"},
    {"org/eclipse/jetty/",
     "a class of Jetty differs from those that are known: calls of its servlets are attributed in "
     "part"},
    {"org/apache/tomcat/",
     "a class of Tomcat differs from those that are known: calls of its servlets are attributed in "
     "part"},
};

// The library of a class such as "io/grpc/Context"; nullptr: it is of none of them.
const Library* library_of(std::string_view name) {
  for (const Library& library : kLibraries) {
    if (name.starts_with(library.packages)) return &library;
  }
  return nullptr;
}

void report_difference(std::string_view name) {
  const Library* library = library_of(name);
  report_note(library != nullptr ? library->differs : kAnyDiffers, NoteKind::kRuntime);
}

constinit jclass g_helper = nullptr;  // java.util.concurrent.FilibusterGrpc; global
constinit jmethodID g_ready = nullptr;

// Makes channels on another transport than Netty: whether they encrypt is not known.
constexpr std::string_view kOtherTransport = "Lio/grpc/okhttp/OkHttpChannelBuilder;";

// "Lio/grpc/Context;" -> its edits
std::span<const Edit> edits_of_class(jvmtiEnv* tools, jclass type) {
  char* signature = nullptr;
  if (tools->GetClassSignature(type, &signature, nullptr) != JVMTI_ERROR_NONE) return {};
  std::string_view name = signature;
  std::span<const Edit> edits;
  if (name.starts_with('L') && library_of(name.substr(1)) != nullptr)
    edits = edits_of(library_edits(), name.substr(1, name.size() - 2));
  if (name == kOtherTransport) {
    leave_grpc_calls();
    report_note(
        "calls of grpc-java in a process that uses its OkHttp transport are attributed only while "
        "one "
        "request is open",
        NoteKind::kRuntime);
  }
  tools->Deallocate(reinterpret_cast<unsigned char*>(signature));
  return edits;
}

void JNICALL class_file_load(jvmtiEnv* tools, JNIEnv*, jclass redefined, jobject, const char* name,
                             jobject, jint size, const unsigned char* data, jint* new_size,
                             unsigned char** new_data) {
  if (redefined == nullptr || name == nullptr) return;
  const std::span<const Edit> edits = edits_of(library_edits(), name);
  if (edits.empty()) return;
  const uint32_t done =
      edit_loaded_class(tools, edits, {data, static_cast<size_t>(size)}, new_size, new_data);
  if (done != (1u << edits.size()) - 1) {
    report_difference(name);
  } else if (is_transport(edits.front().in)) {
    mark_grpc_calls();
  }
}

// Turns the event on while somebody edits: classes are loaded faster without it. (HotSpot posts it for all
// threads or none.)
class LoadEvent {
 public:
  explicit LoadEvent(jvmtiEnv* tools) : tools_(tools) { count(1); }
  ~LoadEvent() { count(-1); }
  LoadEvent(const LoadEvent&) = delete;

 private:
  void count(int change) {
    while (busy_.test_and_set(std::memory_order_acquire)) raw_syscall(SYS_sched_yield);
    users_ += change;
    if (users_ == (change > 0 ? 1 : 0)) {
      tools_->SetEventNotificationMode(change > 0 ? JVMTI_ENABLE : JVMTI_DISABLE,
                                       JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
    }
    busy_.clear(std::memory_order_release);
  }
  static inline constinit std::atomic_flag busy_{};
  static inline constinit int users_ = 0;
  jvmtiEnv* tools_;
};

void retransform(jvmtiEnv* tools, const jclass* types, jint count) {
  const LoadEvent event(tools);
  if (tools->RetransformClasses(count, types) != JVMTI_ERROR_NONE)
    report_note(kAnyDiffers, NoteKind::kRuntime);
}

// May the helper ask the class for what it needs? Runs Java code.
bool is_ready(JNIEnv* env, jclass type) {
  const bool ready = env->CallStaticBooleanMethod(g_helper, g_ready, type) == JNI_TRUE;
  if (!env->ExceptionCheck()) return ready;
  env->ExceptionClear();
  return false;
}

// Called before any code of the class runs.
void JNICALL class_prepared(jvmtiEnv* tools, JNIEnv* env, jthread, jclass type) {
  const std::span<const Edit> edits = edits_of_class(tools, type);
  if (edits.empty()) return;
  HookScope scope;
  const ExceptionsAside aside(env);
  if (is_ready(env, type)) {
    retransform(tools, &type, 1);
  } else {
    report_difference(edits.front().in.type);
  }
}

// Edits the classes that are loaded already. (A class that comes meanwhile may be edited twice, each time
// from its original text.)
void edit_loaded(JNIEnv* env, jvmtiEnv* tools) {
  // The most local references that the machine lets us announce. It complains of more only under
  // -Xcheck:jni.
  constexpr jint kAnnounced = 4096;
  if (env->PushLocalFrame(kAnnounced) != JNI_OK) return;
  jint count = 0;
  jclass* loaded = nullptr;
  if (tools->GetLoadedClasses(&count, &loaded) == JVMTI_ERROR_NONE) {
    jclass found[kMaxAtOnce];
    jint used = 0;
    for (jint i = 0; i < count; ++i) {
      jint status = 0;
      if (used < static_cast<jint>(kMaxAtOnce) && !edits_of_class(tools, loaded[i]).empty() &&
          tools->GetClassStatus(loaded[i], &status) == JVMTI_ERROR_NONE &&
          (status & JVMTI_CLASS_STATUS_PREPARED) != 0 && is_ready(env, loaded[i])) {
        found[used++] = loaded[i];
      }
    }
    tools->Deallocate(reinterpret_cast<unsigned char*>(loaded));
    if (used > 0) retransform(tools, found, used);
  }
  env->PopLocalFrame(nullptr);
}

}  // namespace

std::string_view edit_libraries(JNIEnv* env) {
  constexpr std::string_view kProblem =
      "the JVM does not let classes of libraries be changed: calls of grpc-java and of servlets "
      "are "
      "attributed only while one request is open";
  const jclass helper = env->FindClass("java/util/concurrent/FilibusterGrpc");
  if (helper == nullptr) return kProblem;
  g_ready = env->GetStaticMethodID(helper, "ready", "(Ljava/lang/Class;)Z");
  g_helper = static_cast<jclass>(env->NewGlobalRef(helper));
  jvmtiCapabilities capabilities{};
  capabilities.can_retransform_classes = 1;
  jvmtiEnv* tools = make_tools(capabilities);
  if (g_ready == nullptr || g_helper == nullptr || tools == nullptr) return kProblem;
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassFileLoadHook = class_file_load;
  callbacks.ClassPrepare = class_prepared;
  tools->SetEventCallbacks(&callbacks, sizeof callbacks);
  if (tools->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_PREPARE, nullptr) !=
      JVMTI_ERROR_NONE) {
    return kProblem;
  }
  edit_loaded(env, tools);
  return {};
}

}  // namespace filibuster::preload::jvm
