#include "preload/session/outside.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string_view>

#include "core/protocol/messages.h"
#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

template <size_t kSize>
void copy_end(char (&to)[kSize], std::string_view from) {
  if (from.size() >= kSize) from.remove_prefix(from.size() - (kSize - 1));
  std::memcpy(to, from.data(), from.size());
  to[from.size()] = '\0';
}

// The socket of the session that this process follows, or that has started it; "": there is none.
std::string_view daemon_socket() {
  constexpr std::string_view kScheme = "unix:";
  const std::string_view configured = identity().daemon;
  if (configured.starts_with(kScheme)) return configured.substr(kScheme.size());
  const ControlPage* page = control_page();
  if (page == nullptr || !follows_session()) return {};
  const std::atomic<uint64_t>* const followed = g_session.load(std::memory_order_acquire);
  for (const SessionSlot& slot : page->slots) {
    if (&slot.generation == followed) return slot.socket_path;
  }
  return {};
}

}  // namespace

// The descriptor is not one of ours (adopt_descriptor): a child of vfork shares the table of these.
void tell_of_program_outside(const ProgramOutside& program) {
  const std::string_view path = daemon_socket();
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const long socket =
      raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return;
  if (raw_syscall(SYS_connect, socket, &address, sizeof address) == 0) {
    Outside message;
    message.lane = identity().lane;
    message.entry = static_cast<uint8_t>(program.entry);
    message.gain = static_cast<uint8_t>(program.gain);
    message.machine = program.machine;
    copy_end(message.service, identity().service_name());
    copy_end(message.loader, program.loader);
    copy_end(message.program, program.path);
    raw_syscall(SYS_sendto, socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT, nullptr,
                0);
  }
  raw_syscall(SYS_close, socket);
}

}  // namespace filibuster::preload
