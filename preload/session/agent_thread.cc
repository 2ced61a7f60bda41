#include "preload/session/agent_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "preload/interpose.h"
#include "preload/os/pool.h"
#include "preload/os/raw_syscall.h"

// These are looked up, not linked: in glibc 2.34 and later they have other symbol versions.
FILIBUSTER_REAL(int, pthread_create, (pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))
FILIBUSTER_REAL(int, pthread_attr_setstacksize, (pthread_attr_t*, size_t))

namespace filibuster::preload {
namespace {

constexpr size_t kStack = 256 * 1024;

struct Start {
  void (*run)(void*);
  void* argument;
};
Pool<Start, 64, 64> g_starts;
constinit std::atomic<bool> g_refused{false};

void* begin(void* argument) {
  const HookScope scope;  // whatever this calls is none of the application's
  auto* memory = static_cast<Start*>(argument);
  const Start start = *memory;
  g_starts.give(memory);
  raw_syscall(SYS_prctl, PR_SET_NAME, "filibuster");
  start.run(start.argument);
  return nullptr;
}

}  // namespace

bool agent_thread_was_refused() {
  return g_refused.load(std::memory_order_relaxed);
}

bool start_agent_thread(void (*run)(void*), void* argument) {
  if (REAL(pthread_create) == nullptr || REAL(pthread_attr_setstacksize) == nullptr) return false;
  Start* start = g_starts.take();
  pthread_attr_t attributes;
  pthread_t thread;
  if (start == nullptr) return false;
  if (pthread_attr_init(&attributes) != 0) {
    g_starts.give(start);
    return false;
  }
  *start = {run, argument};
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  REAL(pthread_attr_setstacksize)(&attributes, kStack);
  // The host's signals are for its own threads; 32 and 33 are libc's, which waits for every thread
  // to answer them (setuid).
  const uint64_t all = ~uint64_t{0} & ~(uint64_t{3} << 31);
  uint64_t before = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
  const int error = REAL(pthread_create)(&thread, &attributes, begin, start);
  const bool started = error == 0;
  if (error == EAGAIN) g_refused.store(true, std::memory_order_relaxed);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof before);
  pthread_attr_destroy(&attributes);
  if (!started) g_starts.give(start);
  return started;
}

}  // namespace filibuster::preload
