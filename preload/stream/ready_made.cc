#include "preload/stream/ready_made.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cstddef>

#include "preload/os/copies.h"
#include "preload/os/raw_syscall.h"
#include "preload/stream/registry.h"

namespace filibuster::preload {
namespace {

int socket_option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  const long r = raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, name, &value, &size);
  return r == 0 ? value : -1;
}

// True for a Unix socket without a name. If both ends have none, it is a pair inside the application.
bool is_unnamed(const sockaddr_storage& address, socklen_t size) {
  return address.ss_family == AF_UNIX && size <= offsetof(sockaddr_un, sun_path);
}

bool read_counts(int fd, tcp_info* info) {
  socklen_t size = sizeof *info;
  constexpr socklen_t kLeast = offsetof(tcp_info, tcpi_bytes_sent) + sizeof info->tcpi_bytes_sent;
  return raw_syscall(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0 && size >= kLeast;
}

}  // namespace

bool is_stream_socket(int fd) {
  if (socket_option(fd, SO_TYPE) != SOCK_STREAM) return false;
  const int family = socket_option(fd, SO_DOMAIN);
  return family == AF_INET || family == AF_INET6 || family == AF_UNIX;
}

DescriptorKind kind_of(int fd, sockaddr_storage* peer, socklen_t* peer_size) {
  if (!is_stream_socket(fd))
    return socket_option(fd, SO_TYPE) == SOCK_DGRAM ? DescriptorKind::kDatagram
                                                    : DescriptorKind::kNotStream;
  if (socket_option(fd, SO_ACCEPTCONN) == 1) return DescriptorKind::kListening;
  *peer_size = sizeof *peer;
  if (raw_syscall(SYS_getpeername, fd, peer, peer_size) != 0) return DescriptorKind::kNotConnected;
  if (is_unnamed(*peer, *peer_size)) {
    sockaddr_storage local;
    socklen_t local_size = sizeof local;
    if (raw_syscall(SYS_getsockname, fd, &local, &local_size) == 0 && is_unnamed(local, local_size))
      return DescriptorKind::kNotStream;
  }
  return DescriptorKind::kConnected;
}

ReadyMade look_at_ready_made(int fd) {
  constexpr int kTurns = 3;
  constexpr uint8_t kCloseWait = 8;  // of tcpi_state (net/tcp_states.h): the peer has finished
  for (int turn = 0; turn < kTurns; ++turn) {
    tcp_info before{}, after{};
    int unread = 0;
    if (!read_counts(fd, &before)) return {};
    if (raw_syscall(SYS_ioctl, fd, FIONREAD, &unread) != 0 || !read_counts(fd, &after)) return {};
    if (before.tcpi_bytes_received != after.tcpi_bytes_received) continue;  // more came meanwhile
    // The end of the stream counts as a byte there.
    const uint64_t end = after.tcpi_state == kCloseWait ? 1 : 0;
    if (after.tcpi_bytes_sent != 0 || after.tcpi_notsent_bytes != 0 ||
        after.tcpi_bytes_received != static_cast<uint64_t>(unread) + end)
      return {};
    // Who connects has its SYN acknowledged, which counts as a byte, too; who accepts is not told of that.
    return {true, after.tcpi_bytes_acked != 0 ? Role::kClient : Role::kServer};
  }
  return {};
}

namespace {

bool is_stream(int fd) {
  sockaddr_storage peer;
  socklen_t size;
  const DescriptorKind kind = kind_of(fd, &peer, &size);
  return kind != DescriptorKind::kNotStream && kind != DescriptorKind::kDatagram;
}

constinit uint64_t g_inherited = 0;  // written before main
constinit std::atomic<bool> g_waits{false};

void note_given_stream() {
  if (g_session.load(std::memory_order_relaxed) != nullptr) return;
  g_waits.store(true, std::memory_order_relaxed);
  note_stream_socket();
}

// What this program got by exec. One that has only files and pipes goes on without us, and meets no system call that a sandbox
// would not let it make; and so does one whose output alone is a socket, to which a supervisor's log may listen.
__attribute__((constructor)) void look_at_inherited() {
  constexpr int kLooked = 64;
  constexpr uint64_t kOutput = 1u << 1 | 1u << 2;
  if (is_inert_copy()) return;
  for (int fd = 0; fd < kLooked; ++fd) {
    struct stat status;
    if (raw_syscall(SYS_fstat, fd, &status) == 0 && S_ISSOCK(status.st_mode) && is_stream(fd))
      g_inherited |= uint64_t{1} << fd;
  }
  if ((g_inherited & ~kOutput) != 0) note_given_stream();
}

}  // namespace

void made_stream_socket() {
  note_stream_socket();
  if (g_waits.load(std::memory_order_relaxed)) g_waits.store(false, std::memory_order_relaxed);
}

bool waits_for_given_stream() {
  return g_waits.load(std::memory_order_relaxed);
}

void carries_descriptors(int fd) {
  const Pinned c = find(fd);
  if (!c || c->address.ss_family != AF_UNIX) return;
  give_up_silently(*c);
  settle(*c);
}

uint64_t inherited_streams() {
  return g_inherited;
}

void given(int fd) {
  forget(fd);
  if (g_session.load(std::memory_order_relaxed) == nullptr && is_stream(fd)) note_given_stream();
}

}  // namespace filibuster::preload
