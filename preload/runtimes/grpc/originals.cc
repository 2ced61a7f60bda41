#include "preload/runtimes/grpc/originals.h"

#include <atomic>

#include "preload/rpc/agent.h"
#include "preload/runtimes/grpc/abi.h"
#include "preload/runtimes/native/library_originals.h"

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
    "grpc_ssl_credentials_create",
    "grpc_ssl_credentials_create_ex",
    "grpc_tls_credentials_create",
    "grpc_composite_channel_credentials_create",
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

struct Originals {
  std::atomic<void*> functions[kFunctions] = {};
  std::atomic<int> understanding{kNotAsked};
};
constinit Callers<Originals> g_callers;

void* search(const char* name, const void* code) {
  return find_beyond_us(name, code, "/libgrpc.so");
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
  Originals* caller = g_callers.at(code);
  if (caller == nullptr) return search(kNames[at], code);
  void* found = caller->functions[at].load(std::memory_order_acquire);
  if (found == nullptr) {
    found = search(kNames[at], code);
    caller->functions[at].store(found, std::memory_order_release);
  }
  return found;
}

bool understood(const void* code) {
  Originals* caller = g_callers.at(code);
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
