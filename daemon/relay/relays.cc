#include "daemon/relay/relays.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace filibuster {
namespace {

// The two descriptors of one connection share its number.
constexpr uint64_t kServerBit = 1ull << 55;
constexpr uint64_t kNumberMask = kServerBit - 1;
// One event reads at most this much, so that one fast end does not starve the others.
constexpr size_t kReadBudget = 512 * 1024;
constexpr size_t kReadSize = 64 * 1024;
// How long a connection lives whose client has closed it and whose server has not: as long as a kernel
// keeps such a connection (tcp_fin_timeout).
constexpr uint64_t kHalfClosedNs = 60'000'000'000;
// How long the client of a retired connection may take to close it; and how long a client may take to read
// its last bytes before its connection is reset.
constexpr uint64_t kClosingNs = 250'000'000;
constexpr uint64_t kLastBytesNs = 1'000'000'000;

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

struct Relays::End {
  UniqueFd fd;
  uint32_t watched = 0;  // events; 0: not in the epoll set
  bool ended = false;    // all that it sends was read
  bool shut = false;     // nothing more is sent to it
  bool broken = false;   // it takes nothing more: it is closed, or was reset

  void close() {
    // The agent's process may still have a duplicate, with which the connection would live on.
    if (fd.valid()) ::shutdown(fd.get(), SHUT_RDWR);
    fd.reset();
  }
};

struct Relays::Connection {
  Connection(uint64_t n, const RelayState& state, std::string_view table,
             std::string_view half_read, RelayHost* host)
      : number(n), relay(state, table, half_read, host) {}
  ~Connection() {
    client.close();
    server.close();
  }
  const uint64_t number;
  Relay relay;
  End client, server;
  bool closing = false;      // retired: only the client's end is waited for
  uint64_t deadline_ns = 0;  // when the connection is ended in any case; 0: none
};

Relays::Relays(int epoll_fd, uint64_t tag, RelayHost* host)
    : epoll_fd_(epoll_fd), tag_(tag), host_(host) {}
Relays::~Relays() = default;

void Relays::take(const RelayState& state, std::string_view table, std::string_view half_read,
                  UniqueFd held, UniqueFd real) {
  const uint64_t number = next_number_++;
  auto connection = std::make_unique<Connection>(number, state, table, half_read, host_);
  connection->client.fd = std::move(held);
  connection->server.fd = std::move(real);
  // Frames of ours and theirs are sent in pieces that Nagle's algorithm would hold back.
  const int on = 1;
  for (const End* end : {&connection->client, &connection->server}) {
    ::setsockopt(end->fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  const bool watched = watch(&connection->client, number, EPOLLIN) &&
                       watch(&connection->server, number | kServerBit, EPOLLIN);
  if (!watched || !connection->relay.ok()) {
    host_->note(watched ? "the state of a handed-off HTTP/2 connection is malformed"
                        : "a handed-off HTTP/2 connection is not a socket",
                true);
    close(connections_.emplace(number, std::move(connection)).first->second.get(),
          Next::kResetClient);
    return;
  }
  connections_.emplace(number, std::move(connection));
}

bool Relays::watch(End* end, uint64_t data, uint32_t events) {
  if (end->watched == events) return true;
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag_ | data;
  // Where there is nothing to watch for, it is not watched at all: EPOLLHUP would come again and again.
  const int operation = events == 0         ? EPOLL_CTL_DEL
                        : end->watched == 0 ? EPOLL_CTL_ADD
                                            : EPOLL_CTL_MOD;
  end->watched = events;
  return ::epoll_ctl(epoll_fd_, operation, end->fd.get(), &event) == 0;
}

void Relays::ready(uint64_t data, uint64_t now_ns) {
  const auto place = connections_.find(data & kNumberMask);
  if (place == connections_.end()) return;
  Connection* c = place->second.get();
  if ((data & kServerBit) != 0) read_server(c, now_ns);
  // The client is always read: an answer that has ended may wait for the client to be quiet.
  read_client(c, now_ns);
  settle(c, now_ns);
}

void Relays::read_client(Connection* c, uint64_t now_ns) {
  char buffer[kReadSize];
  size_t budget = kReadBudget;
  End& end = c->client;
  while (!end.ended && budget > 0 && c->relay.to_server().size() < kMostUnsent) {
    const ssize_t size = ::recv(end.fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size > 0) {
      budget -= std::min(budget, static_cast<size_t>(size));
      if (!c->closing) c->relay.from_client({buffer, static_cast<size_t>(size)}, now_ns);
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size == 0 || !would_block()) end.ended = true;
    end.broken = end.broken || (size < 0 && !would_block());
    break;
  }
  if (budget > 0) c->relay.client_quiet();
}

void Relays::read_server(Connection* c, uint64_t now_ns) {
  char buffer[kReadSize];
  size_t budget = kReadBudget;
  End& end = c->server;
  while (!end.ended && budget > 0 && c->relay.to_client().size() < kMostUnsent) {
    const ssize_t size = ::recv(end.fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size > 0) {
      budget -= std::min(budget, static_cast<size_t>(size));
      c->relay.from_server({buffer, static_cast<size_t>(size)}, now_ns);
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && would_block()) return;
    end.ended = true;
    end.broken = end.broken || size < 0;
    c->relay.server_ended();
    return;
  }
}

void Relays::flush(Connection* c) {
  const auto send_all = [](End* end, ByteQueue* bytes) {
    while (!bytes->empty() && !end->broken && !end->shut) {
      const std::string_view piece = bytes->view();
      const ssize_t size =
          ::send(end->fd.get(), piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && would_block()) return;
      if (size < 0) {
        end->broken = true;
      } else {
        bytes->take(static_cast<size_t>(size));
      }
    }
    if (end->broken || end->shut) bytes->clear();
  };
  Relay& relay = c->relay;
  // There may be room for more of an answer now.
  do {
    send_all(&c->client, &relay.to_client());
    send_all(&c->server, &relay.to_server());
    if (!relay.to_client().empty()) break;
    relay.resume();
  } while (!relay.to_client().empty() && !c->client.broken && !c->client.shut);
}

void Relays::settle(Connection* c, uint64_t now_ns) {
  const Next next = go_on(c, now_ns);
  if (next == Next::kGoOn) return;
  close(c, next);
}

void Relays::close(Connection* c, Next how) {
  // A closed descriptor leaves the epoll set only with its last duplicate, which may be the agent's.
  watch(&c->client, c->number, 0);
  watch(&c->server, c->number | kServerBit, 0);
  if (how == Next::kResetClient) close_with_reset(std::move(c->client.fd));
  if (how == Next::kResetServer) close_with_reset(std::move(c->server.fd));
  connections_.erase(c->number);
}

Relays::Next Relays::go_on(Connection* c, uint64_t now_ns) {
  Relay& relay = c->relay;
  End& client = c->client;
  End& server = c->server;
  flush(c);
  // Without us, the application's reset would have reached the server.
  if (client.broken) return Next::kResetServer;
  const bool sent = relay.to_client().empty();
  if (relay.reset() && sent) return Next::kResetClient;
  if (server.ended && sent && (!relay.answering() || server.broken) && !client.shut) {
    if (relay.leaving()) {
      relay.retire();
      flush(c);
    }
    if (server.broken) return Next::kResetClient;
    ::shutdown(client.fd.get(), SHUT_WR);
    client.shut = true;
  }
  if (relay.finished() && sent && !c->closing) {
    // It is not closed yet: a close with unread input resets the connection, and might take away what the
    // client has not read yet.
    c->closing = true;
    c->deadline_ns = now_ns + kClosingNs;
    if (!client.shut) ::shutdown(client.fd.get(), SHUT_WR);
    watch(&server, c->number | kServerBit, 0);
    server.close();
    client.shut = server.ended = server.shut = true;
  }
  if (client.ended && relay.to_server().empty() && !server.shut) {
    ::shutdown(server.fd.get(), SHUT_WR);
    server.shut = true;
    c->deadline_ns = now_ns + kHalfClosedNs;
  }
  if (relay.reset() && c->deadline_ns == 0) c->deadline_ns = now_ns + kLastBytesNs;
  if (client.ended && server.ended && client.shut) return Next::kClose;

  const auto events = [&](const End& end, const ByteQueue& in, const ByteQueue& out) {
    if (!end.fd.valid()) return 0u;
    const bool read = !end.ended && !relay.reset() && in.size() < kMostUnsent;
    return (read ? static_cast<uint32_t>(EPOLLIN) : 0u) |
           (out.empty() ? 0u : static_cast<uint32_t>(EPOLLOUT));
  };
  watch(&client, c->number, events(client, relay.to_server(), relay.to_client()));
  watch(&server, c->number | kServerBit, events(server, relay.to_client(), relay.to_server()));
  return Next::kGoOn;
}

template <typename Act>
void Relays::for_each(Act act) {
  std::vector<uint64_t> numbers;
  for (const auto& [number, connection] : connections_) numbers.push_back(number);
  for (const uint64_t number : numbers) act(connections_.at(number).get());
}

void Relays::expire(uint64_t now_ns) {
  for_each([&](Connection* c) {
    const uint64_t next = c->relay.next_deadline_ns();
    const bool over = c->deadline_ns != 0 && c->deadline_ns <= now_ns;
    if (!over && (next == 0 || next > now_ns)) return;
    if (over) {
      close(c, c->relay.reset() ? Next::kResetClient : Next::kClose);
      return;
    }
    read_client(c, now_ns);
    c->relay.expire(now_ns);
    settle(c, now_ns);
  });
}

uint64_t Relays::next_deadline_ns() const {
  uint64_t next = 0;
  for (const auto& [number, c] : connections_) {
    for (const uint64_t deadline : {c->deadline_ns, c->relay.next_deadline_ns()}) {
      if (deadline != 0 && (next == 0 || deadline < next)) next = deadline;
    }
  }
  return next;
}

void Relays::end_execution(uint32_t execution) {
  for_each([&](Connection* c) {
    c->relay.end_execution(execution);
    settle(c, clock_ns());
  });
}

void Relays::retire(uint64_t now_ns) {
  for_each([&](Connection* c) {
    read_client(c, now_ns);  // the client sent this before it could know
    c->relay.retire();
    settle(c, now_ns);
  });
}

}  // namespace filibuster
