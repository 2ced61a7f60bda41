#include "preload/runtimes/jvm/draws.h"

#include <cstring>
#include <iterator>

#include "preload/rpc/draws.h"
#include "preload/runtimes/jvm/loaded_class.h"
#include "preload/runtimes/jvm/vm.h"
#include "preload/session/state.h"

namespace filibuster::preload::jvm {
namespace {

constexpr size_t kMaxClasses = 8;

// Edits that found their place, by bit; written by the installing thread.
constinit uint32_t g_done = 0;

void JNICALL draws_class_file_load(jvmtiEnv* tools, JNIEnv*, jclass redefined, jobject,
                                   const char* name, jobject, jint size, const unsigned char* data,
                                   jint* new_size, unsigned char** new_data) {
  if (redefined == nullptr || name == nullptr) return;
  const std::span<const Edit> edits = edits_of(draw_edits(), name);
  if (edits.empty()) return;
  const uint32_t done =
      edit_loaded_class(tools, edits, {data, static_cast<size_t>(size)}, new_size, new_data);
  g_done |= done << (edits.data() - draw_edits().data());
}

// --- filibuster.Draws ---------------------------------------------------------------------------

constexpr jint kPasses = 0, kGiven = 1, kAsked = 2;

// Numbers of Java, in their lowest bytes.
constexpr jint kMaxNumber = sizeof(jlong);

jint JNICALL give_bytes(JNIEnv* env, jclass, jbyteArray out) {
  if (!draws_matter()) return kPasses;
  Draw draw(DrawSource::kJava);
  if (draw.passes()) return kPasses;
  const jsize size = env->GetArrayLength(out);
  const Scratch bytes;
  if (size <= 0 || static_cast<size_t>(size) > kMaxDrawBytes || !bytes) return kPasses;
  if (!draw.give(bytes.data(), static_cast<size_t>(size))) return kAsked;
  env->SetByteArrayRegion(out, 0, size, reinterpret_cast<const jbyte*>(bytes.data()));
  return kGiven;
}

jint JNICALL give_number(JNIEnv* env, jclass, jlongArray out, jint size) {
  if (!draws_matter()) return kPasses;
  Draw draw(DrawSource::kJava);
  if (draw.passes() || size <= 0 || size > kMaxNumber) return kPasses;
  jlong number = 0;
  if (!draw.give(&number, static_cast<size_t>(size))) return kAsked;
  env->SetLongArrayRegion(out, 0, 1, &number);
  return kGiven;
}

void JNICALL begin(JNIEnv*, jclass) {
  Draw::begin();
}

void JNICALL end_bytes(JNIEnv* env, jclass, jbyteArray drawn) {
  Draw::end();
  if (drawn == nullptr) return;
  const jsize size = env->GetArrayLength(drawn);
  const Scratch bytes;
  if (size <= 0 || static_cast<size_t>(size) > kMaxDrawBytes || !bytes) return;
  env->GetByteArrayRegion(drawn, 0, size, reinterpret_cast<jbyte*>(bytes.data()));
  Draw draw(DrawSource::kJava);
  draw.keep(bytes.data(), static_cast<size_t>(size));
}

void JNICALL end_number(JNIEnv* env, jclass, jlongArray drawn, jint size) {
  Draw::end();
  if (drawn == nullptr || size <= 0 || size > kMaxNumber) return;
  jlong number = 0;
  env->GetLongArrayRegion(drawn, 0, 1, &number);
  Draw draw(DrawSource::kJava);
  draw.keep(&number, static_cast<size_t>(size));
}

template <typename Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

bool bind(JNIEnv* env, jclass draws) {
  const auto native = [](const char* name, const char* descriptor, void* function) {
    return JNINativeMethod{const_cast<char*>(name), const_cast<char*>(descriptor), function};
  };
  const JNINativeMethod methods[] = {
      native("give", "([B)I", address(give_bytes)), native("give", "([JI)I", address(give_number)),
      native("begin", "()V", address(begin)),       native("end", "([B)V", address(end_bytes)),
      native("end", "([JI)V", address(end_number)),
  };
  return env->RegisterNatives(draws, methods, static_cast<jint>(std::size(methods))) == JNI_OK;
}

}  // namespace

std::string_view edit_draws(JNIEnv* env, ClassLoading* classes) {
  constexpr std::string_view kProblem =
      "the generators of random numbers of this JVM differ from those of version 17: their numbers "
      "are not recorded, and not those of a recording";
  const jclass draws = classes->load("filibuster/Draws");
  if (draws == nullptr || !bind(env, draws)) return kProblem;
  const std::span<const Edit> table = draw_edits();
  jclass found[kMaxClasses];
  jint count = 0;
  for (size_t i = 0; i < table.size(); i += edits_of(table, table[i].in.type).size()) {
    found[count] = classes->load(table[i].in.type);
    if (found[count] == nullptr || classes->load(table[i].helper.type) == nullptr) return kProblem;
    ++count;
  }
  jvmtiCapabilities capabilities{};
  capabilities.can_retransform_classes = 1;
  jvmtiEnv* tools = make_tools(capabilities);
  if (tools == nullptr) return kProblem;
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassFileLoadHook = draws_class_file_load;
  tools->SetEventCallbacks(&callbacks, sizeof callbacks);
  tools->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
  const jvmtiError error = tools->RetransformClasses(count, found);
  tools->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
  if (error != JVMTI_ERROR_NONE || g_done != (1u << table.size()) - 1) return kProblem;
  return {};
}

}  // namespace filibuster::preload::jvm
