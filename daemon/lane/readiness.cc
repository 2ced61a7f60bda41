#include "daemon/lane/readiness.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <vector>

#include "daemon/attach/find.h"
#include "daemon/base/file_text.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kProbeLimit{2000};  // for one HTTP probe

// A socket that is connected to one of the host's addresses; -1: nobody accepts.
int connect_to(const std::string& host, uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  int fd = -1;
  for (const addrinfo* at = found; at != nullptr && fd < 0; at = at->ai_next) {
    fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0) break;
    if (fd >= 0) close(fd);
    fd = -1;
  }
  freeaddrinfo(found);
  return fd;
}

// Connects to the service at its host, or without a host at loopback, IPv4 first.
int connect_service(const std::string& host, uint16_t port) {
  if (!host.empty()) return connect_to(host, port);
  const int fd = connect_to("127.0.0.1", port);
  return fd >= 0 ? fd : connect_to("::1", port);
}

}  // namespace

bool accepts(const std::string& host, uint16_t port) {
  const int fd = connect_service(host, port);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

bool answers_http(const std::string& of, uint16_t port, const std::string& path) {
  const int fd = connect_service(of, port);
  if (fd < 0) return false;
  std::string host = of.empty() ? "127.0.0.1" : of;
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + host + ":" +
                              std::to_string(port) + "\r\nConnection: close\r\n\r\n";
  std::string answer;
  const auto deadline = Clock::now() + kProbeLimit;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(request.size())) {
    while (answer.size() < 12) {  // "HTTP/1.1 200"
      const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
      pollfd readable{fd, POLLIN, 0};
      char bytes[64];
      if (left <= 0 || poll(&readable, 1, static_cast<int>(left)) <= 0) break;
      const ssize_t size = recv(fd, bytes, sizeof bytes, 0);
      if (size <= 0) break;
      answer.append(bytes, static_cast<size_t>(size));
    }
  }
  close(fd);
  return answer.size() >= 12 && answer.starts_with("HTTP/1.") && answer[9] >= '1' &&
         answer[9] <= '4';
}

bool listens_at(pid_t pid, uint16_t port) {
  const std::vector<attach::ListeningSocket> all =
      attach::listens_with_descendants(attach::Proc(), pid);
  return std::any_of(all.begin(), all.end(),
                     [&](const attach::ListeningSocket& socket) { return socket.port == port; });
}

std::string where_it_listens(pid_t pid) {
  std::set<uint16_t> ports;
  for (const attach::ListeningSocket& socket :
       attach::listens_with_descendants(attach::Proc(), pid))
    ports.insert(socket.port);
  std::string out;
  size_t left = ports.size();
  for (const uint16_t port : ports) {
    out += (out.empty() ? "" : --left == 1 ? " and " : ", ") + std::to_string(port);
  }
  return out.empty() ? "" : (ports.size() == 1 ? "port " : "ports ") + out;
}

bool file_contains(const std::string& path, const std::string& text) {
  std::ifstream file(path, std::ios::binary);
  const std::string all = text_of(file);
  return all.find(text) != std::string::npos;
}

}  // namespace filibuster
