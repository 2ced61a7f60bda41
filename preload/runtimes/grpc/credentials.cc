#include "preload/runtimes/grpc/credentials.h"

#include <dlfcn.h>

#include <cstdlib>

#include "preload/rpc/agent.h"
#include "preload/runtimes/grpc/originals.h"
#include "preload/runtimes/grpc/pointer_table.h"
#include "preload/runtimes/native/needed.h"

namespace filibuster::preload::grpc {
namespace {

struct Known {
  uint32_t holders = 0;  // insecure credentials are one object for all
  uint64_t session = kNever;
};
constinit PointerTable<Known, 256> g_known;

void made(const Credentials* credentials, uint64_t session) {
  if (credentials == nullptr || session == kNever) return;
  Known known;
  g_known.take(credentials, &known);
  g_known.insert(credentials, {known.holders + 1, session});
}

bool has_proxy() {
  for (const char* name : {"grpc_proxy", "https_proxy", "http_proxy"}) {
    const char* value = getenv(name);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

}  // namespace

uint64_t tls_marked_in(const char* path) {
  if (path == nullptr || has_proxy() || !library_needs(path, "libssl.so.3")) return kNever;
  note_stream_socket();  // who makes credentials is going to connect
  return session_present() && attached() ? session_generation() : kNever;
}

void insecure_credentials_made(const Credentials* credentials) {
  made(credentials, kInEachSession);
}

void tls_credentials_made(const Credentials* credentials, const void* caller) {
  void* library = find_original(Function::kChannelCreate, caller);
  Dl_info info;
  if (library == nullptr || dladdr(library, &info) == 0) return;
  made(credentials, tls_marked_in(info.dli_fname));
}

void composite_credentials_made(const Credentials* credentials, const Credentials* inner) {
  made(credentials, marked_in(inner));
}

void credentials_released(const Credentials* credentials) {
  Known known;
  if (g_known.take(credentials, &known) && known.holders > 1)
    g_known.insert(credentials, {known.holders - 1, known.session});
}

uint64_t marked_in(const Credentials* credentials) {
  Known known;
  return g_known.find(credentials, &known) ? known.session : kNever;
}

}  // namespace filibuster::preload::grpc
