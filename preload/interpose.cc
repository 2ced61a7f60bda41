#include "preload/interpose.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "preload/os/raw_syscall.h"

extern "C" {
// Bounds of the section that FILIBUSTER_REAL fills.
extern const filibuster::preload::HookRow __start_filibuster_hooks[]
    __attribute__((visibility("hidden")));
extern const filibuster::preload::HookRow __stop_filibuster_hooks[]
    __attribute__((visibility("hidden")));
}

namespace filibuster::preload {

constinit thread_local int t_hook_depth __attribute__((tls_model("initial-exec"))) = 0;

namespace {

constinit thread_local int t_resolving __attribute__((tls_model("initial-exec"))) = 0;

// The function of libc with nothing but its system call: what a hook gets that runs inside dlsym.
template <long kNumber>
long raw_function(long a, long b, long c, long d, long e, long f) {
  const long result = raw_syscall6(kNumber, a, b, c, d, e, f);
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

// Its second argument is the clock's base, which is its result; there is one base.
long raw_timespec_get(long now, long base, long, long, long, long) {
  return base == TIME_UTC && raw_syscall6(SYS_clock_gettime, CLOCK_REALTIME, now, 0, 0, 0, 0) == 0
             ? base
             : 0;
}

// Stands for a function that an older libc lacks. A program finds our name by dlsym, and asks.
long not_there(long, long, long, long, long, long) {
  errno = ENOSYS;
  return -1;
}

struct RawRow {
  const char* name;
  long (*function)(long, long, long, long, long, long);
};

constexpr RawRow kRawFunctions[] = {
    {"read", raw_function<SYS_read>},
    {"write", raw_function<SYS_write>},
    {"readv", raw_function<SYS_readv>},
    {"writev", raw_function<SYS_writev>},
    {"close", raw_function<SYS_close>},
    {"close_range", raw_function<SYS_close_range>},
    {"dup", raw_function<SYS_dup>},
    {"dup3", raw_function<SYS_dup3>},
    {"fcntl", raw_function<SYS_fcntl>},
    {"fcntl64", raw_function<SYS_fcntl>},
    {"socket", raw_function<SYS_socket>},
    {"connect", raw_function<SYS_connect>},
    {"sendmsg", raw_function<SYS_sendmsg>},
    {"sendto", raw_function<SYS_sendto>},
    {"recvmsg", raw_function<SYS_recvmsg>},
    {"recvfrom", raw_function<SYS_recvfrom>},
    {"accept4", raw_function<SYS_accept4>},
    {"getsockopt", raw_function<SYS_getsockopt>},
    {"getsockname", raw_function<SYS_getsockname>},
    {"getpeername", raw_function<SYS_getpeername>},
    {"shutdown", raw_function<SYS_shutdown>},
    {"clock_gettime", raw_function<SYS_clock_gettime>},
    {"gettimeofday", raw_function<SYS_gettimeofday>},
    {"timespec_get", raw_timespec_get},
    {"getrandom", raw_function<SYS_getrandom>},
    {"_Fork", not_there},
    {"closefrom", not_there},
    {"epoll_pwait2", not_there},
#ifdef SYS_poll
    {"poll", raw_function<SYS_poll>},
    {"time", raw_function<SYS_time>},
    {"dup2", raw_function<SYS_dup2>},
#endif
};

}  // namespace

void* resolve_next(const char* name, bool* final) {
  const int saved = errno;
  *final = false;
  void* found = nullptr;
  if (t_resolving == 0) {
    ++t_resolving;
    found = dlsym(RTLD_NEXT, name);
    --t_resolving;
    *final = found != nullptr;
  }
  if (found == nullptr) {
    for (const RawRow& row : kRawFunctions) {
      if (std::strcmp(row.name, name) == 0) found = reinterpret_cast<void*>(row.function);
    }
  }
  errno = saved;
  return found;
}

void resolve_all_originals() {
  for (const HookRow* row = __start_filibuster_hooks; row != __stop_filibuster_hooks; ++row) {
    if (row->original->load(std::memory_order_relaxed) != nullptr) continue;
    bool final = false;
    void* found = resolve_next(row->name, &final);
    if (final) row->original->store(found, std::memory_order_relaxed);
  }
}

}  // namespace filibuster::preload
