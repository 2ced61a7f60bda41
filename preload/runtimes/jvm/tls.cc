#include "preload/runtimes/jvm/tls.h"

#include "preload/runtimes/jvm/loaded_class.h"
#include "preload/runtimes/jvm/vm.h"

namespace filibuster::preload::jvm {
namespace {

constexpr size_t kMaxClasses = 8;

// Edits that found their place, by bit; written by the installing thread.
constinit uint32_t g_done = 0;
constinit const TlsDoor* g_door = nullptr;

void JNICALL tls_class_file_load(jvmtiEnv* tools, JNIEnv*, jclass redefined, jobject,
                                 const char* name, jobject, jint size, const unsigned char* data,
                                 jint* new_size, unsigned char** new_data) {
  if (redefined == nullptr || name == nullptr) return;
  const std::span<const Edit> edits = edits_of(tls_edits(), name);
  if (edits.empty()) return;
  const uint32_t done =
      edit_loaded_class(tools, edits, {data, static_cast<size_t>(size)}, new_size, new_data);
  g_done |= done << (edits.data() - tls_edits().data());
}

}  // namespace

void set_tls_door(const TlsDoor* door) {
  g_door = door;
}

std::string_view edit_tls(JNIEnv* env, ClassLoading* classes) {
  constexpr std::string_view kProblem =
      "the TLS of this JVM differs from that of version 17: its encrypted connections are not "
      "followed";
  const jclass natives = classes->load("filibuster/Tls");
  const jclass call = classes->load("sun/security/ssl/FilibusterCall");
  if (g_door == nullptr) return {};
  if (natives == nullptr || call == nullptr || !g_door->bind(env, natives, call)) return kProblem;
  // (Asked of Java, so that what it has not found is no error inside of a program's own call.)
  const jclass helper = classes->load("sun/security/ssl/FilibusterTls");
  const jmethodID ready =
      helper == nullptr ? nullptr : env->GetStaticMethodID(helper, "ready", "()Z");
  if (ready == nullptr || env->CallStaticBooleanMethod(helper, ready) != JNI_TRUE ||
      env->ExceptionCheck())
    return kProblem;
  const std::span<const Edit> table = tls_edits();
  jclass found[kMaxClasses];
  jint count = 0;
  for (size_t i = 0; i < table.size(); i += edits_of(table, table[i].in.type).size()) {
    found[count] = classes->load(table[i].in.type);
    if (found[count] == nullptr) return kProblem;
    ++count;
  }
  jvmtiCapabilities capabilities{};
  capabilities.can_retransform_classes = 1;
  jvmtiEnv* tools = make_tools(capabilities);
  if (tools == nullptr) return kProblem;
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassFileLoadHook = tls_class_file_load;
  tools->SetEventCallbacks(&callbacks, sizeof callbacks);
  tools->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
  const jvmtiError error = tools->RetransformClasses(count, found);
  tools->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
  if (error != JVMTI_ERROR_NONE || g_done != (1u << table.size()) - 1) return kProblem;
  g_door->begin();
  return {};
}

}  // namespace filibuster::preload::jvm
