// Who this process and this thread are.
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "preload/os/copies.h"
#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/draws.h"
#include "preload/rpc/program_cause.h"
#include "preload/session/state.h"

namespace filibuster::preload {

constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec"))){};

namespace {

constinit std::atomic<bool> g_identity_read{false};
constinit Identity g_identity{};

template <size_t kSize>
void copy_text(char (&to)[kSize], const char* from) {
  const size_t size = from != nullptr ? strnlen(from, kSize - 1) : 0;
  std::memcpy(to, from, size);
  to[size] = '\0';
}

void read_identity() {
  Identity id{};
  copy_text(id.daemon, std::getenv("FILIBUSTER_DAEMON"));
  copy_text(id.application, std::getenv("FILIBUSTER_APPLICATION"));
  const long size = raw_syscall(SYS_readlinkat, -100 /* AT_FDCWD */, "/proc/self/exe",
                                id.executable, sizeof id.executable - 1);
  id.executable[size > 0 ? size : 0] = '\0';
  if (const char* attached = std::getenv("FILIBUSTER_ATTACHED")) {
    id.is_proxy = true;
    attached += std::strspn(attached, "0123456789");
    attached += std::strspn(attached, " ");
    if (*attached != '\0') copy_text(id.executable, attached);
  }
  if (raw_syscall(SYS_getcwd, id.directory, sizeof id.directory) <= 0) id.directory[0] = '\0';
  const char* service = std::getenv("FILIBUSTER_SERVICE");
  if (service == nullptr || *service == '\0') {
    const char* slash = std::strrchr(id.executable, '/');
    service = slash != nullptr ? slash + 1 : id.executable;
  }
  copy_text(id.service, service);
  if (const char* lane = std::getenv("FILIBUSTER_LANE"))
    id.lane = static_cast<uint32_t>(std::strtoul(lane, nullptr, 10));
  id.may_have_hosts = id.daemon[0] == '\0' || std::getenv("FILIBUSTER_HOSTS") != nullptr;
  id.is_test = std::strcmp(id.service, "test") == 0;
  // Two threads that come here together write the same bytes.
  g_identity = id;
  g_identity_read.store(true, std::memory_order_release);
}

// Before main, while nothing else runs and nobody has moved the environment; and before the constructors that may map the control
// page, since a started program is told by its environment for which request it is.
__attribute__((constructor(102))) void start() {
  if (is_inert_copy()) return;  // what the environment says is for the other one
  mark_own_process();
  read_identity();
  find_shown_clock();
  find_draws_from_start();
  take_program_cause();
}

}  // namespace

const Identity& identity() {
  if (!g_identity_read.load(std::memory_order_acquire)) read_identity();
  return g_identity;
}

void after_fork_in_child() {
  mark_own_process();
  t_state.tid = 0;
  t_state.registering = false;
  Scratch::after_fork_in_child();
  control_page_after_fork();
  registration_after_fork();
  g_incoming.after_fork(&t_state.requests);
  connects_after_fork();
}

uint32_t thread_id() {
  if (t_state.tid == 0) t_state.tid = static_cast<uint32_t>(raw_syscall(SYS_gettid));
  return t_state.tid;
}

void note_multiplexing_thread() {
  t_state.multiplexing = true;
}
bool thread_is_multiplexing() {
  return t_state.multiplexing;
}

}  // namespace filibuster::preload
