#include "preload/runtimes/jvm/vm.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/prctl.h>

#include <atomic>
#include <cstring>

#include "preload/os/raw_syscall.h"

namespace filibuster::preload::jvm {
namespace {

using CreatedVms = jint (*)(JavaVM**, jsize, jsize*);

constinit std::atomic<JavaVM*> g_vm{nullptr};
// Set when the library is HotSpot's. Its machine may still be being created then: we meet it so where an
// agent of the program (-javaagent) uses the network in its `premain`.
constinit std::atomic<CreatedVms> g_created_vms{nullptr};
constinit std::atomic<jvmtiEnv*> g_tools{nullptr};
constinit std::atomic<bool> g_creating{false};

// The launcher loads libjvm.so with RTLD_LOCAL, and from a directory of its own. So it is found by its
// name among the objects that are loaded.
int note_libjvm(dl_phdr_info* info, size_t, void* out) {
  const char* name = info->dlpi_name;
  const char* slash = name != nullptr ? std::strrchr(name, '/') : nullptr;
  if (slash == nullptr || std::strcmp(slash, "/libjvm.so") != 0) return 0;
  *static_cast<const char**>(out) = name;
  return 1;
}

bool is_created(CreatedVms created) {
  JavaVM* vm = nullptr;
  jsize count = 0;
  if (created(&vm, 1, &count) != JNI_OK || count < 1) return false;
  g_vm.store(vm, std::memory_order_release);
  return true;
}

}  // namespace

bool is_attach_listener() {
  char name[17] = {};
  raw_syscall(SYS_prctl, PR_GET_NAME, name);
  return std::strcmp(name, "Attach Listener") == 0;
}

bool known() {
  if (g_vm.load(std::memory_order_acquire) != nullptr) return true;
  const CreatedVms created = g_created_vms.load(std::memory_order_acquire);
  return created != nullptr && is_created(created);
}

bool is_being_created() {
  return g_vm.load(std::memory_order_acquire) == nullptr &&
         g_created_vms.load(std::memory_order_acquire) != nullptr;
}

bool find() {
  if (known()) return true;
  const char* path = nullptr;
  dl_iterate_phdr(note_libjvm, &path);
  if (path == nullptr) return false;
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const auto created = reinterpret_cast<CreatedVms>(dlsym(library, "JNI_GetCreatedJavaVMs"));
  if (created == nullptr || dlsym(library, "gHotSpotVMStructs") == nullptr) return false;
  g_created_vms.store(created, std::memory_order_release);
  return is_created(created);
}

JNIEnv* of_thread() {
  if (!known()) return nullptr;
  JavaVM* vm = g_vm.load(std::memory_order_acquire);
  void* env = nullptr;
  if (vm->GetEnv(&env, JNI_VERSION_9) != JNI_OK) return nullptr;
  return static_cast<JNIEnv*>(env);
}

JNIEnv* attach_thread() {
  JavaVM* vm = g_vm.load(std::memory_order_acquire);
  char name[] = "filibuster";
  JavaVMAttachArgs arguments{JNI_VERSION_9, name, nullptr};
  void* env = nullptr;
  if (vm == nullptr || vm->AttachCurrentThreadAsDaemon(&env, &arguments) != JNI_OK) return nullptr;
  return static_cast<JNIEnv*>(env);
}

void detach_thread() {
  if (JavaVM* vm = g_vm.load(std::memory_order_acquire)) vm->DetachCurrentThread();
}

jvmtiEnv* make_tools(const jvmtiCapabilities& capabilities) {
  JavaVM* vm = g_vm.load(std::memory_order_acquire);
  void* made = nullptr;
  if (vm == nullptr || vm->GetEnv(&made, JVMTI_VERSION_9) != JNI_OK) return nullptr;
  auto* tools = static_cast<jvmtiEnv*>(made);
  jvmtiPhase phase;
  if (tools->GetPhase(&phase) == JVMTI_ERROR_NONE && phase == JVMTI_PHASE_LIVE &&
      tools->AddCapabilities(&capabilities) == JVMTI_ERROR_NONE) {
    return tools;
  }
  tools->DisposeEnvironment();
  return nullptr;
}

jvmtiEnv* tools() {
  jvmtiEnv* tools = g_tools.load(std::memory_order_acquire);
  if (tools != nullptr) return tools;
  // One thread creates the environment; others do without it meanwhile (their stacks are incomplete).
  if (is_attach_listener() || g_creating.exchange(true, std::memory_order_acq_rel)) return nullptr;
  tools = g_tools.load(std::memory_order_acquire);
  if (tools == nullptr) {
    jvmtiCapabilities capabilities{};
    capabilities.can_get_line_numbers = 1;
    capabilities.can_get_source_file_name = 1;
    tools = make_tools(capabilities);
    g_tools.store(tools, std::memory_order_release);
  }
  g_creating.store(false, std::memory_order_release);
  return tools;
}

std::string_view version(char* buffer, size_t capacity) {
  jvmtiEnv* tools = of_thread() != nullptr ? jvm::tools() : nullptr;
  char* text = nullptr;
  if (tools == nullptr || tools->GetSystemProperty("java.vm.version", &text) != JVMTI_ERROR_NONE)
    return {};
  size_t size = std::strlen(text);
  if (size > capacity) size = capacity;
  std::memcpy(buffer, text, size);
  tools->Deallocate(reinterpret_cast<unsigned char*>(text));
  return {buffer, size};
}

int major_version() {
  char text[64];
  int major = 0;
  for (char c : version(text, sizeof text)) {
    if (c < '0' || c > '9') break;
    major = major * 10 + (c - '0');
  }
  return major;
}

}  // namespace filibuster::preload::jvm
