#include "daemon/stubs/stub_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <map>
#include <thread>

#include "daemon/base/descriptors.h"
#include "daemon/stubs/stub_connection.h"

namespace filibuster::stubs {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kBacklog = 1024;
constexpr size_t kReadSize = 64 * 1024;
constexpr size_t kMostUnsent =
    8u << 20;  // bytes that a client does not read: nothing more is read of it then
constexpr int kEvents = 64;

class Server final : public StubServer {
 public:
  Server(Answerer* answerer, PortIsTaken is_taken)
      : answerer_(answerer), is_taken_(std::move(is_taken)) {}
  ~Server() override {
    if (!thread_.joinable()) return;
    const uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
    thread_.join();
  }

  Result<void> listen(const std::vector<StubListener>& listeners) {
    epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll_.valid() || !wake_.valid()) return system_error("a stub's server: epoll");
    watch(wake_.get(), EPOLLIN, EPOLL_CTL_ADD);
    for (const StubListener& listener : listeners) {
      for (const uint16_t port : listener.ports) {
        if (auto at = listen_at(AF_INET, port, listener); !at) return at;
        // A machine without IPv6, or with a program at that port there, is served at 127.0.0.1.
        (void)listen_at(AF_INET6, port, listener);
      }
    }
    thread_ = std::thread([this] { serve(); });
    return {};
  }

 private:
  struct Client {
    UniqueFd socket;
    const StubListener* listener = nullptr;      // of its door
    uint16_t port = 0;                           // the client's
    std::unique_ptr<StubConnection> connection;  // null until its first bytes
    std::string unsent;
    size_t delayed = 0;  // replies that are not due yet
    bool closing = false, paused = false;
    bool silent = false;  // a call never gets its reply
    uint32_t events = EPOLLIN;
  };
  struct Door {
    UniqueFd socket;
    StubListener listener;
  };
  struct Delayed {
    uint64_t client = 0, number = 0;
    std::optional<Reply> reply;  // nullopt: a part of the reply
  };

  Result<void> listen_at(int family, uint16_t port, const StubListener& listener) {
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return system_error("socket");
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_storage address{};
    socklen_t size = sizeof(sockaddr_in);
    if (family == AF_INET) {
      auto& in = reinterpret_cast<sockaddr_in&>(address);
      in.sin_family = AF_INET;
      in.sin_port = htons(port);
      in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      auto& in = reinterpret_cast<sockaddr_in6&>(address);
      ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
      in.sin6_family = AF_INET6;
      in.sin6_port = htons(port);
      in.sin6_addr = in6addr_loopback;
      size = sizeof(sockaddr_in6);
    }
    const auto bound = [&] {
      return ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0;
    };
    bool is_bound = bound();
    // Connections in TIME_WAIT of a service that sets SO_REUSEPORT alone leave its port to those that set it, too.
    if (!is_bound && errno == EADDRINUSE && is_taken_ && !is_taken_(port)) {
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
      is_bound = bound();
    }
    if (!is_bound || ::listen(socket.get(), kBacklog) != 0)
      return system_error("the stubs of service '" + listener.service + "' cannot listen at port " +
                          std::to_string(port));
    watch(socket.get(), EPOLLIN, EPOLL_CTL_ADD);
    const int fd = socket.get();
    doors_[fd] = {std::move(socket), listener};
    return {};
  }

  // The descriptor, or below it the number of a client: a descriptor may be another client's by the time that its event comes.
  void watch(int fd, uint32_t events, int how, uint64_t client = 0) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = client != 0 ? client : static_cast<uint64_t>(fd);
    ::epoll_ctl(epoll_.get(), how, fd, &event);
  }

  void serve() {
    epoll_event events[kEvents];
    while (true) {
      const int count = ::epoll_wait(epoll_.get(), events, kEvents, time_left());
      for (int i = 0; i < count; ++i) {
        const uint64_t which = events[i].data.u64;
        if (which == static_cast<uint64_t>(wake_.get())) return;
        if (which < kFirstClient) {
          accept_at(static_cast<int>(which));
        } else {
          at_client(which, events[i].events);
        }
      }
      send_delayed();
    }
  }

  int time_left() const {
    if (delayed_.empty()) return -1;
    const auto left = std::chrono::ceil<milliseconds>(delayed_.begin()->first - Clock::now());
    return static_cast<int>(std::max(left, milliseconds(0)).count());
  }

  void accept_at(int door) {
    const auto found = doors_.find(door);
    if (found == doors_.end()) return;
    while (true) {
      sockaddr_storage from{};
      socklen_t from_size = sizeof from;
      UniqueFd socket(::accept4(door, reinterpret_cast<sockaddr*>(&from), &from_size,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.valid()) return;
      const int on = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      Client client;
      client.listener = &found->second.listener;
      client.port = port_of(from);
      watch(socket.get(), EPOLLIN, EPOLL_CTL_ADD, next_client_);
      client.socket = std::move(socket);
      clients_.emplace(next_client_++, std::move(client));
    }
  }

  static uint16_t port_of(const sockaddr_storage& address) {
    return ntohs(address.ss_family == AF_INET
                     ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                     : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }

  // What is closed next ends with a reset.
  static void reset(int socket) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

  // By the first byte: a handshake's record (RFC 8446 §5.1), with which no other protocol here begins.
  std::unique_ptr<StubConnection> connection_of(const StubListener& listener, char first) {
    constexpr char kHandshake = 0x16;
    auto plain = listener.protocol == Protocol::kRedis ? make_redis_connection(listener.service)
                                                       : make_http_connection(listener.service);
    if (first != kHandshake) return plain;
    if (listener.certificate != nullptr)
      return make_tls_connection(listener.certificate, std::move(plain));
    answerer_->refuse(
        listener.service,
        "a client of '" + listener.service +
            "' speaks TLS, which its stubs do not: \"tls\": true in its row serves it");
    return nullptr;
  }

  void at_client(uint64_t number, uint32_t events) {
    const auto found = clients_.find(number);
    if (found == clients_.end()) return;
    Client& client = found->second;
    bool alive = (events & (EPOLLERR | EPOLLHUP)) == 0;
    if (alive && (events & EPOLLIN) != 0 && !client.closing && !client.paused)
      alive = read_from(number, &client);
    if (alive) alive = send_to(&client, number);
    if (!alive) clients_.erase(number);
  }

  // False: the client has ended.
  bool read_from(uint64_t number, Client* client) {
    char bytes[kReadSize];
    const ssize_t size = ::read(client->socket.get(), bytes, sizeof bytes);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) {  // it waits for what it has asked for, or it is gone
      client->closing = true;
      return client->connection != nullptr && !client->silent;
    }
    if (client->connection == nullptr)
      client->connection = connection_of(*client->listener, bytes[0]);
    if (client->connection == nullptr) return false;
    const bool good = client->connection->feed({bytes, static_cast<size_t>(size)});
    for (OpenCall& call : client->connection->take_calls()) {
      if (call.is_open) {
        answer_open(client, call.number);
        continue;
      }
      call.call.client_port = client->port;
      Reply reply = answerer_->reply(std::move(call.call));
      const milliseconds delay = reply.answer.delay;
      client->silent = client->silent || reply.end == End::kSilence;
      const bool has_beginning =
          reply.is_http && (reply.answer.status != 0 || reply.stream_error.has_value());
      if (reply.end != End::kNone && !has_beginning) {
        if (reply.end == End::kReset) reset(client->socket.get());
        if (reply.end != End::kSilence) return false;
      } else if (delay.count() > 0 && reply.problem.empty()) {
        delayed_.emplace(Clock::now() + delay, Delayed{number, call.number, std::move(reply)});
        ++client->delayed;
      } else {
        client->connection->reply(call.number, reply);
      }
    }
    send_parts(client, number);
    client->closing = client->closing || !good;
    return true;
  }

  void answer_open(Client* client, uint64_t number) {
    Call* call = client->connection->open_call(number);
    if (call == nullptr) return;
    call->client_port = client->port;
    if (const auto reply = answerer_->reply_open(*call)) client->connection->reply(number, *reply);
  }

  // Those that are due now, and those that will be.
  void send_parts(Client* client, uint64_t number) {
    while (const auto due = client->connection->take_due()) {
      if (due->gap.count() <= 0) {
        client->connection->send_part(due->number);
        continue;
      }
      delayed_.emplace(Clock::now() + due->gap, Delayed{number, due->number, {}});
      ++client->delayed;
    }
  }

  void send_delayed() {
    while (!delayed_.empty() && delayed_.begin()->first <= Clock::now()) {
      const Delayed due = std::move(delayed_.begin()->second);
      delayed_.erase(delayed_.begin());
      if (due.reply && due.reply->ticket != 0) answerer_->leaves(due.reply->ticket);
      const auto found = clients_.find(due.client);
      if (found == clients_.end()) continue;
      --found->second.delayed;
      if (due.reply) {
        found->second.connection->reply(due.number, *due.reply);
      } else {
        found->second.connection->send_part(due.number);
      }
      send_parts(&found->second, due.client);
      if (!send_to(&found->second, due.client)) clients_.erase(found);
    }
  }

  // False: the connection is to be closed.
  bool send_to(Client* client, uint64_t number) {
    if (client->connection != nullptr) client->unsent += client->connection->take_output();
    size_t sent = 0;
    while (sent < client->unsent.size()) {
      const ssize_t now = ::send(client->socket.get(), client->unsent.data() + sent,
                                 client->unsent.size() - sent, MSG_NOSIGNAL);
      if (now < 0 && errno == EINTR) continue;
      if (now < 0 && errno != EAGAIN) return false;
      if (now < 0) break;
      sent += static_cast<size_t>(now);
    }
    client->unsent.erase(0, sent);
    const End end = client->connection == nullptr ? End::kNone : client->connection->ended();
    if (client->unsent.empty() && end == End::kReset) reset(client->socket.get());
    const bool finished =
        client->connection != nullptr && (client->connection->finished() || end != End::kNone);
    if (client->unsent.empty() &&
        (finished || (client->closing && client->delayed == 0 && !client->silent)))
      return false;
    client->paused = client->unsent.size() > kMostUnsent;
    const uint32_t events = (client->paused || client->closing ? 0u : EPOLLIN) |
                            (client->unsent.empty() ? 0u : EPOLLOUT);
    if (events != client->events) watch(client->socket.get(), events, EPOLL_CTL_MOD, number);
    client->events = events;
    return true;
  }

  static constexpr uint64_t kFirstClient = uint64_t{1} << 32;  // below it: descriptors

  Answerer* const answerer_;
  const PortIsTaken is_taken_;
  UniqueFd epoll_, wake_;
  std::map<int, Door> doors_;
  std::map<uint64_t, Client> clients_;
  uint64_t next_client_ = kFirstClient;
  std::multimap<Clock::time_point, Delayed> delayed_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<StubServer>> StubServer::start(Answerer* answerer,
                                                      std::vector<StubListener> listeners,
                                                      PortIsTaken is_taken) {
  auto server = std::make_unique<Server>(answerer, std::move(is_taken));
  if (auto up = server->listen(listeners); !up) return up.error();
  return std::unique_ptr<StubServer>(std::move(server));
}

}  // namespace filibuster::stubs
