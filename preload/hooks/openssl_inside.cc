// OpenSSL that is linked into a program, as into Node's own binaries: its functions are called directly, so that
// they are reached by a jump in their place (detour.h).
#include "preload/hooks/openssl.h"
#include "preload/runtimes/native/detour.h"
#include "preload/runtimes/node/node.h"

namespace filibuster::preload::openssl {
namespace {

constinit const Api* g_api = nullptr;
constinit void* g_read = nullptr;
constinit void* g_write = nullptr;
constinit void* g_get_error = nullptr;
constinit void* g_shutdown = nullptr;
constinit std::atomic<bool> g_asked{false}, g_reached{false};

const Api* library() {
  return g_api;
}

int inside_read(Ssl* ssl, void* data, int size) {
  const auto real = [&]() -> Moved {
    const int result = reinterpret_cast<int (*)(Ssl*, void*, int)>(g_read)(ssl, data, size);
    return {result, result > 0 ? static_cast<size_t>(result) : 0};
  };
  if (size <= 0) return real().result;
  return read_through(library, ssl, data, static_cast<size_t>(size), false, real).result;
}

int inside_write(Ssl* ssl, const void* data, int size) {
  const auto real = [&]() -> Moved {
    const int result = reinterpret_cast<int (*)(Ssl*, const void*, int)>(g_write)(ssl, data, size);
    return {result, result > 0 ? static_cast<size_t>(result) : 0};
  };
  if (size < 0) return real().result;
  return write_through(library, ssl, data, static_cast<size_t>(size), real).result;
}

int inside_get_error(const Ssl* ssl, int result) {
  if (const int error = own_error(library, ssl, result); error != kErrorNone) return error;
  return reinterpret_cast<int (*)(const Ssl*, int)>(g_get_error)(ssl, result);
}

int inside_shutdown(Ssl* ssl) {
  if (shut_down(library, ssl)) return 1;
  return reinterpret_cast<int (*)(Ssl*)>(g_shutdown)(ssl);
}

template <typename Function>
bool reach(const char* name, Function* ours, void** original) {
  void* found = find_inside(name);
  return found != nullptr && detour(found, reinterpret_cast<void*>(ours), original);
}

// Reaches it at the first time. False: it is not there, or not to be reached.
bool is_reached() {
  if (!g_asked.exchange(true)) {
    g_api = api_inside();
    // In this order, so that what is missing in the end has no effect.
    const bool done = g_api != nullptr && reach("SSL_get_error", inside_get_error, &g_get_error) &&
                      reach("SSL_shutdown", inside_shutdown, &g_shutdown) &&
                      reach("SSL_write", inside_write, &g_write) &&
                      reach("SSL_read", inside_read, &g_read);
    if (g_api != nullptr && !done)
      report_note("TLS: the OpenSSL inside of the program is not reached");
    g_reached.store(done, std::memory_order_release);
  }
  return g_reached.load(std::memory_order_acquire);
}

// Before any thread of the program runs.
__attribute__((constructor)) void open_door() {
  node::set_tls_question(is_reached);
}

}  // namespace

void reach_openssl_inside(const Connection& c) {
  const Followed* protocol = c.protocol();
  if (protocol == nullptr || !protocol->is_carrier()) return;
  if (!g_asked.load(std::memory_order_relaxed)) is_reached();
}

}  // namespace filibuster::preload::openssl
