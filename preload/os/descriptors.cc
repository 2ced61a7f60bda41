// Descriptors that belong to us in the host's table: high numbers, CLOEXEC, and known, so that the
// hooks of close_range, closefrom loops and dup2 leave them alone or move them away.
#include <fcntl.h>
#include <sys/resource.h>

#include <atomic>

#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

// Above what most programs use, within the 64 numbers that every process has room for from its start. For
// a higher number the kernel makes a larger table, and meanwhile a process of several threads waits for a
// whole RCU grace period (10 to 20 ms; expand_fdtable in the kernel's fs/file.c).
constexpr int kBase = 48;
constexpr int kMaxDescriptor = 1 << 16;

constinit std::atomic<uint64_t> g_own[kMaxDescriptor / 64]{};

std::atomic<uint64_t>& word_of(int fd) {
  return g_own[fd / 64];
}
uint64_t bit_of(int fd) {
  return uint64_t{1} << (fd % 64);
}

int base() {
  rlimit limit{};
  if (raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) != 0) return kBase;
  if (limit.rlim_cur > kBase + 16) return kBase;
  return limit.rlim_cur > 32 ? static_cast<int>(limit.rlim_cur) - 32 : 3;
}

}  // namespace

long duplicate_high(int fd) {
  long high = raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, base());
  // All numbers above are taken: any number is better than none.
  if (high == -EMFILE) high = raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
  if (high >= kMaxDescriptor) {
    raw_syscall(SYS_close, high);
    return -EMFILE;
  }
  if (high >= 0) word_of(static_cast<int>(high)).fetch_or(bit_of(static_cast<int>(high)));
  return high;
}

bool is_own_descriptor(int fd) {
  if (fd < 0 || fd >= kMaxDescriptor) return false;
  return (word_of(fd).load(std::memory_order_relaxed) & bit_of(fd)) != 0;
}

int adopt_descriptor(int fd) {
  const long high = duplicate_high(fd);
  if (high < 0) return -1;
  raw_syscall(SYS_close, fd);
  return static_cast<int>(high);
}

void release_descriptor(int fd) {
  // After relocate_own_descriptor the number is the host's.
  if (!is_own_descriptor(fd)) return;
  word_of(fd).fetch_and(~bit_of(fd));
  raw_syscall(SYS_close, fd);
}

bool relocate_own_descriptor(int fd) {
  if (!is_own_descriptor(fd)) return false;
  const long high = duplicate_high(fd);
  if (high < 0) return false;
  forget_agent_socket(fd, static_cast<int>(high));
  word_of(fd).fetch_and(~bit_of(fd));
  raw_syscall(SYS_close, fd);
  return true;
}

}  // namespace filibuster::preload
