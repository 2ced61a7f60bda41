// What makes, copies and closes descriptor numbers. To the application, the numbers of our own descriptors
// are closed (EBADF), and a dup2 onto such a number moves our descriptor away first.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>

#include "preload/hooks/draws.h"
#include "preload/hooks/original_syscall.h"
#include "preload/hooks/seccomp.h"
#include "preload/hooks/shown_calls.h"
#include "preload/interpose.h"
#include "preload/os/raw_syscall.h"
#include "preload/os/shown_clock.h"
#include "preload/stream/ready_made.h"
#include "preload/stream/registry.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

namespace filibuster::preload {
namespace {

// Nothing of ours can be open, and nothing is entered, in a process that never had a stream socket.
bool never_active() {
  return g_session.load(std::memory_order_relaxed) == nullptr &&
         !g_registry_used.load(std::memory_order_relaxed);
}

// One past the highest number that may be ours.
constexpr unsigned kOwnEnd = 1u << 16;

}  // namespace
}  // namespace filibuster::preload

FILIBUSTER_HOOK(int, close, (int fd)) {
  using namespace filibuster::preload;
  if (never_active()) return REAL(close)(fd);
  {
    HookScope scope;
    if (!scope.pass_through()) {
      if (is_own_descriptor(fd) && own_process()) {
        scope.set_errno(EBADF);
        return -1;
      }
      closing(fd);
    }
  }
  return REAL(close)(fd);
}

FILIBUSTER_HOOK(int, close_range, (unsigned first, unsigned last, int flags)) {
  using namespace filibuster::preload;
  const bool sets_flag = (static_cast<unsigned>(flags) & CLOSE_RANGE_CLOEXEC) != 0;
  if (never_active() || sets_flag || first > last) return REAL(close_range)(first, last, flags);
  bool ours = false;
  {
    HookScope scope;
    if (scope.pass_through() || !own_process()) {
      ours = false;
    } else {
      const unsigned end = last < kOwnEnd ? last + 1 : kOwnEnd;
      for (unsigned fd = first; fd < end; ++fd) {
        if (is_own_descriptor(static_cast<int>(fd))) {
          ours = true;
        } else {
          closing(static_cast<int>(fd));
        }
      }
    }
  }
  if (!ours) return REAL(close_range)(first, last, flags);
  // Closes what is around our own descriptors, piece by piece.
  int result = 0;
  unsigned begin = first;
  for (unsigned fd = first; fd < kOwnEnd && fd <= last; ++fd) {
    if (!is_own_descriptor(static_cast<int>(fd))) continue;
    if (begin < fd) result |= REAL(close_range)(begin, fd - 1, flags);
    begin = fd + 1;
  }
  if (begin <= last && begin != 0) result |= REAL(close_range)(begin, last, flags);
  return result;
}

FILIBUSTER_HOOK(void, closefrom, (int first)) {
  using namespace filibuster::preload;
  if (never_active()) return REAL(closefrom)(first);
  ::close_range(static_cast<unsigned>(std::max(first, 0)), ~0u, 0);
}

FILIBUSTER_HOOK(int, dup, (int fd)) {
  using namespace filibuster::preload;
  const int copy = REAL(dup)(fd);
  if (copy < 0 || never_active()) return copy;
  HookScope scope;
  if (!scope.pass_through()) share(fd, copy);
  return copy;
}

namespace {

// Called before dup2 overwrites a number: what the number was ends, but what is ours moves away.
void make_room(int from, int to) {
  using namespace filibuster::preload;
  if (never_active() || from == to) return;
  HookScope scope;
  if (scope.pass_through() || !own_process()) return;
  // A failing dup2 closes nothing.
  if (raw_syscall(SYS_fcntl, from, F_GETFD) < 0) return;
  if (is_own_descriptor(to)) {
    relocate_own_descriptor(to);
  } else {
    closing(to);
  }
}

int received_copy(int fd) {
  using namespace filibuster::preload;
  if (fd < 0) return fd;
  HookScope scope;
  if (!scope.pass_through()) given(fd);
  return fd;
}

int made_copy(int from, int to, int result) {
  using namespace filibuster::preload;
  if (result < 0 || from == to || never_active()) return result;
  HookScope scope;
  if (!scope.pass_through()) share(from, to);
  return result;
}

}  // namespace

FILIBUSTER_HOOK(int, dup2, (int from, int to)) {
  make_room(from, to);
  return made_copy(from, to, REAL(dup2)(from, to));
}

FILIBUSTER_HOOK(int, dup3, (int from, int to, int flags)) {
  make_room(from, to);
  return made_copy(from, to, REAL(dup3)(from, to, flags));
}

// There is no argument, or it is an int or a pointer: it is forwarded as it came.
#define FILIBUSTER_FCNTL(name)                                                           \
  FILIBUSTER_REAL(int, name, (int, int, ...))                                            \
  extern "C" __attribute__((visibility("default"))) int name(int fd, int command, ...) { \
    va_list arguments;                                                                   \
    va_start(arguments, command);                                                        \
    void* argument = va_arg(arguments, void*);                                           \
    va_end(arguments);                                                                   \
    const int result = REAL(name)(fd, command, argument);                                \
    if (command != F_DUPFD && command != F_DUPFD_CLOEXEC) return result;                 \
    return made_copy(fd, result, result);                                                \
  }
FILIBUSTER_FCNTL(fcntl)
FILIBUSTER_FCNTL(fcntl64)
#undef FILIBUSTER_FCNTL

// A descriptor of another process.
FILIBUSTER_HOOK(int, pidfd_getfd, (int pidfd, int theirs, unsigned flags)) {
  using namespace filibuster::preload;
  const auto original = REAL(pidfd_getfd);
  if (original == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  return received_copy(original(pidfd, theirs, flags));
}

namespace {

// What goes through a ring passes by every hook. The report says so (docs/laws.md, law 2).
void note_io_uring() {
  using namespace filibuster::preload;
  if (nothing_to_do()) return;
  HookScope scope;
  if (!scope.pass_through() && own_process()) report_note("io_uring: its transfers are not seen");
}

}  // namespace

// Node closes its descriptors this way. All arguments are forwarded as they came: on the supported
// architectures a variadic call passes them like any other. Only SYS_close, SYS_io_uring_setup, SYS_pidfd_getfd and
// SYS_seccomp do more than jump, and in recordings and replays SYS_getrandom and what has to do with the time of day.
extern "C" __attribute__((visibility("default"))) long filibuster_syscall(
    long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");
extern "C" long filibuster_syscall(long number, long a, long b, long c, long d, long e, long f) {
  using namespace filibuster::preload;
  if (__builtin_expect(number == SYS_close, 0)) return ::close(static_cast<int>(a));
  if (__builtin_expect(number == SYS_io_uring_setup, 0)) note_io_uring();
  if (__builtin_expect(number == SYS_pidfd_getfd, 0))
    return received_copy(static_cast<int>(REAL(syscall)(number, a, b, c, d, e, f)));
  if (__builtin_expect(number == SYS_seccomp && Restriction::is_seccomp(a, c), 0)) {
    Restriction restriction;
    const long result = REAL(syscall)(number, a, b, c, d, e, f);
    if (result != 0) restriction.failed();
    return result;
  }
  if (__builtin_expect(number == SYS_getrandom, 0) && draws_matter())
    return drawn_bytes(filibuster::DrawSource::kSyscall, reinterpret_cast<void*>(a),
                       static_cast<size_t>(b),
                       [&] { return REAL(syscall)(number, a, b, c, d, e, f); });
  const int64_t offset = shown_offset_ns();
  if (__builtin_expect(offset != 0, 0)) return shown_system_call(offset, number, a, b, c, d, e, f);
  return REAL(syscall)(number, a, b, c, d, e, f);
}
