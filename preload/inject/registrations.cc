#include "preload/inject/registrations.h"

#include <sys/stat.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "core/text/number.h"
#include "preload/inject/raw.h"
#include "preload/os/open_descriptors.h"
#include "preload/os/proc_text.h"
#include "preload/rpc/agent.h"

namespace filibuster::preload {
namespace {

// Number of the application's changes that are under way; kFrozen: a descriptor is being replaced.
constexpr uint32_t kFrozen = 1u << 31;
constinit std::atomic<uint32_t> g_changes{0};

// Waits until `done()`, about a second at most. Most waits are over while it spins or yields.
template <typename Done>
bool wait_until(const Done& done) {
  constexpr int kSpins = 200, kYields = 1000, kSleeps = 1000;
  for (int i = 0; i < kSpins + kYields + kSleeps; ++i) {
    if (done()) return true;
    if (i >= kSpins + kYields) {
      timespec millisecond = {0, 1'000'000};  // (the kernel writes what is left of it)
      raw::call(SYS_ppoll, 0, 0, raw::address_of(&millisecond));
    } else if (i >= kSpins) {
      raw::call(SYS_sched_yield);
    }
  }
  return false;
}

// Reads fdinfo of the epoll descriptor `set` and appends the registrations of the aliases.
// A line (proc(5)): "tfd:        5 events:       19 data:  5  pos:0 ino:2a sdev:8"
class FdinfoReader {
 public:
  FdinfoReader(int set, uint64_t inode, Registrations* out) : set_(set), inode_(inode), out_(out) {}

  const char* run(int info_directory, const char* name) {
    const int file = raw::open_at(info_directory, name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return file == -ENOENT ? nullptr : "fdinfo of an epoll set is not readable";
    char buffer[4096];
    size_t kept = 0;
    const char* problem = nullptr;
    for (;;) {
      const long n = raw::read(file, buffer + kept, sizeof buffer - kept);
      if (n == -EINTR) continue;
      if (n < 0) problem = "fdinfo of an epoll set is not readable";
      if (n <= 0) break;
      kept = take_lines(buffer, kept + static_cast<size_t>(n));
      if (kept == sizeof buffer) kept = 0;  // no line of an epoll set is that long
    }
    raw::close(file);
    if (problem == nullptr && full_) problem = "the connection is in more than 32 epoll sets";
    return problem;
  }

 private:
  size_t take_lines(char* buffer, size_t size) {
    size_t begin = 0;
    while (begin < size) {
      const void* end = memchr(buffer + begin, '\n', size - begin);
      if (end == nullptr) break;
      const size_t next = static_cast<size_t>(static_cast<const char*>(end) - buffer) + 1;
      line({buffer + begin, next - 1 - begin});
      begin = next;
    }
    memmove(buffer, buffer + begin, size - begin);
    return size - begin;
  }

  void line(std::string_view text) {
    uint64_t fd, events, data, inode;
    if (!number_field(text, "tfd:", 10, &fd) || !number_field(text, "events:", 16, &events) ||
        !number_field(text, "data:", 16, &data)) {
      return;
    }
    // A number that was closed and given out again may still be registered for its older socket.
    if (number_field(text, "ino:", 16, &inode) && inode != inode_) return;
    for (int i = 0; i < out_->alias_count; ++i) {
      if (out_->aliases[i] != static_cast<int>(fd)) continue;
      if (out_->count == kMaxRegistrations) {
        full_ = true;
        return;
      }
      Registrations::One& one = out_->list[out_->count++];
      one.set = set_;
      one.fd = static_cast<int>(fd);
      one.event.events = static_cast<uint32_t>(events);
      one.event.data.u64 = data;
      return;
    }
  }

  int set_;
  uint64_t inode_;
  Registrations* out_;
  bool full_ = false;
};

// Calls `visit(number, name, link target)` for every descriptor of the process but `directory`;
// what it returns, other than nullptr, ends the walk.
template <typename Visit>
const char* for_each_descriptor(int directory, Visit visit) {
  const char* problem = nullptr;
  const bool readable = for_each_open_descriptor(directory, [&](int number, const char* name) {
    char target[64];
    const long length = raw::read_link_at(directory, name, target, sizeof target);
    if (length > 0) problem = visit(number, name, {target, static_cast<size_t>(length)});
    return problem == nullptr;  // (without a link, the descriptor was closed meanwhile)
  });
  return readable ? problem : "/proc/self/fd is not readable";
}

}  // namespace

const char* find_registrations(int fd, Registrations* out) {
  out->count = out->alias_count = 0;
  // thread-self: threads may have unshared their descriptor table.
  const int directory =
      raw::open_at(AT_FDCWD, "/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return "/proc/self/fd is not readable";
  const int info =
      raw::open_at(AT_FDCWD, "/proc/thread-self/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  char digits[20];
  char own_name[21] = {};
  number_text(static_cast<uint64_t>(fd), 10, digits).copy(own_name, sizeof digits);
  char own_target[64];
  const long own_size = raw::read_link_at(directory, own_name, own_target, sizeof own_target);
  const std::string_view own(own_target, own_size > 0 ? static_cast<size_t>(own_size) : 0);
  uint64_t inode = 0;
  const char* problem = nullptr;
  if (info < 0) {
    problem = "/proc/self/fdinfo is not readable";
  } else if (!number_field(own, "socket:[", 10, &inode)) {
    problem = "the descriptor is not a socket any more";
  } else {
    out->aliases[out->alias_count++] = fd;
    problem = for_each_descriptor(
        directory, [&](int number, const char*, std::string_view target) -> const char* {
          if (number == fd || target != own || is_own_descriptor(number)) return nullptr;
          if (out->alias_count == kMaxAliases) return "the socket has more than 8 descriptors";
          out->aliases[out->alias_count++] = number;
          return nullptr;
        });
  }
  if (problem == nullptr) {
    problem = for_each_descriptor(
        directory, [&](int number, const char* name, std::string_view target) -> const char* {
          if (target != "anon_inode:[eventpoll]") return nullptr;
          return FdinfoReader(number, inode, out).run(info, name);
        });
  }
  if (info >= 0) raw::close(info);
  raw::close(directory);
  return problem;
}

RegistrationChange::RegistrationChange() {
  counted_ = wait_until([] {
    uint32_t changes = g_changes.load(std::memory_order_relaxed);
    return (changes & kFrozen) == 0 &&
           g_changes.compare_exchange_weak(changes, changes + 1, std::memory_order_acquire);
  });
}

RegistrationChange::~RegistrationChange() {
  if (counted_) g_changes.fetch_sub(1, std::memory_order_release);
}

bool RegistrationFreeze::begin() {
  const bool alone = wait_until(
      [] { return (g_changes.fetch_or(kFrozen, std::memory_order_acquire) & kFrozen) == 0; });
  if (!alone) return false;
  frozen_ = true;
  if (wait_until([] { return g_changes.load(std::memory_order_acquire) == kFrozen; })) return true;
  end();
  return false;
}

void RegistrationFreeze::end() {
  if (frozen_) g_changes.fetch_and(~kFrozen, std::memory_order_release);
  frozen_ = false;
}

void forget_registration_changes() {
  g_changes.store(0, std::memory_order_relaxed);
}

}  // namespace filibuster::preload
