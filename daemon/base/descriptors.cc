#include "daemon/base/descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "core/protocol/shared_clock.h"

namespace filibuster {
namespace {

constexpr auto kRawCall = [](long number, auto... arguments) {
  const long result = ::syscall(number, arguments...);
  return result < 0 ? -static_cast<long>(errno) : result;
};

}  // namespace

uint64_t clock_ns(clockid_t clock) {
  struct Found : SharedClock {
    Found() {
      use_vdso(reinterpret_cast<const void*>(::getauxval(AT_SYSINFO_EHDR)));
      find_namespace(kRawCall);
    }
  };
  static const Found found;
  return clock == CLOCK_MONOTONIC ? found.now_ns(kRawCall) : found.read_ns(clock, kRawCall);
}

void close_with_reset(UniqueFd fd) {
  const linger now{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

Error system_error(const std::string& what) {
  return Error{what + ": " + std::strerror(errno)};
}

bool memory_may_run_out_later() {
  UniqueFd setting(::open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC));
  char mode = '2';
  return !setting.valid() || ::read(setting.get(), &mode, 1) != 1 || mode == '2';
}

Result<UniqueFd> sealed_memory(const char* name, size_t size, bool at_once) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return system_error("memfd_create");
  const auto end = static_cast<off_t>(size);
  if (at_once ? ::fallocate(fd.get(), 0, 0, end) != 0 : ::ftruncate(fd.get(), end) != 0) {
    return system_error("shared memory of " + std::to_string(size) + " bytes");
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return system_error("sealing shared memory");
  }
  return fd;
}

bool is_readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return fd >= 0 && poll(&watched, 1, 0) > 0;
}

}  // namespace filibuster
