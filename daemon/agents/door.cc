#include "daemon/agents/door.h"

#include <sys/socket.h>
#include <unistd.h>

#include "core/protocol/door.h"

namespace filibuster {
namespace {

constexpr int kBacklog = 256;

}  // namespace

Result<Door> Door::open() {
  Door door;
  do {
    if (::getentropy(&door.number_, sizeof door.number_) != 0) return system_error("getentropy");
  } while (door.number_ == 0);
  if (::getentropy(door.token_.data(), door.token_.size()) != 0) return system_error("getentropy");
  door.listener_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!door.listener_.valid()) return system_error("socket");
  sockaddr_un address;
  const socklen_t size = door_address(door.number_, &address);
  if (::bind(door.listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    return system_error("bind an abstract Unix socket");
  }
  if (::listen(door.listener_.get(), kBacklog) != 0) return system_error("listen");
  return door;
}

bool Door::opened_by(const uint8_t (&shown)[kTokenSize]) const {
  unsigned different = 0;
  for (size_t i = 0; i < kTokenSize; ++i) different |= shown[i] ^ token_[i];
  return number_ != 0 && different == 0;
}

}  // namespace filibuster
