// What takes from a process the way to its control page: it attaches the page before that, and keeps it, as its children
// do (core/protocol/control_page.h). A process without sockets whose rights go before it executes another program keeps
// nothing by it, and loses nothing.
#include <sys/types.h>
#include <unistd.h>

#include "preload/interpose.h"
#include "preload/rpc/agent.h"

namespace filibuster::preload {
namespace {

__attribute__((noinline)) void keep_control_page() {
  HookScope scope;
  if (!scope.pass_through()) note_stream_socket();
}

}  // namespace
}  // namespace filibuster::preload

using filibuster::preload::keep_control_page;

FILIBUSTER_HOOK(int, setuid, (uid_t user)) {
  keep_control_page();
  return REAL(setuid)(user);
}

FILIBUSTER_HOOK(int, seteuid, (uid_t effective)) {
  keep_control_page();
  return REAL(seteuid)(effective);
}

FILIBUSTER_HOOK(int, setreuid, (uid_t real, uid_t effective)) {
  keep_control_page();
  return REAL(setreuid)(real, effective);
}

FILIBUSTER_HOOK(int, setresuid, (uid_t real, uid_t effective, uid_t saved)) {
  keep_control_page();
  return REAL(setresuid)(real, effective, saved);
}

FILIBUSTER_HOOK(int, chroot, (const char* path)) {
  keep_control_page();
  return REAL(chroot)(path);
}
