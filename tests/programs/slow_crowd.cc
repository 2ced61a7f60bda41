// slow_crowd PORT COUNT: COUNT connections to a server of this machine that ask for nothing. A half of them sends nothing,
// the other half a byte of a request now and then. One that is closed is opened again. Prints `connected` when each was
// opened once, and goes on until it is killed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kRequest = "GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Nothing: ";
// Those that are closed are opened again at this pace: what is measured is a crowd and no flood.
constexpr std::chrono::milliseconds kTurn{1000};

struct Member {
  int fd = -1;
  size_t sent = 0;
};

int open_connection(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    if (fd >= 0) close(fd);
    return -1;
  }
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

bool is_closed(int fd) {
  char bytes[256];
  while (true) {
    const ssize_t size = recv(fd, bytes, sizeof bytes, 0);
    if (size <= 0) return size == 0 || (errno != EAGAIN && errno != EINTR);
  }
}

void take_turn(Member* member, bool sends, uint16_t port) {
  if (member->fd >= 0 && is_closed(member->fd)) {
    close(member->fd);
    member->fd = -1;
  }
  if (member->fd < 0) *member = {open_connection(port), 0};
  if (member->fd < 0 || !sends) return;
  const char byte = member->sent < kRequest.size() ? kRequest[member->sent] : 'x';
  if (send(member->fd, &byte, 1, MSG_NOSIGNAL) == 1) ++member->sent;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto port = static_cast<uint16_t>(atoi(argv[1]));
  std::vector<Member> crowd(static_cast<size_t>(atoi(argv[2])));
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  for (bool first = true;; first = false) {
    const auto next = Clock::now() + kTurn;
    for (size_t i = 0; i < crowd.size(); ++i) take_turn(&crowd[i], i % 2 == 0, port);
    if (first) {
      puts("connected");
      fflush(stdout);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    if (left > 0) poll(nullptr, 0, static_cast<int>(left));
  }
}
