// prefork PORT: a child serves, the parent waits; SIGTERM ends both, since neither has a handler. Built with --coverage.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

void answer(int connection) {
  static const char kAnswer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  char request[4096];
  size_t size = 0;
  while (size < sizeof request && memmem(request, size, "\r\n\r\n", 4) == nullptr) {
    const ssize_t n = recv(connection, request + size, sizeof request - size, 0);
    if (n <= 0) break;
    size += static_cast<size_t>(n);
  }
  if (send(connection, kAnswer, sizeof kAnswer - 1, MSG_NOSIGNAL) < 0) abort();
  close(connection);
}

}  // namespace

int main(int argc, char** argv) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(argc > 1 ? atoi(argv[1]) : 0));
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 64) != 0) {
    return 1;
  }
  // The child answers nobody before the parent has come to its line: on a busy machine, a parent that was
  // not scheduled since its fork would be stopped without it.
  int ends[2];
  char byte = 0;
  if (pipe(ends) != 0) abort();
  if (fork() != 0) {
    if (write(ends[1], &byte, 1) != 1) abort();  // the parent's line
    waitpid(-1, nullptr, 0);
    return 0;
  }
  if (read(ends[0], &byte, 1) != 1) abort();
  for (;;) answer(accept(listener, nullptr, nullptr));  // the child's line
}
