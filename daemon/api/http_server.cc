#include "daemon/api/http_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace filibuster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMostRequests = 1000;  // of a connection
constexpr time_t kKeepAliveSeconds =
    25;  // as clients are told; the waiting room waits a little longer

class ConnectionStream final : public httplib::Stream {
 public:
  ConnectionStream(Connection* connection, Clock::time_point deadline)
      : connection_(connection), deadline_(deadline) {}
  // What was read is no part of the next request.
  ~ConnectionStream() override { connection_->bytes.erase(0, read_); }

  bool is_readable() const override { return read_ < connection_->bytes.size() || wait(POLLIN); }
  bool is_writable() const override { return wait(POLLOUT); }

  ssize_t read(char* out, size_t size) override {
    const std::string& bytes = connection_->bytes;
    if (read_ < bytes.size()) {
      const size_t count = std::min(size, bytes.size() - read_);
      std::memcpy(out, bytes.data() + read_, count);
      read_ += count;
      return static_cast<ssize_t>(count);
    }
    while (true) {
      const ssize_t count = ::recv(socket(), out, size, 0);
      if (count >= 0 || !goes_on(POLLIN)) return count;
    }
  }
  ssize_t write(const char* bytes, size_t size) override {
    while (true) {
      const ssize_t count = ::send(socket(), bytes, size, MSG_NOSIGNAL);
      if (count >= 0 || !goes_on(POLLOUT)) return count;
    }
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (getpeername(socket(), reinterpret_cast<sockaddr*>(&address), &size) == 0)
      describe(address, &ip, &port);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (getsockname(socket(), reinterpret_cast<sockaddr*>(&address), &size) == 0)
      describe(address, &ip, &port);
  }
  socket_t socket() const override { return connection_->socket.get(); }

 private:
  static void describe(const sockaddr_in& address, std::string* ip, int* port) {
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    *ip = text;
    *port = ntohs(address.sin_port);
  }
  // After a call that failed: is it worth another try?
  bool goes_on(short event) const {
    return errno == EINTR || ((errno == EAGAIN || errno == EWOULDBLOCK) && wait(event));
  }
  bool wait(short event) const {
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
      pollfd watched{socket(), event, 0};
      const int ready = ::poll(&watched, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
      if (ready > 0) return true;
      if (ready == 0 || errno != EINTR) return false;
    }
  }

  Connection* connection_;
  const Clock::time_point deadline_;
  size_t read_ = 0;  // bytes of connection_->bytes
};

}  // namespace

HttpServer::HttpServer() {
  set_keep_alive_timeout(kKeepAliveSeconds);
  set_keep_alive_max_count(kMostRequests);
}

bool HttpServer::serve(Connection* connection, bool is_last, std::chrono::milliseconds limit) {
  ConnectionStream stream(connection, Clock::now() + limit);
  const bool closes = is_last || ++connection->answered >= kMostRequests;
  bool closed = false;
  return process_request(stream, closes, closed, nullptr) && !closed && !closes;
}

}  // namespace filibuster
