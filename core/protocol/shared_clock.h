// The time that daemon and agents compare (leases, events): CLOCK_MONOTONIC of the machine, in nanoseconds.
//
// libc is not asked for it, because a library may have put its own clock in the place of libc's for the program that it is
// loaded into (libfaketime). The kernel's code for it is mapped into each process (vdso(7)); where it is not, it is a system
// call. In a time namespace the kernel adds an offset (time_namespaces(7)), which is taken off again.
//
// `call` is a system call of raw convention: call(number, arguments...) is the result or -errno.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/program/vdso.h"

namespace filibuster {

// The offset of CLOCK_MONOTONIC in the text of /proc/PID/timens_offsets: "monotonic   86400   0". nullopt: it is not there.
std::optional<int64_t> monotonic_offset_ns(std::string_view text);

class SharedClock {
 public:
  constexpr SharedClock() = default;

  // `image`: getauxval(AT_SYSINFO_EHDR). Before this is called, now_ns() is a system call.
  void use_vdso(const void* image) {
#if defined(__x86_64__)
    constexpr std::string_view kName = "__vdso_clock_gettime";
#else
    constexpr std::string_view kName = "__kernel_clock_gettime";
#endif
    read_.store(reinterpret_cast<Read>(const_cast<void*>(vdso_function(image, kName))),
                std::memory_order_release);
  }

  // Finds out in which time namespace this process is. A process that has called unshare(CLONE_NEWTIME) itself is not in the
  // namespace of which its file tells: then what was known stays.
  template <typename Call>
  void find_namespace(const Call& call) {
    char own[64], of_children[64];
    const long own_size = call(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/time", own, sizeof own);
    const long children_size = call(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/time_for_children",
                                    of_children, sizeof of_children);
    if (own_size <= 0 || children_size <= 0 ||
        std::string_view(own, static_cast<size_t>(own_size)) !=
            std::string_view(of_children, static_cast<size_t>(children_size)))
      return;
    const long fd =
        call(SYS_openat, AT_FDCWD, "/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return;
    char text[256];
    const long size = call(SYS_read, fd, text, sizeof text);
    call(SYS_close, fd);
    if (size <= 0) return;
    if (const auto offset = monotonic_offset_ns({text, static_cast<size_t>(size)}))
      offset_ns_.store(*offset, std::memory_order_relaxed);
  }

  // May be called anywhere, also in a signal handler.
  template <typename Call>
  uint64_t now_ns(const Call& call) const {
    return read_ns(CLOCK_MONOTONIC, call) -
           static_cast<uint64_t>(offset_ns_.load(std::memory_order_relaxed));
  }

  // Another clock of the kernel's, as it is in the namespace of this process.
  template <typename Call>
  uint64_t read_ns(clockid_t clock, const Call& call) const {
    timespec now{};
    const Read read = read_.load(std::memory_order_acquire);
    if (read == nullptr || read(clock, &now) != 0) call(SYS_clock_gettime, clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
  }

 private:
  using Read = int (*)(clockid_t, timespec*);
  std::atomic<Read> read_{nullptr};
  std::atomic<int64_t> offset_ns_{0};
};

}  // namespace filibuster
