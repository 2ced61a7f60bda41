// http_echo_server MODE PORT: answers each request with the very bytes it received as the body.
//   threads   a thread per connection, blocking
//   epoll     one thread, non-blocking, edge-triggered
//   prefork   four processes that share the listening socket, blocking
// PORT 0: any. Prints "listening on PORT" when it is ready; runs until SIGTERM.
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include <csignal>
#include <map>
#include <thread>

#include "tests/programs/http_text.h"

namespace {

struct Connection {
  std::string in, out;
  bool continued = false;  // 100 Continue was sent for the request that is coming in
  bool ended = false;      // the client sends no more
};

// Moves every complete request of `c.in` to an answer in `c.out`.
void answer(Connection& c) {
  while (const size_t size = message_size(c.in)) {
    const std::string request = c.in.substr(0, size);
    c.in.erase(0, size);
    c.continued = false;
    c.out += "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n" +
             length_field(request) + "\r\n" + request;
  }
  const size_t head = c.in.find("\r\n\r\n");
  if (head != std::string::npos && !c.continued &&
      !strcasecmp(field(c.in.substr(0, head + 2), "expect").c_str(), "100-continue")) {
    c.out += "HTTP/1.1 100 Continue\r\n\r\n";
    c.continued = true;
  }
}

void serve_blocking(int fd) {
  Connection c;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    c.in.append(buffer, static_cast<size_t>(n));
    answer(c);
    if (!send_all(fd, c.out)) break;
    c.out.clear();
  }
  close(fd);
}

void accept_blocking(int listener, bool threads) {
  for (;;) {
    const int fd = accept(listener, nullptr, nullptr);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (threads) {
      std::thread(serve_blocking, fd).detach();
    } else {
      serve_blocking(fd);
    }
  }
}

// Reads and writes until EAGAIN, as an edge demands. False: the connection is done.
bool serve_edge(int fd, Connection& c) {
  char buffer[16384];
  while (!c.ended) {
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n > 0) {
      c.in.append(buffer, static_cast<size_t>(n));
    } else if (n == 0) {
      c.ended = true;
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      return false;
    }
  }
  answer(c);
  while (!c.out.empty()) {
    const ssize_t n = send(fd, c.out.data(), c.out.size(), MSG_NOSIGNAL);
    if (n > 0) {
      c.out.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      return true;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return !c.ended;
}

void serve_epoll(int listener) {
  fcntl(listener, F_SETFL, O_NONBLOCK);
  const int set = epoll_create1(EPOLL_CLOEXEC);
  const auto watch = [set](int fd, uint32_t events) {
    epoll_event event = {};
    event.events = events;
    event.data.fd = fd;
    epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
  };
  watch(listener, EPOLLIN);
  std::map<int, Connection> connections;
  for (;;) {
    epoll_event events[64];
    const int count = epoll_wait(set, events, 64, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener) {
        const int next = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (next < 0) continue;
        const int on = 1;
        setsockopt(next, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connections[next] = {};
        watch(next, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
      } else if (!serve_edge(fd, connections[fd])) {
        connections.erase(fd);
        close(fd);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode != "threads" && mode != "epoll" && mode != "prefork") {
    fprintf(stderr, "usage: http_echo_server threads|epoll|prefork PORT\n");
    return 2;
  }
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(atoi(argv[2])));
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) || listen(listener, 512) ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size)) {
    perror("http_echo_server");
    return 1;
  }
  printf("listening on %d\n", ntohs(address.sin_port));
  fflush(stdout);
  if (mode == "epoll") serve_epoll(listener);
  if (mode == "prefork") {
    signal(SIGTERM, [](int) {
      kill(0, SIGKILL);
      _exit(0);
    });
    setpgid(0, 0);
    for (int i = 0; i < 3; ++i) {
      if (fork() == 0) break;
    }
  }
  accept_blocking(listener, mode == "threads");
}
