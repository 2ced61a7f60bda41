#include "preload/session/reach.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "core/protocol/door.h"
#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

void nap(uint64_t ns) {
  const timespec time{0, static_cast<long>(ns)};
  raw_syscall(SYS_nanosleep, &time, nullptr);
}

// 0, or -errno.
long connect_daemon(int fd, const sockaddr_un& address, socklen_t size, uint64_t deadline) {
  for (;;) {
    const long result = raw_syscall(SYS_connect, fd, &address, size);
    // Unix sockets do not connect in the background: EAGAIN is a full backlog.
    if (result != -EAGAIN && result != -EINTR) return result;
    if (now_ns() >= deadline) return result;
    nap(1'000'000);
  }
}

sockaddr_un address_of(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof(SessionSlot::socket_path) >= sizeof address.sun_path);
  std::memcpy(address.sun_path, path, sizeof address.sun_path - 1);
  return address;
}

// Does the socket's other end belong to the user of the page? Everybody may have abstract sockets.
bool is_of_page_owner(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == control_page_owner();
}

}  // namespace

Reached reach(const char* path, const SessionSlot* slot, uint64_t deadline) {
  const long fd =
      raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return {};
  const int socket = adopt_descriptor(static_cast<int>(fd));
  if (socket < 0) {
    raw_syscall(SYS_close, fd);
    return {};
  }
  sockaddr_un address = address_of(path);
  const long failed = connect_daemon(socket, address, sizeof address, deadline);
  if (failed == 0) return {socket};
  // A daemon that has died leaves its path, at which nobody listens.
  if (failed != -ECONNREFUSED && slot != nullptr && slot->door != 0) {
    const socklen_t size = door_address(slot->door, &address);
    if (connect_daemon(socket, address, size, deadline) == 0 && is_of_page_owner(socket))
      return {socket, slot->token};
  }
  release_descriptor(socket);
  return {};
}

}  // namespace filibuster::preload
