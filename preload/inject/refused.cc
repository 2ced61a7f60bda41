// Refused connects: a real ECONNREFUSED by the kernel, from a port that is bound and never listens.
#include <netinet/in.h>

#include <atomic>
#include <cerrno>

#include "preload/inject/inject.h"
#include "preload/inject/raw.h"

namespace filibuster::preload {
namespace {

// One refusing socket per family: (port << 32 | descriptor + 1), 0 = not made yet. A child of a
// fork shares it; another program image makes its own.
std::atomic<uint64_t> g_refusing_v4{0};
std::atomic<uint64_t> g_refusing_v6{0};

union RefusedAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

socklen_t refused_loopback(int family, uint16_t port, RefusedAddress* out) {
  *out = {};
  if (family == AF_INET) {
    out->v4.sin_family = AF_INET;
    out->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    out->v4.sin_port = port;
    return sizeof out->v4;
  }
  out->v6.sin6_family = AF_INET6;
  out->v6.sin6_addr = IN6ADDR_LOOPBACK_INIT;
  out->v6.sin6_port = port;
  return sizeof out->v6;
}

// Does our socket still hold the port? A program that closes every number by raw system calls frees the
// port, and somebody else's service could be there by now.
bool holds_port(int fd, int family, uint16_t port) {
  RefusedAddress own;
  socklen_t size = sizeof own;
  return raw::local_name(fd, &own.any, &size) == 0 && own.any.sa_family == family &&
         own.v4.sin_port == port;
}

// The port in network order, 0 if none can be had.
uint16_t refusing_port(int family) {
  std::atomic<uint64_t>& slot = family == AF_INET ? g_refusing_v4 : g_refusing_v6;
  uint64_t known = slot.load(std::memory_order_acquire);
  for (;;) {
    if (known != 0 && holds_port(static_cast<int>(known & 0xffffffff) - 1, family,
                                 static_cast<uint16_t>(known >> 32))) {
      return static_cast<uint16_t>(known >> 32);
    }
    int fd = raw::socket(family, SOCK_STREAM | SOCK_CLOEXEC);
    if (fd < 0) return 0;
    RefusedAddress address;
    socklen_t size = refused_loopback(family, 0, &address);
    if (raw::bind(fd, &address.any, size) < 0 || raw::local_name(fd, &address.any, &size) < 0) {
      raw::close(fd);
      return 0;
    }
    const int adopted = adopt_descriptor(fd);
    if (adopted < 0) {
      raw::close(fd);
      return 0;
    }
    const uint64_t made =
        static_cast<uint64_t>(address.v4.sin_port) << 32 | static_cast<uint32_t>(adopted + 1);
    if (slot.compare_exchange_strong(known, made, std::memory_order_acq_rel)) {
      return address.v4.sin_port;
    }
    release_descriptor(adopted);  // another thread was first: `known` is its socket
  }
}

bool is_mapped(const sockaddr_in6& address) {
  return IN6_IS_ADDR_V4MAPPED(&address.sin6_addr);
}

}  // namespace

int connect_refused(int fd, const sockaddr* address, socklen_t size) {
  const int family = address->sa_family;
  RefusedAddress to;
  socklen_t to_size = 0;
  if (family == AF_INET) {
    const uint16_t port = refusing_port(AF_INET);
    if (port != 0) to_size = refused_loopback(AF_INET, port, &to);
  } else if (family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    const bool mapped = is_mapped(*reinterpret_cast<const sockaddr_in6*>(address));
    uint16_t port = mapped ? 0 : refusing_port(AF_INET6);
    if (port != 0) {
      to_size = refused_loopback(AF_INET6, port, &to);
    } else if ((port = refusing_port(AF_INET)) != 0) {  // no ::1 on this machine
      to_size = refused_loopback(AF_INET6, port, &to);
      to.v6.sin6_addr = {};
      uint8_t* b = to.v6.sin6_addr.s6_addr;
      b[10] = b[11] = 0xff;
      b[12] = 127;
      b[15] = 1;
    }
  }
  if (to_size == 0) {  // AF_UNIX: refuses in blocking and non-blocking mode alike (unix(7))
    errno = ECONNREFUSED;
    return -1;
  }
  const int result = raw::connect(fd, &to.any, to_size);
  if (result >= 0) return result;
  switch (-result) {
    // These are about the descriptor or the call, not about the destination: the caller gets them.
    case EINPROGRESS:
    case EALREADY:
    case EISCONN:
    case EINTR:
    case EBADF:
    case ENOTSOCK:
    case EAFNOSUPPORT:
      errno = -result;
      break;
    default:
      errno = ECONNREFUSED;  // bound to an interface that does not reach loopback, say
  }
  return -1;
}

}  // namespace filibuster::preload
