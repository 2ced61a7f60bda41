// Forks, and libraries that are loaded around us.
//
// fork is seen by pthread_atfork, whose handlers glibc runs for fork() of any caller. _Fork() runs no such
// handlers and is hooked. vfork is never wrapped in C: the parent's frame would be gone when the child
// returns (os/own_process.cc has it, without a frame).
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "preload/inject/registrations.h"
#include "preload/interpose.h"
#include "preload/os/copies.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/stack.h"
#include "preload/snapshot/snapshot.h"
#include "preload/stream/connection.h"
#include "preload/stream/holds.h"
#include "preload/stream/registry.h"
#include "preload/tls/carrier.h"

namespace filibuster::preload {

void resolve_all_originals();  // interpose.cc

namespace {

// What this thread holds must go out once, so the parent sends it now.
void before_fork() {
  HookScope scope;
  flush_holds_of_thread();
  pause_captures_for_fork();
}

void in_parent() {
  HookScope scope;
  resume_captures_after_fork(false);
}

void in_child() {
  HookScope scope;
  resume_captures_after_fork(true);
  g_fork_epoch.fetch_add(1, std::memory_order_relaxed);
  forget_watches();
  forget_registration_changes();
  forget_snapshot_after_fork();
  after_fork_in_child();
}

// This runs early, but nothing depends on that: hooks that run before it resolve by themselves.
__attribute__((constructor(101))) void start() {
  resolve_all_originals();
  if (is_inert_copy()) return;
  pthread_atfork(before_fork, in_parent, in_child);
}

// A process that exits with a held head would otherwise have sent less than it believes.
__attribute__((destructor)) void finish() {
  HookScope scope;
  flush_holds_of_thread();
  if (!own_process()) return;
  flush_all_holds();
  each_connection([](int, Connection& c, const void*) { report_unclaimed(c); }, nullptr);
}

// grpcio makes its channels before its first socket, and they last. A program of asyncio makes the coroutine that calls
// before its first socket, too. So the helper must be there first.
__attribute__((noinline)) void register_before_module(const char* file) {
  HookScope scope;
  if (scope.pass_through()) return;
  if (std::strstr(file, "/cygrpc.") == nullptr && std::strstr(file, "/_asyncio.") == nullptr)
    return;
  note_stream_socket();
  if (session_present() && own_process()) attached();
}

}  // namespace
}  // namespace filibuster::preload

FILIBUSTER_HOOK(pid_t, _Fork, ()) {
  using namespace filibuster::preload;
  const pid_t child = REAL(_Fork)();
  if (child == 0 && t_hook_depth == 0) in_child();
  return child;
}

FILIBUSTER_HOOK(int, pthread_create,
                (pthread_t * thread, const pthread_attr_t* attributes, void* (*start)(void*),
                 void* argument)) {
  using namespace filibuster::preload;
  if (t_hook_depth == 0) reach_snapshot(SnapshotPoint::kThread);
  const auto original = REAL(pthread_create);
  return original != nullptr ? original(thread, attributes, start, argument) : ENOSYS;
}

// RTLD_DEEPBIND puts a library's own symbols before ours: what it sends would pass unseen. The call
// must stay the last thing here: dlopen looks at its caller's RUNPATH, and a jump keeps the caller.
FILIBUSTER_HOOK(void*, dlopen, (const char* file, int flags)) {
  if (file != nullptr) filibuster::preload::register_before_module(file);
  return REAL(dlopen)(file, flags & ~RTLD_DEEPBIND);
}
