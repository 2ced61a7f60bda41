#include "preload/inject/pair.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <atomic>

#include "preload/inject/raw.h"
#include "preload/rpc/agent.h"

namespace filibuster::preload {
namespace {

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// An address of 127.64.0.0/10, another one each time. An end in TIME_WAIT keeps its port of one address
// for a minute, so that thousands of faults a minute would find no port left at 127.0.0.1.
in_addr_t next_loopback() {
  static constinit std::atomic<uint32_t> next{0};
  const auto process = static_cast<uint32_t>(raw::call(SYS_getpid));
  const uint32_t number = (process << 8) + next.fetch_add(1, std::memory_order_relaxed);
  return htonl(INADDR_LOOPBACK | 0x400000 | (number & 0x3fffff));
}

socklen_t loopback(int family, bool mapped, Address* out) {
  *out = {};
  if (family == AF_INET) {
    out->v4.sin_family = AF_INET;
    out->v4.sin_addr.s_addr = next_loopback();
    return sizeof out->v4;
  }
  out->v6.sin6_family = AF_INET6;
  if (mapped) {
    uint8_t* b = out->v6.sin6_addr.s6_addr;
    b[10] = b[11] = 0xff;
    b[12] = 127;
    b[15] = 1;
  } else {
    out->v6.sin6_addr = IN6ADDR_LOOPBACK_INIT;
  }
  return sizeof out->v6;
}

bool same_port(const Address& a, const Address& b) {
  // sin_port and sin6_port lie at the same offset.
  return a.v4.sin_port == b.v4.sin_port;
}

bool tcp_pair(int family, bool mapped, Pair* out) {
  Address address;
  socklen_t size = loopback(family, mapped, &address);
  const int listener = raw::socket(family, SOCK_STREAM | SOCK_CLOEXEC);
  if (listener < 0) return false;
  bool ok = false;
  int app = -1;
  if (raw::bind(listener, &address.any, size) == 0 && raw::listen(listener, 4) == 0 &&
      raw::local_name(listener, &address.any, &size) == 0 &&
      (app = raw::socket(family, SOCK_STREAM | SOCK_CLOEXEC)) >= 0 &&
      raw::connect(app, &address.any, size) == 0) {
    Address own;
    socklen_t own_size = sizeof own;
    raw::local_name(app, &own.any, &own_size);
    // Another process may have connected first: take the connection that is ours.
    for (int tries = 0; tries < 4 && !ok; ++tries) {
      Address peer;
      socklen_t peer_size = sizeof peer;
      const int held = raw::accept4(listener, &peer.any, &peer_size, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (held == -EINTR) continue;
      if (held < 0) break;
      if (same_port(own, peer)) {
        out->held = held;
        ok = true;
      } else {
        raw::close(held);
      }
    }
  }
  raw::close(listener);
  if (!ok) {
    if (app >= 0) raw::close(app);
    return false;
  }
  const int on = 1;
  raw::set_option(out->held, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  out->app = app;
  return true;
}

}  // namespace

bool make_pair(int family, Pair* out) {
  *out = {};
  out->family = family;
  bool made = false;
  if (family == AF_UNIX) {
    int ends[2];
    if (raw::socket_pair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, ends) == 0) {
      out->app = ends[0];
      out->held = ends[1];
      raw::fcntl(out->held, F_SETFL, O_NONBLOCK);
      made = true;
    }
  } else {
    // A signal of the host may interrupt one try (EINTR).
    for (int tries = 0; tries < 3 && !made; ++tries) {
      made = tcp_pair(family, false, out) || (family == AF_INET6 && tcp_pair(family, true, out));
    }
  }
  if (!made) return false;
  const int adopted = adopt_descriptor(out->held);
  if (adopted < 0) {
    raw::close(out->held);
    out->held = -1;
    discard_pair(out);
    return false;
  }
  out->held = adopted;
  return true;
}

void discard_pair(Pair* pair) {
  if (pair->app >= 0) raw::close(pair->app);
  if (pair->held >= 0) release_descriptor(pair->held);
  pair->app = pair->held = -1;
}

bool write_on_held(const Pair& pair, std::string_view bytes) {
  // The kernel counts its overhead against the buffer, hence twice the size. wmem_max bounds it.
  const int room = static_cast<int>(bytes.size() * 2 + 65536);
  raw::set_option(pair.held, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  while (!bytes.empty()) {
    const long n = raw::send(pair.held, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n == -EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void let_close_reset(const Pair& pair) {
  if (pair.family != AF_UNIX) return;
  const char byte = 0;
  raw::send(pair.app, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void reset_app_end(Pair* pair) {
  let_close_reset(*pair);
  if (pair->family != AF_UNIX) {
    // Disconnecting sends the RST at once even if another process shares the descriptor; the linger
    // is for kernels that would not.
    const linger now = {1, 0};
    raw::set_option(pair->held, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    const sockaddr unspecified = {AF_UNSPEC, {}};
    raw::connect(pair->held, &unspecified, sizeof unspecified);
  }
  release_descriptor(pair->held);
  pair->held = -1;
}

}  // namespace filibuster::preload
