#include "bpf/loader/claims.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "bpf/loader/kernel.h"

namespace filibuster::bpf {
namespace {

socklen_t name_of(pid_t process, sockaddr_un* address) {
  const std::string name = "filibuster-bpf/" + std::to_string(process);
  *address = {};
  address->sun_family = AF_UNIX;
  std::memcpy(address->sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// "process 812 (filibuster-bpf, started by 790 filibusterd)"
std::string owner_of(pid_t process) {
  sockaddr_un address;
  const socklen_t size = name_of(process, &address);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return "";
  ucred peer{};
  socklen_t peer_size = sizeof(peer);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0) return "";
  const std::string parent = status_field(text_of(proc_file(peer.pid, "status")), "PPid");
  std::string text = "process " + std::to_string(peer.pid);
  if (!parent.empty()) {
    const std::string program = text_of("/proc/" + parent + "/comm");
    text += " (started by " + parent + " " + program.substr(0, program.find('\n')) + ")";
  }
  return text;
}

}  // namespace

Outcome Claims::claim(pid_t process) {
  sockaddr_un address;
  const socklen_t size = name_of(process, &address);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return refused("pid", errno);
  if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    if (errno != EADDRINUSE) return refused("pid", errno);
    const std::string owner = owner_of(process);
    return declined("pid", EBUSY,
                    "pid " + std::to_string(process) + " is attached already, by the loader " +
                        (owner.empty() ? "of another session" : owner) +
                        "; end that session first");
  }
  listen(socket.get(), SOMAXCONN);  // nobody accepts: the peer of a connection is all that is asked
  held_.emplace(process, std::move(socket));
  return std::nullopt;
}

}  // namespace filibuster::bpf
