#include "daemon/agents/descriptors.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace filibuster {

Error system_error(const std::string& what) {
  return Error{what + ": " + std::strerror(errno)};
}

Result<UniqueFd> sealed_memory(const char* name, size_t size) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return system_error("memfd_create");
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return system_error("ftruncate");
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return system_error("sealing shared memory");
  }
  return fd;
}

}  // namespace filibuster
