#include "bpf/loader/serve.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <list>
#include <memory>
#include <vector>

#include "bpf/loader/channel.h"
#include "bpf/loader/protocol.h"
#include "bpf/loader/session.h"

namespace filibuster::bpf {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLook{50};

struct Connection {
  UniqueFd socket;
  std::unique_ptr<Session::Client> client;
};

template <typename Message>
const Message* message_in(const Datagram& datagram, uint32_t magic) {
  const auto* message = datagram.as<Message>();
  return message != nullptr && message->magic == magic && message->version == kLoaderVersion
             ? message
             : nullptr;
}

// The process at the other end; of a pair it is who made the pair.
pid_t peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

// False: the connection is to be closed.
bool answer(Session& session, Connection& connection) {
  const Datagram datagram = receive(connection.socket.get());
  if (datagram.bytes.empty()) return false;
  const int socket = connection.socket.get();
  if (const auto* request = message_in<AttachRequest>(datagram, kAttachMagic)) {
    std::vector<int> descriptors;
    const AttachReply reply =
        connection.client->attach(*request, datagram.descriptors, &descriptors);
    return send(socket, &reply, sizeof(reply), descriptors);
  }
  if (message_in<RetireRequest>(datagram, kRetireMagic) != nullptr) {
    const RetireReply reply = connection.client->retire();
    return send(socket, &reply, sizeof(reply));
  }
  if (message_in<OldRequest>(datagram, kOldMagic) != nullptr) {
    const OldReply reply = session.old_connections();
    return send(socket, &reply, sizeof(reply));
  }
  if (message_in<DetachRequest>(datagram, kDetachMagic) != nullptr) {
    const DetachReply reply = connection.client->detach();
    return send(socket, &reply, sizeof(reply));
  }
  // Somebody of another version: what fits every reply says so.
  AttachReply reply;
  reply.error = EPROTO;
  copy_text(reply.step, sizeof(reply.step), "request");
  copy_text(reply.text, sizeof(reply.text),
            "filibuster-bpf does not understand the request: it is of another version");
  send(socket, &reply, sizeof(reply));
  return false;
}

class Server {
 public:
  Server(int fd, const std::string& writes, uint16_t spared)
      : control_(fd), session_(peer_of(fd), writes, spared) {}

  int run() {
    while (wait()) {
    }
    return 0;
  }

 private:
  // False: the daemon is gone.
  bool wait() {
    std::vector<pollfd> waiting = {{control_.get(), POLLIN, 0}, {session_.news_fd(), POLLIN, 0}};
    for (const Connection& connection : connections_)
      waiting.push_back({connection.socket.get(), POLLIN, 0});
    const bool looks = session_.has_old_connections();
    const int ready =
        poll(waiting.data(), waiting.size(), looks ? static_cast<int>(kLook.count()) : -1);
    if (ready < 0) return errno == EINTR;
    if (waiting[1].revents != 0) session_.read_news();
    if (looks && Clock::now() - looked_ >= kLook) {
      session_.look();
      looked_ = Clock::now();
    }
    size_t i = 2;
    for (auto connection = connections_.begin(); connection != connections_.end(); ++i) {
      if (waiting[i].revents != 0 && !answer(session_, *connection))
        connection = connections_.erase(connection);
      else
        ++connection;
    }
    return waiting[0].revents == 0 || join();
  }

  bool join() {
    Datagram datagram = receive(control_.get());
    if (datagram.bytes.empty()) return false;
    if (message_in<JoinRequest>(datagram, kJoinMagic) == nullptr ||
        datagram.descriptors.size() != 1)
      return true;
    UniqueFd socket = std::move(datagram.descriptors.front());
    const pid_t proxy = peer_of(socket.get());
    connections_.push_back({std::move(socket), std::make_unique<Session::Client>(session_, proxy)});
    return true;
  }

  UniqueFd control_;
  Session session_;
  std::list<Connection> connections_;
  Clock::time_point looked_;
};

}  // namespace

int serve(int fd, const std::string& writes, uint16_t spared) {
  return Server(fd, writes, spared).run();
}

}  // namespace filibuster::bpf
