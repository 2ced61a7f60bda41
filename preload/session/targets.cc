// Names of addresses, and the addresses that this process listens on.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "preload/os/address.h"
#include "preload/os/open_descriptors.h"
#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/plan.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

void emit_listen(Attachment* attachment, const sockaddr* address, socklen_t size) {
  const Target128 target = canonical_address(address, size);
  if (target.kind == TargetKind::kEmpty) return;
  char text[128];
  Listen event;
  event.kind = static_cast<uint8_t>(target.kind);
  event.port = target.port;
  std::memcpy(event.address, target.address, sizeof event.address);
  event.service = identity().service_name();
  if (target.kind == TargetKind::kUnix) {
    constexpr size_t kScheme = sizeof "unix:" - 1;
    const size_t length = write_address(address, size, text, sizeof text);
    event.path = std::string_view(text, length).substr(kScheme);
  }
  emit(attachment, EventType::kListen, current_execution(), now_ns(), event);
}

void report_if_listening(Attachment* attachment, int fd) {
  int listening = 0;
  socklen_t size = sizeof listening;
  if (raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 ||
      listening == 0)
    return;
  int type = 0;
  size = sizeof type;
  if (raw_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
      type != SOCK_STREAM)
    return;
  sockaddr_storage address;
  size = sizeof address;
  if (raw_syscall(SYS_getsockname, fd, &address, &size) != 0) return;
  if (size > sizeof address) size = sizeof address;
  emit_listen(attachment, reinterpret_cast<const sockaddr*>(&address), size);
}

// Whoever asks for something here may do so at once, and an RPC is told apart by the name of its service. So the listener
// waits until the daemon has written the name, which takes a few milliseconds.
void wait_for_name(const sockaddr* address, socklen_t size) {
  constexpr uint64_t kPatienceNs = 100'000'000;
  constexpr timespec kLook{0, 500'000};
  if (current_execution() == 0) return;
  const uint64_t limit = now_ns() + kPatienceNs;
  while (!lookup_target(address, size).known && now_ns() < limit)
    raw_syscall(SYS_nanosleep, &kLook, nullptr);
}

}  // namespace

TargetInfo lookup_target(const sockaddr* address, socklen_t size) {
  TargetInfo info;
  Attachment* attachment = g_attachment.load(std::memory_order_acquire);
  if (attachment == nullptr) return info;
  const Target128 wanted = canonical_address(address, size);
  Target128 row;
  if (wanted.kind == TargetKind::kEmpty || !find_target(attachment->lane, wanted, &row))
    return info;
  info.known = true;
  info.flags = row.flags;
  info.service_size = row.service_size;
  std::memcpy(info.service, row.service, row.service_size);
  return info;
}

size_t describe_address(const sockaddr* address, socklen_t size, char* out, size_t capacity) {
  return write_address(address, size, out, capacity);
}

void report_listen(const sockaddr* address, socklen_t size) {
  if (!own_process() || identity().is_proxy) return;
  Attachment* before = g_attachment.load(std::memory_order_acquire);
  Attachment* attachment = attach();
  if (attachment == nullptr) return;
  // If attach() has registered just now, the socket was reported among those that listen already.
  if (attachment == before) emit_listen(attachment, address, size);
  wait_for_name(address, size);
}

// Sockets that listened before there was a session, that the parent opened before it forked, or that
// came through exec.
void report_listening_sockets(Attachment* attachment) {
  if (identity().is_proxy) return;
  // thread-self: threads may have unshared their descriptor table.
  const long directory = raw_syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/fd",
                                     O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  const bool known = directory >= 0 && for_each_open_descriptor(
                                           static_cast<int>(directory), [&](int fd, const char*) {
                                             report_if_listening(attachment, fd);
                                             return true;
                                           });
  if (directory >= 0) raw_syscall(SYS_close, directory);
  if (known) return;
  constexpr int kMost = 1024;  // without /proc (a chroot): the numbers that most programs have
  for (int fd = 0; fd < kMost; ++fd) report_if_listening(attachment, fd);
}

}  // namespace filibuster::preload
