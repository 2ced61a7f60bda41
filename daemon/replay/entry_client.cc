#include "daemon/replay/entry_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "daemon/base/descriptors.h"
#include "daemon/cases/messages.h"
#include "daemon/wire/http1_message.h"

namespace filibuster::replay {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kReadSize = size_t{64} * 1024;

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
          .count());
}

enum class Waited : uint8_t { kReady, kLate, kWoken };

Waited wait_for(int socket, short events, Clock::time_point end, int wake_fd) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
    if (left <= 0) return Waited::kLate;
    pollfd both[] = {{socket, events, 0}, {wake_fd, POLLIN, 0}};
    const int ready = poll(both, wake_fd >= 0 ? 2 : 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return Waited::kReady;  // the call behind it says what it is
    if (wake_fd >= 0 && both[1].revents != 0) return Waited::kWoken;
    if (ready > 0) return Waited::kReady;
  }
}

class Entry {
 public:
  Entry(const cases::Request& request, uint16_t port, milliseconds limit, int wake_fd)
      : request_(request),
        port_(port),
        wake_fd_(wake_fd),
        end_(Clock::now() + limit),
        reader_(http1::Direction::kResponses) {}

  cases::EntryEnd exchange() {
    cases::EntryEnd out;
    out.not_sent = connect_and_send();
    if (!out.not_sent.empty()) return out;
    reader_.expect_answer_to(request_.method);
    out.answer = read_answer();
    return out;
  }

 private:
  std::string connect_and_send() {
    socket_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!socket_.valid()) return std::strerror(errno);
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
        errno != EINPROGRESS)
      return std::strerror(errno);
    const std::string host = "127.0.0.1:" + std::to_string(port_);
    std::string_view left = bytes_ = http1_request_bytes(cases::message_of(request_, host));
    while (!left.empty()) {
      if (wait_for(socket_.get(), POLLOUT, end_, wake_fd_) != Waited::kReady)
        return "the service does not read it";
      const ssize_t sent = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      // A service may answer before it has read all, and close.
      if (sent < 0) return left.size() == bytes_.size() ? std::strerror(errno) : "";
      left.remove_prefix(static_cast<size_t>(sent));
    }
    return "";
  }

  cases::Answer read_answer() {
    cases::Answer none;
    char part[kReadSize];
    while (true) {
      if (wait_for(socket_.get(), POLLIN, end_, wake_fd_) != Waited::kReady) {
        none.silence = true;
        return none;
      }
      const ssize_t size = ::recv(socket_.get(), part, sizeof part, 0);
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      const auto whole = size > 0 ? reader_.feed({part, static_cast<size_t>(size)}, now_ns())
                                  : reader_.finish(now_ns());
      if (!whole.empty()) return cases::answer_of(whole.front());
      if (size > 0) continue;
      none.ends = size < 0 ? cases::Ends::kReset : cases::Ends::kClosed;
      return none;
    }
  }

  const cases::Request& request_;
  const uint16_t port_;
  const int wake_fd_;
  const Clock::time_point end_;
  wire::Http1Reader reader_;
  UniqueFd socket_;
  std::string bytes_;
};

}  // namespace

cases::EntryEnd send_entry(const cases::Request& request, uint16_t port, milliseconds limit,
                           int wake_fd) {
  return Entry(request, port, limit, wake_fd).exchange();
}

}  // namespace filibuster::replay
