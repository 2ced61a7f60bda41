// Has the process at the other end of a connection closed its socket, or only its sending half? The connection
// itself does not tell: both send a FIN. Where the process is on this machine, the kernel knows its socket
// (sock_diag(7)).
#pragma once

#include <cstdint>

#include "daemon/base/descriptors.h"
#include "daemon/proxy/address.h"

namespace filibuster::proxy {

class PeerSockets {
 public:
  PeerSockets();

  enum class State : uint8_t {
    kUnknown,  // the kernel does not say
    kAbsent,  // there is no such socket in this network namespace: it is gone, or on another machine
    kClosed,  // no process has it any more
    kOpen,
  };
  // Of the socket at `peer` of the connection between it and `local`.
  State ask(const Address& peer, const Address& local) const;

 private:
  UniqueFd netlink_;
};

}  // namespace filibuster::proxy
