#include "daemon/replay/entry_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace filibuster::replay {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kReadSize = size_t{64} * 1024;

}  // namespace

uint64_t steady_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
          .count());
}

EntrySocket::EntrySocket(milliseconds limit, int wake_fd)
    : wake_fd_(wake_fd), end_(Clock::now() + limit) {}

// False: it is too late, or somebody has woken it.
bool EntrySocket::wait_for(short events) const {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(end_ - Clock::now()).count();
    if (left <= 0) return false;
    pollfd both[] = {{socket_.get(), events, 0}, {wake_fd_, POLLIN, 0}};
    const int ready = poll(both, wake_fd_ >= 0 ? 2 : 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return true;  // the call behind it says what it is
    if (wake_fd_ >= 0 && both[1].revents != 0) return false;
    if (ready > 0) return true;
  }
}

std::string EntrySocket::connect(uint16_t port) {
  socket_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!socket_.valid()) return std::strerror(errno);
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS)
    return std::strerror(errno);
  return "";
}

std::string EntrySocket::send(std::string_view bytes) {
  for (std::string_view left = bytes; !left.empty();) {
    if (!wait_for(POLLOUT)) return "the service does not read it";
    const ssize_t sent = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent < 0) return left.size() == bytes.size() ? std::strerror(errno) : "";
    left.remove_prefix(static_cast<size_t>(sent));
  }
  return "";
}

EntrySocket::Got EntrySocket::receive(std::string* bytes) {
  bytes->resize(kReadSize);
  while (true) {
    if (!wait_for(POLLIN)) return Got::kNothing;
    const ssize_t size = ::recv(socket_.get(), bytes->data(), bytes->size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    bytes->resize(size < 0 ? 0 : static_cast<size_t>(size));
    return size > 0 ? Got::kBytes : size == 0 ? Got::kEnd : Got::kReset;
  }
}

}  // namespace filibuster::replay
