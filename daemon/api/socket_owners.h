// Whose process is at the other end of a TCP connection of this machine, as the kernel tells (sock_diag(7)).
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include "daemon/base/descriptors.h"

namespace filibuster {

class SocketOwners {
 public:
  struct Owner {
    enum class State : uint8_t {
      kKnown,
      kClosed,   // the other end was closed already, and belongs to nobody
      kUnknown,  // nobody knows: no such socket here, or the kernel does not answer
    };
    State state = State::kUnknown;
    uid_t uid = 0;
  };
  SocketOwners();
  // The owner of the socket at `there` that is connected to `here`.
  Owner ask(const sockaddr_in& there, const sockaddr_in& here);

 private:
  UniqueFd netlink_;
  uint32_t asked_ = 0;
};

}  // namespace filibuster
