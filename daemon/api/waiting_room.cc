#include "daemon/api/waiting_room.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

namespace filibuster {
namespace {

constexpr uint64_t kListener = 1, kWake = 2;  // connections have numbers from 3
constexpr size_t kMostKnown = 512;
// So many that a crowd is kept waiting, since one that is turned away comes again at once; but a quarter of our
// descriptors at most.
constexpr size_t kFewestStrangers = 64, kMostStrangers = 2048;
constexpr size_t kMostQueued = 64;  // strangers with a whole head
constexpr size_t kMostHead = 32 * 1024;
constexpr int kAcceptedPerTurn = 64;
constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kStrangerNs = 10'000 * kNsPerMs;  // from connecting to the end of the head
constexpr uint64_t kKnownNs = 30'000 * kNsPerMs;     // from an answer to the end of the next head
constexpr uint64_t kLeavingNs = 2'000 * kNsPerMs;
constexpr int kTryAgainMs = 50;  // to accept, when no descriptor was left
// Threads, by RequestKind. Each answer that waits for news, and each reader that is slow, holds one.
constexpr size_t kThreads[] = {2, 16, 8, 8};

size_t most_strangers() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::clamp<size_t>(limit.rlim_cur / 4, kFewestStrangers, kMostStrangers);
}

bool has_whole_head(const std::string& bytes) {
  return bytes.find("\r\n\r\n") != std::string::npos;
}

bool address_of(int socket, bool there, sockaddr_in* out) {
  socklen_t size = sizeof *out;
  auto* const address = reinterpret_cast<sockaddr*>(out);
  return (there ? getpeername(socket, address, &size) : getsockname(socket, address, &size)) == 0 &&
         out->sin_family == AF_INET;
}

}  // namespace

WaitingRoom::WaitingRoom(Options options) : options_(std::move(options)), next_(kWake + 1) {
  for (size_t kind = 0; kind < threads_.size(); ++kind)
    threads_[kind] = std::make_unique<ThreadGroup>(kThreads[kind]);
}

Result<std::unique_ptr<WaitingRoom>> WaitingRoom::open(Options options) {
  std::unique_ptr<WaitingRoom> room(new WaitingRoom(std::move(options)));
  if (auto listens = room->listen(); !listens) return listens.error();
  room->knows_owners_ = room->check_owners();
  if (!room->knows_owners_) {
    room->options_.warn(
        "the kernel does not tell whose a connection is (sock_diag): connections of other users to the API are "
        "not closed at once, and only the token keeps them out");
  }
  room->thread_ = std::thread([raw = room.get()] { raw->run(); });
  return room;
}

WaitingRoom::~WaitingRoom() {
  stopped_ = true;
  if (wake_.valid()) eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
  for (auto& threads : threads_) threads->finish();
}

Result<void> WaitingRoom::listen() {
  listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (!listener_.valid() || ::bind(listener_.get(), raw, size) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0 || getsockname(listener_.get(), raw, &size) != 0)
    return Error{std::string("cannot listen on a port of 127.0.0.1: ") + strerror(errno)};
  port_ = ntohs(address.sin_port);
  epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event events[2] = {};
  events[0].events = events[1].events = EPOLLIN;
  events[0].data.u64 = kListener;
  events[1].data.u64 = kWake;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &events[0]) != 0 ||
      epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &events[1]) != 0)
    return Error{std::string("cannot watch the API's port: ") + strerror(errno)};
  return {};
}

// Asked about a connection of its own, since a kernel that cannot answer gives the same error as for no such socket.
bool WaitingRoom::check_owners() {
  sockaddr_in here{}, there{};
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!client.valid() || !address_of(listener_.get(), false, &here) ||
      ::connect(client.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0)
    return false;
  const UniqueFd accepted(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!address_of(client.get(), false, &there)) return false;
  const SocketOwners::Owner owner = owners_.ask(there, here);
  return owner.state == SocketOwners::Owner::State::kKnown && owner.uid == geteuid();
}

void WaitingRoom::run() {
  while (!stopped_) {
    epoll_event events[64];
    const int count = epoll_wait(epoll_.get(), events, 64, next_deadline_ms());
    take_back();
    for (int i = 0; i < count && !stopped_; ++i) {
      const uint64_t number = events[i].data.u64;
      if (number == kListener) {
        accept();
      } else if (number == kWake) {
        eventfd_t ignored;
        eventfd_read(wake_.get(), &ignored);
      } else {
        read(number);
      }
    }
    close_the_late();
    if (!is_listening_ && count == 0) watch_listener(true);
  }
  for (Line* line : lines()) line->clear();
}

void WaitingRoom::watch_listener(bool watched) {
  epoll_event event{};
  if (watched) event.events = EPOLLIN;
  event.data.u64 = kListener;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
  is_listening_ = watched;
}

void WaitingRoom::accept() {
  for (int i = 0; i < kAcceptedPerTurn; ++i) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      // With nothing to close, trying again at once would spin.
      const bool is_full = errno == EMFILE || errno == ENFILE;
      if (is_full && make_room()) continue;
      if (is_full) watch_listener(false);
      return;
    }
    if (!is_admitted(socket.get())) continue;
    const int on = 1;  // head and body of an answer are two writes
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto connection = std::make_unique<Connection>();
    connection->socket = std::move(socket);
    enter(std::move(connection));
  }
}

bool WaitingRoom::is_admitted(int socket) {
  sockaddr_in there{}, here{};
  if (!knows_owners_ || !address_of(socket, true, &there) || !address_of(socket, false, &here))
    return true;
  const SocketOwners::Owner owner = owners_.ask(there, here);
  switch (owner.state) {
    case SocketOwners::Owner::State::kKnown:
      return owner.uid == geteuid() || owner.uid == 0 || options_.admits(owner.uid);
    case SocketOwners::Owner::State::kClosed:
      return false;
    case SocketOwners::Owner::State::kUnknown:
      break;  // such as one that was forwarded: the token decides
  }
  return true;
}

// Closes one that waits; false: nobody waits.
bool WaitingRoom::make_room() {
  for (Line* line : lines()) {
    if (line->empty()) continue;
    line->erase(line->begin());
    return true;
  }
  return false;
}

void WaitingRoom::enter(std::unique_ptr<Connection> connection) {
  Line& line = connection->is_leaving ? leaving_ : connection->is_known ? known_ : strangers_;
  const uint64_t number = next_++;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = number;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection->socket.get(), &event) != 0) return;
  connection->deadline_ns = clock_ns() + (connection->is_leaving ? kLeavingNs
                                          : connection->is_known ? kKnownNs
                                                                 : kStrangerNs);
  line.emplace(number, std::move(connection));
  read(number);
  // The one that has waited longest may have sent its request meanwhile.
  if (line.size() > (&line == &known_ ? kMostKnown : most_strangers())) {
    const uint64_t oldest = line.begin()->first;
    read(oldest);
    line.erase(oldest);
  }
}

void WaitingRoom::take_back() {
  std::vector<std::unique_ptr<Connection>> back;
  {
    const std::lock_guard lock(mutex_);
    back.swap(back_);
  }
  for (auto& connection : back) enter(std::move(connection));
}

WaitingRoom::Line* WaitingRoom::line_of(uint64_t number) {
  for (Line* line : lines()) {
    if (line->contains(number)) return line;
  }
  return nullptr;
}

void WaitingRoom::read(uint64_t number) {
  Line* const line = line_of(number);
  if (line == nullptr) return;  // closed since the event
  Connection& connection = *line->at(number);
  while (connection.is_leaving || !has_whole_head(connection.bytes)) {
    char bytes[16 * 1024];
    const ssize_t size = ::recv(connection.socket.get(), bytes, sizeof bytes, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (size > 0 && !connection.is_leaving)
      connection.bytes.append(bytes, static_cast<size_t>(size));
    if (size <= 0 || (connection.bytes.size() > kMostHead && !has_whole_head(connection.bytes))) {
      line->erase(number);
      return;
    }
  }
  std::unique_ptr<Connection> ready = std::move(line->at(number));
  line->erase(number);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, ready->socket.get(), nullptr);
  give_thread(std::move(ready));
}

void WaitingRoom::give_thread(std::unique_ptr<Connection> connection) {
  const size_t head = connection->bytes.find("\r\n\r\n") + 2;
  const RequestKind kind = options_.kind(std::string_view(connection->bytes).substr(0, head));
  if (kind != RequestKind::kStranger) connection->is_known = true;
  ThreadGroup& threads = *threads_[static_cast<size_t>(kind)];
  if (kind == RequestKind::kStranger && threads.waiting() >= kMostQueued) return;  // closed
  threads.run(
      [this, kind, shared = std::make_shared<std::unique_ptr<Connection>>(std::move(connection))] {
        std::unique_ptr<Connection> served = std::move(*shared);
        if (kind == RequestKind::kStranger && stopped_)
          return;  // who is slow must not hold up the end
        if (!options_.serve(served.get(), kind)) {
          // Closing a socket with bytes that nobody read would take the answer back.
          ::shutdown(served->socket.get(), SHUT_WR);
          served->is_leaving = true;
          served->bytes.clear();
        }
        const std::lock_guard lock(mutex_);
        back_.push_back(std::move(served));
        eventfd_write(wake_.get(), 1);
      });
}

void WaitingRoom::close_the_late() {
  const uint64_t now = clock_ns();
  for (Line* line : lines()) {
    while (!line->empty() && line->begin()->second->deadline_ns <= now) line->erase(line->begin());
  }
}

int WaitingRoom::next_deadline_ms() {
  if (!is_listening_) return kTryAgainMs;
  uint64_t next = UINT64_MAX;
  for (const Line* line : lines()) {
    if (!line->empty()) next = std::min(next, line->begin()->second->deadline_ns);
  }
  if (next == UINT64_MAX) return -1;
  const uint64_t now = clock_ns();
  return next <= now ? 0
                     : static_cast<int>(std::min<uint64_t>((next - now) / kNsPerMs + 1, INT_MAX));
}

}  // namespace filibuster
