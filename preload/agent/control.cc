// Finding and mapping the control page: the one thing a process without a session ever touches.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "preload/agent/agent.h"
#include "preload/agent/bounded_wait.h"
#include "preload/agent/raw_syscall.h"
#include "preload/agent/state.h"

namespace filibuster::preload {

constinit std::atomic<ControlPage*> g_control_page{nullptr};

namespace {

constexpr size_t kPageSize = 4096;
constexpr uint64_t kDeadlineNs = 1'000'000'000;

enum Mapping : int { kNotTried = 0, kTrying, kDone };
constinit std::atomic<int> g_mapping{kNotTried};

// The page is complete, private and ours: what we follow decides where our traffic is reported.
ControlPage* map_page(int fd, bool create, uint32_t uid) {
  struct stat status;
  if (raw_syscall(SYS_fstat, fd, &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  if (create && (status.st_uid != uid || (status.st_mode & 077) != 0)) return nullptr;
  if (status.st_size < static_cast<off_t>(kPageSize)) {
    if (!create || raw_syscall(SYS_ftruncate, fd, kPageSize) != 0) return nullptr;
  }
  const long page = raw_syscall(SYS_mmap, nullptr, kPageSize, PROT_READ, MAP_SHARED, fd, 0);
  if (page < 0 && page > -4096) return nullptr;
  return reinterpret_cast<ControlPage*>(page);
}

ControlPage* open_configured(std::string_view daemon) {
  // unix:DIR/agent.sock -> DIR/control
  constexpr std::string_view kScheme = "unix:";
  if (!daemon.starts_with(kScheme)) return nullptr;
  const std::string_view socket = daemon.substr(kScheme.size());
  const size_t slash = socket.rfind('/');
  if (slash == std::string_view::npos) return nullptr;
  char path[300];
  constexpr std::string_view kName = "/control";
  if (slash + kName.size() >= sizeof path) return nullptr;
  std::memcpy(path, socket.data(), slash);
  std::memcpy(path + slash, kName.data(), kName.size());
  path[slash + kName.size()] = '\0';
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) return nullptr;
  ControlPage* page = map_page(static_cast<int>(fd), false, 0);
  raw_syscall(SYS_close, fd);
  return page;
}

// /dev/shm/filibuster-<uid>/control, made if missing, so that a daemon started later can fill it.
ControlPage* open_per_user() {
  const auto uid = static_cast<uint32_t>(raw_syscall(SYS_geteuid));
  char directory[64];
  size_t size = sizeof kUserControlDirPrefix - 1;
  std::memcpy(directory, kUserControlDirPrefix, size);
  char digits[10];
  int n = 0;
  uint32_t rest = uid;
  do {
    digits[n++] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  while (n > 0) directory[size++] = digits[--n];
  directory[size] = '\0';

  raw_syscall(SYS_mkdirat, AT_FDCWD, directory, 0700);
  const long at = raw_syscall(SYS_openat, AT_FDCWD, directory,
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (at < 0) return nullptr;
  ControlPage* page = nullptr;
  struct stat status;
  if (raw_syscall(SYS_fstat, at, &status) == 0 && status.st_uid == uid &&
      (status.st_mode & 077) == 0) {
    const long fd =
        raw_syscall(SYS_openat, at, "control", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
      page = map_page(static_cast<int>(fd), true, uid);
      raw_syscall(SYS_close, fd);
    }
  }
  raw_syscall(SYS_close, at);
  return page;
}

}  // namespace

void control_page_after_fork() {
  int trying = kTrying;  // in a thread that the child does not have
  g_mapping.compare_exchange_strong(trying, kNotTried);
}

void note_stream_socket() {
  if (g_mapping.load(std::memory_order_relaxed) == kDone) return;
  if (t_state.registering || !own_process()) return;
  int expected = kNotTried;
  if (!g_mapping.compare_exchange_strong(expected, kTrying, std::memory_order_acq_rel)) {
    // Another thread is at it. Without the page this thread's connection would pass unseen, all its
    // life.
    wait_until([] { return g_mapping.load(std::memory_order_acquire) != kTrying; }, kDeadlineNs);
    return;
  }
  t_state.registering = true;  // a signal handler of this thread must not wait for it
  const std::string_view daemon = identity().daemon;
  ControlPage* page = daemon.empty() ? open_per_user() : open_configured(daemon);
  g_control_page.store(page, std::memory_order_release);
  g_mapping.store(kDone, std::memory_order_release);
  t_state.registering = false;
}

}  // namespace filibuster::preload
