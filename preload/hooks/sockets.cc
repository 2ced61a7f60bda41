// Where connections begin and end: socket, connect, accept, listen, shutdown, and what tells about
// them.
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "preload/hooks/hosts.h"
#include "preload/inject/inject.h"
#include "preload/interpose.h"
#include "preload/os/address.h"
#include "preload/os/raw_syscall.h"
#include "preload/snapshot/snapshot.h"
#include "preload/stream/handshake_faults.h"
#include "preload/stream/ready_made.h"
#include "preload/stream/registry.h"
#include "preload/stream/sender.h"

namespace filibuster::preload {
namespace {

bool is_stream_address(const sockaddr* address, socklen_t size) {
  if (address == nullptr || size < sizeof(sa_family_t)) return false;
  const int family = address->sa_family;
  return family == AF_INET || family == AF_INET6 || family == AF_UNIX;
}

int socket_type(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size);
  return type;
}

// glibc asks a daemon for names if there is one, and what it answers is no RPC.
bool is_name_service(const sockaddr* address, socklen_t size) {
  constexpr std::string_view kPath = "/var/run/nscd/socket";
  return address->sa_family == AF_UNIX && size > offsetof(sockaddr_un, sun_path) &&
         std::string_view(reinterpret_cast<const sockaddr_un*>(address)->sun_path,
                          strnlen(reinterpret_cast<const sockaddr_un*>(address)->sun_path,
                                  size - offsetof(sockaddr_un, sun_path))) == kPath;
}

void reach_snapshot_before(SnapshotPoint point, int fd, const sockaddr* address, socklen_t size) {
  if (g_snapshot.load(std::memory_order_relaxed) == SnapshotState::kOff) return;
  const bool any_port = point == SnapshotPoint::kBind && address->sa_family != AF_UNIX &&
                        canonical_address(address, size).port == 0;
  if (t_hook_depth == 0 && !any_port && socket_type(fd) == SOCK_STREAM &&
      !is_name_service(address, size))
    reach_snapshot(point);
}

// What a connect hook does after the original.
struct Connecting {
  Pinned connection;
  bool asked_again = false;  // the connect was under way already
  bool refused = false;      // the connect is done: `result` and errno are the call's
  int result = 0;
};

Connecting before_connect(int fd, const sockaddr* address, socklen_t size) {
  Connecting now;
  HookScope scope;
  if (scope.pass_through() || !is_stream_address(address, size)) return now;
  if (!session_present() || !own_process() || !attached()) return now;
  const int type = socket_type(fd);
  if (type == SOCK_DGRAM) {
    set_mark(fd, Mark::kConnectedDatagram);
    return now;
  }
  if (type != SOCK_STREAM || mark_of(fd) == Mark::kInner) return now;
  now.connection = connecting(fd, address, size);
  if (!now.connection) return now;
  Connection& c = *now.connection;
  now.asked_again = c.connect_state.load() != ConnectState::kNone;
  if (now.asked_again || !c.state.is_followed()) return now;
  c.connect = connect_begin(address, size);
  if (c.connect.handshake.active) g_certificate_faults.store(true);
  if (!c.connect.refuse) return now;
  now.refused = true;
  now.result = connect_refused(fd, address, size);
  scope.keep_errno();
  give_up_silently(c);
  settle(c);
  now.connection.drop();
  return now;
}

void after_connect(const Connecting& now, int fd, const sockaddr* address, socklen_t size,
                   int result) {
  const int error = result == 0 ? 0 : errno;
  HookScope scope;
  Connection& c = *now.connection;
  if (error == EINPROGRESS || error == EALREADY || error == EINTR || error == EAGAIN) {
    // EAGAIN: AF_UNIX, nothing is under way (unix(7)); the next connect is a try of its own.
    if (error != EALREADY) connect_result(c.connect, address, size, error);
    c.connect_state.store(error == EAGAIN ? ConnectState::kNone : ConnectState::kPending);
    return;
  }
  const bool connected = error == 0 || error == EISCONN;
  if (c.connect_state.load() == ConnectState::kDone) return;
  if (c.state.is_followed()) connect_result(c.connect, address, size, connected ? 0 : error);
  c.connect_state.store(connected ? ConnectState::kDone : ConnectState::kNone);
  if (connected) return;
  give_up_silently(c);
  settle(c);
  forget(fd);
}

}  // namespace
}  // namespace filibuster::preload

FILIBUSTER_HOOK(int, socket, (int family, int type, int protocol)) {
  using namespace filibuster::preload;
  const int fd = REAL(socket)(family, type, protocol);
  if (fd < 0) return fd;
  HookScope scope;
  if (scope.pass_through()) return fd;
  forget(fd);
  const bool stream = (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_STREAM;
  if (stream && (family == AF_INET || family == AF_INET6 || family == AF_UNIX)) {
    made_stream_socket();
  }
  return fd;
}

FILIBUSTER_HOOK(int, socketpair, (int family, int type, int protocol, int fds[2])) {
  using namespace filibuster::preload;
  const int result = REAL(socketpair)(family, type, protocol, fds);
  if (result != 0) return result;
  HookScope scope;
  if (scope.pass_through()) return result;
  for (int i = 0; i < 2; ++i) forget(fds[i]);
  return result;
}

FILIBUSTER_HOOK(int, connect, (int fd, const sockaddr* address, socklen_t size)) {
  using namespace filibuster::preload;
  if (is_stream_address(address, size))
    reach_snapshot_before(SnapshotPoint::kConnect, fd, address, size);
  if (nothing_to_do()) return REAL(connect)(fd, address, size);
  // From here on, all is as if the program had called that address: its service, index and faults.
  const LedAddress to(fd, address, size);
  const Connecting now = before_connect(fd, to.get(), size);
  if (now.refused) return now.result;
  const int result = REAL(connect)(fd, to.get(), size);
  if (now.connection) after_connect(now, fd, to.get(), size, result);
  return result;
}

FILIBUSTER_HOOK(int, bind, (int fd, const sockaddr* address, socklen_t size)) {
  using namespace filibuster::preload;
  if (is_stream_address(address, size))
    reach_snapshot_before(SnapshotPoint::kBind, fd, address, size);
  return REAL(bind)(fd, address, size);
}

FILIBUSTER_HOOK(int, accept, (int fd, sockaddr* address, socklen_t* size)) {
  using namespace filibuster::preload;
  const int made = REAL(accept)(fd, address, size);
  if (made < 0) return made;
  HookScope scope;
  if (!scope.pass_through()) accepted(fd, made);
  return made;
}

FILIBUSTER_HOOK(int, accept4, (int fd, sockaddr* address, socklen_t* size, int flags)) {
  using namespace filibuster::preload;
  const int made = REAL(accept4)(fd, address, size, flags);
  if (made < 0) return made;
  HookScope scope;
  if (!scope.pass_through()) accepted(fd, made);
  return made;
}

FILIBUSTER_HOOK(int, listen, (int fd, int backlog)) {
  using namespace filibuster::preload;
  const int result = REAL(listen)(fd, backlog);
  if (result != 0) return result;
  HookScope scope;
  if (scope.pass_through() || !own_process()) return result;
  made_stream_socket();
  if (!session_present() || !attached() || socket_type(fd) != SOCK_STREAM) return result;
  sockaddr_storage address;
  socklen_t size = sizeof address;
  if (raw_syscall(SYS_getsockname, fd, &address, &size) == 0) {
    report_listen(reinterpret_cast<sockaddr*>(&address), size);
  }
  set_mark(fd, Mark::kListening);
  return result;
}

FILIBUSTER_HOOK(int, shutdown, (int fd, int how)) {
  using namespace filibuster::preload;
  if (nothing_to_do()) return REAL(shutdown)(fd, how);
  {
    HookScope scope;
    if (!scope.pass_through()) {
      Pinned c = follow(fd);
      if (c && c->role == Role::kClient) {
        flush(*c, fd, how != SHUT_RD);
        if (how != SHUT_WR) end_silence(*c);
        const int aside = c->aside.load();
        if (aside >= 0) raw_syscall(SYS_shutdown, aside, how);
      }
    }
  }
  return REAL(shutdown)(fd, how);
}

FILIBUSTER_HOOK(int, getpeername, (int fd, sockaddr* address, socklen_t* size)) {
  using namespace filibuster::preload;
  if (g_faults_fired.load(std::memory_order_relaxed)) {
    HookScope scope;
    if (!scope.pass_through() && original_peer(fd, address, size)) return 0;
  }
  return REAL(getpeername)(fd, address, size);
}

FILIBUSTER_HOOK(int, getsockname, (int fd, sockaddr* address, socklen_t* size)) {
  using namespace filibuster::preload;
  if (g_faults_fired.load(std::memory_order_relaxed)) {
    HookScope scope;
    if (!scope.pass_through() && original_local(fd, address, size)) return 0;
  }
  return REAL(getsockname)(fd, address, size);
}

// SO_ERROR tells how a connect that was under way has ended.
FILIBUSTER_HOOK(int, getsockopt, (int fd, int level, int name, void* value, socklen_t* size)) {
  using namespace filibuster::preload;
  const int result = REAL(getsockopt)(fd, level, name, value, size);
  if (level != SOL_SOCKET || name != SO_ERROR || result != 0 || nothing_to_do()) return result;
  HookScope scope;
  if (scope.pass_through() || *size < sizeof(int)) return result;
  const int error = *static_cast<const int*>(value);
  Pinned c = find(fd);
  if (c && error != 0 && c->connect_state.load() == ConnectState::kPending && own_process()) {
    c->connect_state.store(ConnectState::kNone);
    connect_result(c->connect, reinterpret_cast<const sockaddr*>(&c->address), c->address_size,
                   error);
  }
  return result;
}
