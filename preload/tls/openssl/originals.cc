#include <array>
#include <atomic>
#include <utility>

#include "preload/os/bounded_wait.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/native/library_originals.h"
#include "preload/tls/openssl/api.h"
#include "preload/tls/pump.h"

namespace filibuster::preload::openssl {
namespace {

constexpr const char* kNames[] = {
    "SSL_read",         "SSL_read_ex", "SSL_write",       "SSL_write_ex", "SSL_peek",
    "SSL_peek_ex",      "SSL_pending", "SSL_has_pending", "SSL_shutdown", "SSL_get_error",
    "SSL_get_shutdown", "SSL_want",

    "SSL_do_handshake", "SSL_connect", "SSL_accept",      "SSL_free",     "SSL_get_fd",
    "SSL_get_rfd",      "SSL_get_wfd", "SSL_get_rbio",    "SSL_get_wbio",
};
constexpr size_t kFunctions = static_cast<size_t>(Function::kCount);
static_assert(sizeof kNames / sizeof *kNames == kFunctions);

constexpr unsigned kMajor = 3;
constexpr uint64_t kFilledWithinNs = 1'000'000'000;

// A copy of the library, by the address of its SSL_read.
struct Copy {
  std::atomic<const void*> read{nullptr};
  enum State : int { kUnknown = 0, kFilled, kOther };
  std::atomic<int> state{kUnknown};
  Api api;
};
constexpr size_t kCopies = 16;
constinit Copy g_copies[kCopies] = {};

// A callback gets no argument that would tell its copy of the library.
template <size_t kCopy>
int call_new_session(Ssl* ssl, SslSession* session) {
  const Api& api = g_copies[kCopy].api;
  if (is_pump()) return 0;
  const auto callback = reinterpret_cast<NewSession>(
      api.SSL_CTX_get_ex_data(api.SSL_get_SSL_CTX(ssl), api.context_index));
  return callback != nullptr ? callback(ssl, session) : 0;
}
template <size_t... kEach>
constexpr std::array<NewSession, kCopies> new_sessions(std::index_sequence<kEach...>) {
  return {call_new_session<kEach>...};
}
constexpr auto kNewSessions = new_sessions(std::make_index_sequence<kCopies>());

struct Originals {
  std::atomic<void*> functions[kFunctions] = {};
  std::atomic<Copy*> copy{nullptr};
};
constinit Callers<Originals> g_callers;

void* search(Function function, const void* code) {
  return find_beyond_us(kNames[static_cast<size_t>(function)], code, "/libssl.so");
}

void free_value(void*, void* value, ExData*, int, long, void*) {
  if (value != nullptr) ssl_freed(value);
}
// The copy of an SSL (SSL_dup) is another connection.
int copy_value(ExData*, const ExData*, void** value, int, long, void*) {
  *value = nullptr;
  return 1;
}

bool fill(Api* api, const void* read, NewSession new_session) {
  auto version = reinterpret_cast<unsigned (*)()>(find_beside(read, "OPENSSL_version_major"));
  if (version == nullptr || version() < kMajor) return false;
#define FILIBUSTER_FIND(type, name, parameters)                               \
  api->name = reinterpret_cast<type(*) parameters>(find_beside(read, #name)); \
  if (api->name == nullptr) return false;
  FILIBUSTER_OPENSSL_FUNCTIONS(FILIBUSTER_FIND)
#undef FILIBUSTER_FIND
  const HookScope scope;
  api->index =
      api->CRYPTO_get_ex_new_index(kExDataOfSsl, 0, nullptr, nullptr, copy_value, free_value);
  api->context_index =
      api->CRYPTO_get_ex_new_index(kExDataOfContext, 0, nullptr, nullptr, nullptr, nullptr);
  api->new_session = new_session;
  return api->index >= 0 && api->context_index >= 0;
}

Copy* copy_of(const void* read) {
  for (Copy& copy : g_copies) {
    const void* known = copy.read.load(std::memory_order_acquire);
    if (known == nullptr && copy.read.compare_exchange_strong(known, read)) {
      const bool filled =
          fill(&copy.api, read, kNewSessions[static_cast<size_t>(&copy - g_copies)]);
      copy.state.store(filled ? Copy::kFilled : Copy::kOther, std::memory_order_release);
      if (!filled)
        report_note("TLS: a libssl that is not OpenSSL 3: its connections are not followed");
      return &copy;
    }
    if (known == read) return &copy;
  }
  return nullptr;
}

}  // namespace

void keep_new_session(const Api& api, const Ssl* ssl) {
  SslContext* context = api.SSL_get_SSL_CTX(ssl);
  const NewSession callback = api.SSL_CTX_sess_get_new_cb(context);
  if (callback == nullptr || callback == api.new_session) return;
  api.SSL_CTX_set_ex_data(context, api.context_index, reinterpret_cast<void*>(callback));
  api.SSL_CTX_sess_set_new_cb(context, api.new_session);
}

void* find_inside(const char* name) {
  const HookScope scope;
  return find_in_program(name);
}

const Api* api_inside() {
  const void* read = find_inside("SSL_read");
  const Copy* copy = read != nullptr ? copy_of(read) : nullptr;
  return copy != nullptr && copy->state.load(std::memory_order_acquire) == Copy::kFilled
             ? &copy->api
             : nullptr;
}

void* find_original(Function function, const void* code) {
  Originals* caller = g_callers.at(code);
  if (caller == nullptr) return search(function, code);
  auto& known = caller->functions[static_cast<size_t>(function)];
  void* found = known.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = search(function, code);
    known.store(found, std::memory_order_release);
  }
  return found;
}

const Api* api_for(const void* code) {
  Originals* caller = g_callers.at(code);
  Copy* copy = caller != nullptr ? caller->copy.load(std::memory_order_acquire) : nullptr;
  if (copy == nullptr) {
    const void* read = find_original(Function::kRead, code);
    copy = read != nullptr ? copy_of(read) : nullptr;
    if (copy == nullptr) return nullptr;
    if (caller != nullptr) caller->copy.store(copy, std::memory_order_release);
  }
  // Another thread fills it in now, perhaps.
  if (copy->state.load(std::memory_order_acquire) == Copy::kUnknown)
    wait_until([&] { return copy->state.load(std::memory_order_acquire) != Copy::kUnknown; },
               kFilledWithinNs);
  return copy->state.load(std::memory_order_acquire) == Copy::kFilled ? &copy->api : nullptr;
}

}  // namespace filibuster::preload::openssl
