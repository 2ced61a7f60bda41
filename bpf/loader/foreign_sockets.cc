#include "bpf/loader/foreign_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "bpf/loader/kernel.h"
#include "daemon/base/descriptors.h"

namespace filibuster::bpf {

Outcome for_each_descriptor(pid_t process, const std::function<void(int)>& take) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (!pidfd.valid()) return errno == ESRCH ? Outcome() : refused("pidfd_getfd", errno);
  // They are tried by number: another user's /proc/PID/fd cannot be read with our capabilities.
  const std::string table = status_field(text_of(proc_file(process, "status")), "FDSize");
  const int count = std::atoi(table.c_str());
  for (int number = 0; number < count; ++number) {
    const UniqueFd copy(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd.get(), number, 0)));
    if (copy.valid()) {
      take(copy.get());
    } else if (errno == ESRCH) {
      break;
    } else if (errno != EBADF) {
      return refused("pidfd_getfd", errno);
    }
  }
  return std::nullopt;
}

uint16_t listening_port(int socket) {
  int listening = 0;
  socklen_t size = sizeof(listening);
  if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0)
    return 0;
  sockaddr_in6 address{};
  size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // The port stands at the same place in both families.
  return address.sin6_family == AF_INET || address.sin6_family == AF_INET6
             ? ntohs(address.sin6_port)
             : 0;
}

Outcome listening_ports(pid_t process, std::vector<uint16_t>* ports) {
  return for_each_descriptor(process, [ports](int socket) {
    if (const uint16_t port = listening_port(socket); port != 0) ports->push_back(port);
  });
}

bool is_free(uint16_t port) {
  for (const int family : {AF_INET, AF_INET6}) {
    const UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.valid()) continue;
    const int on = 1;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));  // what waits for its end
    if (family == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    sockaddr_in6 address{};  // any address; the port stands at the same place in both families
    address.sin6_family = static_cast<sa_family_t>(family);
    address.sin6_port = htons(port);
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return false;
  }
  return true;
}

}  // namespace filibuster::bpf
