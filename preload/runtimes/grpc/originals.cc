#include "preload/runtimes/grpc/originals.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "preload/interpose.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/grpc/abi.h"
#include "preload/runtimes/native/modules.h"

namespace filibuster::preload::grpc {
namespace {

constexpr const char* kNames[] = {
    "grpc_version_string",
    "grpc_call_start_batch",
    "grpc_call_unref",
    "grpc_call_arena_alloc",
    "grpc_channel_create",
    "grpc_channel_destroy",
    "grpc_channel_create_call",
    "grpc_channel_create_registered_call",
    "grpc_insecure_credentials_create",
    "grpc_channel_credentials_release",
    "grpc_completion_queue_next",
    "grpc_completion_queue_pluck",
    "grpc_server_request_call",
    "grpc_server_request_registered_call",
    "grpc_metadata_array_init",
    "grpc_metadata_array_destroy",
    "grpc_slice_from_copied_buffer",
    "grpc_slice_unref",
};
constexpr size_t kFunctions = static_cast<size_t>(Function::kCount);
static_assert(sizeof kNames / sizeof *kNames == kFunctions);

enum Understanding : int { kNotAsked = 0, kUnderstood, kNotUnderstood };

struct Caller {
  std::atomic<uintptr_t> module{0};  // where it begins in memory
  std::atomic<void*> functions[kFunctions] = {};
  std::atomic<int> understanding{kNotAsked};
};
constexpr size_t kMaxCallers = 32;
constinit Caller g_callers[kMaxCallers];

Caller* caller_of(uintptr_t module) {
  if (module == 0) return nullptr;  // code of no module
  for (Caller& caller : g_callers) {
    uintptr_t known = caller.module.load(std::memory_order_acquire);
    if (known == module) return &caller;
    if (known == 0 && caller.module.compare_exchange_strong(known, module)) return &caller;
    if (known == module) return &caller;
  }
  return nullptr;
}

uintptr_t module_at(const void* code) {
  ModuleInfo info;
  const auto address = reinterpret_cast<uintptr_t>(code);
  if (find_module(address, &info)) return info.begin;
  refresh_modules();
  return find_module(address, &info) ? info.begin : 0;
}

// The caller that the code at a return address belongs to. It is asked for at every call and stays the
// same, so it is kept.
struct Place {
  std::atomic<const void*> code{nullptr};
  std::atomic<Caller*> caller{nullptr};
};
constexpr size_t kMaxPlaces = 1024;  // a power of two
constexpr size_t kTries = 8;
constinit Place g_places[kMaxPlaces];

Caller* caller_at(const void* code) {
  const size_t first = reinterpret_cast<uintptr_t>(code) * 0x9E3779B97F4A7C15ull >> 32;
  for (size_t i = 0; i < kTries; ++i) {
    Place& place = g_places[(first + i) & (kMaxPlaces - 1)];
    const void* known = place.code.load(std::memory_order_acquire);
    if (known == nullptr && place.code.compare_exchange_strong(known, code)) known = code;
    if (known != code) continue;
    Caller* caller = place.caller.load(std::memory_order_acquire);
    if (caller == nullptr) {
      caller = caller_of(module_at(code));
      place.caller.store(caller, std::memory_order_release);
    }
    return caller;
  }
  return caller_of(module_at(code));
}

bool is_ours(const void* function) {
  static constinit char here = 0;
  Dl_info own, other;
  return dladdr(&here, &own) == 0 || dladdr(function, &other) == 0 ||
         own.dli_fbase == other.dli_fbase;
}

// Looks in an object that is loaded, and in what it needs. The reference that dlopen takes is kept, so
// that what was found stays loaded.
void* find_in(const char* object, const char* name) {
  void* handle = dlopen(object, RTLD_NOLOAD | RTLD_LAZY);
  void* found = handle != nullptr ? dlsym(handle, name) : nullptr;
  return found != nullptr && !is_ours(found) ? found : nullptr;
}

// The path of a libgrpc that some scope has. (To open it within the iteration could deadlock: another
// thread may hold the loader's lock and wait for this iteration.)
struct Path {
  char text[512];
};
int find_library(dl_phdr_info* info, size_t, void* data) {
  auto* path = static_cast<Path*>(data);
  const char* name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const size_t size = std::strlen(name);
  if (std::strstr(name, "/libgrpc.so") == nullptr || size >= sizeof path->text) return 0;
  std::memcpy(path->text, name, size + 1);
  return 1;
}

void* search(const char* name, const void* code) {
  const int saved = errno;
  Dl_info info;
  // This fails for code of the program itself, which no name opens again. It sees the objects after us.
  void* found = dladdr(code, &info) != 0 ? find_in(info.dli_fname, name) : nullptr;
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    Path path;
    if (dl_iterate_phdr(find_library, &path) != 0) found = find_in(path.text, name);
  }
  dlerror();  // clears the error, so that the program does not get to see it
  errno = saved;
  return found;
}

// "29.0.0": 29.
unsigned major_of(const char* version) {
  unsigned major = 0;
  for (; *version >= '0' && *version <= '9'; ++version)
    major = major * 10 + static_cast<unsigned>(*version - '0');
  return major;
}

}  // namespace

void* find_original(Function function, const void* code) {
  const auto at = static_cast<size_t>(function);
  Caller* caller = caller_at(code);
  if (caller == nullptr) return search(kNames[at], code);
  void* found = caller->functions[at].load(std::memory_order_acquire);
  if (found == nullptr) {
    const HookScope scope;
    found = search(kNames[at], code);
    caller->functions[at].store(found, std::memory_order_release);
  }
  return found;
}

bool understood(const void* code) {
  Caller* caller = caller_at(code);
  if (caller == nullptr) return false;
  int known = caller->understanding.load(std::memory_order_acquire);
  if (known == kNotAsked) {
    auto version = original<const char* (*)()>(Function::kVersionString, code);
    known = version != nullptr && major_of(version()) >= kFirstCore ? kUnderstood : kNotUnderstood;
    if (known == kNotUnderstood)
      report_note("gRPC: older than 1.46: its call sites and contexts are not read");
    caller->understanding.store(known, std::memory_order_release);
  }
  return known == kUnderstood;
}

}  // namespace filibuster::preload::grpc
