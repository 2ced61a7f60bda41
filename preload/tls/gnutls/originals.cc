#include <atomic>

#include "preload/os/bounded_wait.h"
#include "preload/runtimes/native/library_originals.h"
#include "preload/tls/gnutls/api.h"

namespace filibuster::preload::gnutls {
namespace {

constexpr const char* kNames[] = {
    "gnutls_init",
    "gnutls_deinit",
    "gnutls_handshake",
    "gnutls_record_send",
    "gnutls_record_recv",
    "gnutls_record_check_pending",
    "gnutls_record_get_direction",
    "gnutls_bye",
    "gnutls_transport_get_ptr",
    "gnutls_transport_get_ptr2",
    "gnutls_transport_get_int",
    "gnutls_transport_get_int2",
};
constexpr size_t kFunctions = static_cast<size_t>(Function::kCount);
static_assert(sizeof kNames / sizeof *kNames == kFunctions);
constexpr uint64_t kFilledWithinNs = 1'000'000'000;

struct Originals {
  std::atomic<void*> functions[kFunctions] = {};
  enum State : int { kUnknown = 0, kFilling, kFilled, kOther };
  std::atomic<int> state{kUnknown};
  Api api = {};
};
constinit Callers<Originals> g_callers;

bool fill(Api* api, const void* init) {
#define FILIBUSTER_FIND(type, name, parameters)                               \
  api->name = reinterpret_cast<type(*) parameters>(find_beside(init, #name)); \
  if (api->name == nullptr) return false;
  FILIBUSTER_GNUTLS_FUNCTIONS(FILIBUSTER_FIND)
#undef FILIBUSTER_FIND
  return true;
}

}  // namespace

void* find_original(Function function, const void* code) {
  const auto at = static_cast<size_t>(function);
  Originals* caller = g_callers.at(code);
  void* found = caller != nullptr ? caller->functions[at].load(std::memory_order_acquire) : nullptr;
  if (found != nullptr) return found;
  found = find_beyond_us(kNames[at], code, "/libgnutls.so");
  if (caller != nullptr) caller->functions[at].store(found, std::memory_order_release);
  return found;
}

const Api* api_for(const void* code) {
  Originals* caller = g_callers.at(code);
  if (caller == nullptr) return nullptr;
  int unknown = Originals::kUnknown;
  if (caller->state.load(std::memory_order_acquire) == unknown &&
      caller->state.compare_exchange_strong(unknown, Originals::kFilling)) {
    const void* init = find_original(Function::kInit, code);
    const bool filled = init != nullptr && fill(&caller->api, init);
    caller->state.store(filled ? Originals::kFilled : Originals::kOther, std::memory_order_release);
  }
  wait_until([&] { return caller->state.load(std::memory_order_acquire) > Originals::kFilling; },
             kFilledWithinNs);
  return caller->state.load(std::memory_order_acquire) == Originals::kFilled ? &caller->api
                                                                             : nullptr;
}

}  // namespace filibuster::preload::gnutls
