// What happens to the bytes and the ends of one connection.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "daemon/proxy/proxy.h"

namespace filibuster::proxy {
namespace {

// How many buffers are read from one connection before others have their turn.
constexpr int kReadsAtOnce = 4;
// How long a refusal waits for its client's first bytes. A client sends them as soon as it learns that it is connected, but
// one that starts or shares a processor learns that late; one that waits for its server's first bytes waits so long.
constexpr uint64_t kRefuseWithinNs = 3'000'000'000;

bool is_transient(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

// Outbound: the agent decides at the connect, so it is told who makes it. Inbound: the port tells the steering
// that this connection is for the attached process itself.
void Proxy::connect_on(Pair& pair, Side& server) {
  sockaddr_storage address{};
  const socklen_t size = to_socket(pair.target, &address);
  server.fd = UniqueFd(::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int fd = server.fd.get();
  if (fd < 0) return reset(pair);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (pair.kind == PairKind::kInbound) {
    door_.inner(fd);
    sockaddr_storage any{};
    any.ss_family = address.ss_family;
    const socklen_t any_size =
        address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&any), any_size) != 0) return reset(pair);
    const auto own = local_address(fd);
    if (!own || (routes_.bypass && !routes_.bypass(own->port))) return reset(pair);
    pair.inner_port = own->port;
    observer_.add(&pair);
  } else {
    observer_.tell(server.runs.empty() ? SentOrigin{} : server.runs.front().origin);
  }
  pair.state = Pair::State::kConnecting;
  const int result = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), size);
  if (result != 0 && errno != EINPROGRESS) return refuse(pair);
  update(pair, server);
  update(pair, pair.client);
  if (result == 0) connected(pair);
}

void Proxy::connected(Pair& pair) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(pair.server.fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
    return refuse(pair);
  pair.state = Pair::State::kOpen;
  if (!pair.server.waiting.empty() && !flush(pair, pair.server)) return;
  check_end(pair);
  if (pair.state == Pair::State::kClosed) return;
  update(pair, pair.server);
  update(pair, pair.client);
}

// Nobody took the connection that leads on. The client's own has been accepted long ago, so that it is told by a reset, and
// not before it has sent something: a connection that breaks between its connect and its first request is no refusal to
// clients, and some, as Node's fetch, then leave the request without an end. An end of stream is all that it says, too.
void Proxy::refuse(Pair& pair) {
  if (!pair.server.waiting.empty() || pair.client.ended) return reset(pair);
  pair.state = Pair::State::kRefused;
  pair.server.fd.reset();
  refused_.push_back({clock_ns() + kRefuseWithinNs, pair.id});
  update(pair, pair.client);
}

void Proxy::readable(Pair& pair, Side& from) {
  if (pair.state == Pair::State::kRefused) return reset(pair);
  Side& to = pair.other(from);
  std::vector<char>& buffer = settling_ ? settling_buffer_ : buffer_;
  for (int reads = 0; reads < kReadsAtOnce && to.waiting.empty() && !from.ended; ++reads) {
    const ssize_t size = ::recv(from.fd.get(), buffer.data(), buffer.size(), 0);
    if (size < 0) {
      if (!is_transient(errno)) reset(pair);
      break;
    }
    observer_.drain();
    if (size == 0) {
      end_of_stream(pair, from);
      break;
    }
    const std::string_view bytes(buffer.data(), static_cast<size_t>(size));
    if (pair.ending) continue;
    if (leaving_) pair.moved_ns = clock_ns();
    if (&from == &pair.client) {
      pair.farewell.requests(bytes);
      forward(pair, to, bytes);
    } else {
      const std::string_view answer = pair.farewell.answers(bytes, &edited_);
      forward(pair, to, answer);
      if (pair.state == Pair::State::kOpen && pair.farewell.ends_at_once()) end(pair);
    }
    if (pair.state == Pair::State::kClosed || bytes.size() < buffer.size()) break;
  }
  if (pair.state == Pair::State::kClosed) return;
  update(pair, from);
  update(pair, to);
}

void Proxy::forward(Pair& pair, Side& to, std::string_view bytes) {
  if (pair.kind != PairKind::kOutbound || &to != &pair.server) {
    send_run(pair, to, bytes, {});
    return;
  }
  const uint32_t at = pair.received;
  pair.received += static_cast<uint32_t>(bytes.size());
  const auto pieces = pair.log.take(at, bytes.size());
  // An answer that the attached process wrote before these bytes ends its request first.
  const auto settle = [this](Pair* inbound) {
    if (settling_ || inbound->state != Pair::State::kOpen || inbound->server.ended ||
        !inbound->client.waiting.empty())
      return;
    settling_ = true;
    readable(*inbound, inbound->server);
    settling_ = false;
  };
  for (const WriteLog::Piece& piece : pieces) {
    send_run(pair, to, bytes.substr(0, piece.size), observer_.origin(piece.writer, settle));
    if (pair.state == Pair::State::kClosed) return;
    bytes.remove_prefix(piece.size);
  }
  // The first bytes say who connects.
  if (pair.state == Pair::State::kAccepted) connect_on(pair, to);
}

// What the kernel does not take waits, and nothing is read from the other side meanwhile.
void Proxy::send_run(Pair& pair, Side& to, std::string_view bytes, const SentOrigin& origin) {
  const bool followed = pair.kind == PairKind::kOutbound && &to == &pair.server;
  if (to.waiting.empty() && pair.state == Pair::State::kOpen) {
    if (followed) observer_.tell(origin);
    const ssize_t sent =
        ::send(to.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !is_transient(errno)) return drain_then_reset(pair, to);
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    if (followed && sent > 0) observer_.sent(pair, origin);
  }
  if (bytes.empty()) return;
  to.waiting.append(bytes);
  if (followed) to.runs.push_back({bytes.size(), origin});
}

// False: the pair is closed.
bool Proxy::flush(Pair& pair, Side& to) {
  while (!to.waiting.empty()) {
    std::string_view bytes = to.waiting.view();
    if (!to.runs.empty()) {
      bytes = bytes.substr(0, to.runs.front().size);
      observer_.tell(to.runs.front().origin);
    }
    const ssize_t sent =
        ::send(to.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (is_transient(errno)) return true;
      drain_then_reset(pair, to);
      return false;
    }
    to.waiting.take(static_cast<size_t>(sent));
    if (to.runs.empty()) continue;
    observer_.sent(pair, to.runs.front().origin);
    to.runs.front().size -= static_cast<size_t>(sent);
    if (to.runs.front().size == 0) to.runs.pop_front();
  }
  return true;
}

void Proxy::writable(Pair& pair, Side& to) {
  if (!flush(pair, to)) return;
  if (to.waiting.empty()) check_end(pair);
  if (pair.state == Pair::State::kClosed) return;
  update(pair, to);
  update(pair, pair.other(to));
}

void Proxy::end_of_stream(Pair& pair, Side& from) {
  from.ended = true;
  if (&from == &pair.client && pair.state == Pair::State::kAccepted) {
    connect_on(pair, pair.server);
    return;
  }
  if (&from == &pair.client) watch_client(pair);
  if (pair.state != Pair::State::kClosed) check_end(pair);
}

// Passes on what has ended, as soon as the bytes before it are sent.
void Proxy::check_end(Pair& pair) {
  if (pair.state != Pair::State::kOpen) return;
  if (pair.dropping && pair.server.waiting.empty()) return close(pair);
  for (Side* to : {&pair.client, &pair.server}) {
    if (!(pair.other(*to).ended || pair.ending) || to->shut || !to->waiting.empty()) continue;
    to->shut = true;
    ::shutdown(to->fd.get(), SHUT_WR);
  }
  if (pair.client.shut && pair.server.shut && pair.client.ended && pair.server.ended) close(pair);
}

// A client that closes because its server has may be heard of first. The agent sees the end of the server's stream by reading it.
void Proxy::note_end_of_server(Pair& pair) {
  if (pair.kind != PairKind::kOutbound || pair.state != Pair::State::kOpen || pair.server.ended)
    return;
  char byte = 0;
  if (::recv(pair.server.fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0) return;
  pair.server.ended = ::recv(pair.server.fd.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

// The client has sent its end of stream. If its process has closed the socket, nobody waits for an answer any
// more, and the server's connection is closed, too, as that process would have closed it.
void Proxy::watch_client(Pair& pair) {
  if (!pair.client.ended || pair.dropping) return;
  const auto own = local_address(pair.client.fd.get());
  const auto state = own ? peers_.ask(pair.peer, *own) : PeerSockets::State::kUnknown;
  // A caller that is not here may be on another machine. The attached process is always here.
  const bool gone = state == PeerSockets::State::kClosed ||
                    (state == PeerSockets::State::kAbsent && pair.kind == PairKind::kOutbound);
  if (gone) {
    note_end_of_server(pair);
    pair.dropping = true;
    pair.client.waiting.clear();
    check_end(pair);
    if (pair.state == Pair::State::kClosed) return;
    update(pair, pair.client);
    update(pair, pair.server);
  } else if (state == PeerSockets::State::kOpen) {
    half_closed_.push_back(pair.id);
  }
}

// An error, or both directions are shut.
void Proxy::failed(Pair& pair, Side& side) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(side.fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return drain_then_reset(pair, side);
  if (!pair.other(side).waiting.empty() || side.ended) {
    // Nothing is to be read now, and epoll says it again and again: it is asked anew when there is room.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, side.fd.get(), nullptr);
    side.registered = false;
    side.interest = ~0u;
    return;
  }
  readable(pair, side);
}

// `broken` takes nothing any more. What a server has sent before goes to its client first.
void Proxy::drain_then_reset(Pair& pair, Side& broken) {
  Side& other = pair.other(broken);
  if (&broken == &pair.server && pair.state == Pair::State::kOpen && !broken.ended) {
    std::vector<char> rest(buffer_.size());
    for (;;) {
      const ssize_t size = ::recv(broken.fd.get(), rest.data(), rest.size(), MSG_DONTWAIT);
      if (size <= 0) break;
      other.waiting.append({rest.data(), static_cast<size_t>(size)});
      if (other.waiting.size() > 16 * rest.size()) break;
    }
    while (!other.waiting.empty()) {
      const std::string_view bytes = other.waiting.view();
      const ssize_t sent =
          ::send(other.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) break;
      other.waiting.take(static_cast<size_t>(sent));
    }
  }
  reset(pair);
}

void Proxy::reset(Pair& pair) {
  for (const Side* side : {&pair.client, &pair.server}) {
    if (!side->fd.valid()) continue;
    const linger now{1, 0};
    ::setsockopt(side->fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  close(pair);
}

void Proxy::close(Pair& pair) {
  if (pair.state == Pair::State::kClosed) return;
  pair.state = Pair::State::kClosed;
  observer_.remove(&pair);
  if (pair.inner_port != 0 && routes_.end_bypass) routes_.end_bypass(pair.inner_port);
  pair.client.fd.reset();
  pair.server.fd.reset();
  auto found = pairs_.extract(pair.id);
  closed_.push_back(std::move(found.mapped()));
}

void Proxy::say_farewell(Pair& pair) {
  const std::string_view words = pair.farewell.begin();
  if (pair.state != Pair::State::kOpen) return;
  if (!words.empty()) send_run(pair, pair.client, words, {});
  if (pair.state == Pair::State::kClosed) return;
  pair.moved_ns = clock_ns();
  update(pair, pair.client);
  update(pair, pair.server);
}

// Both ends are told that nothing follows. What they send meanwhile is read, since a close would reset them.
void Proxy::end(Pair& pair) {
  pair.ending = true;
  pair.moved_ns = clock_ns();
  check_end(pair);
}

}  // namespace filibuster::proxy
