// A service in C++ with frame pointers: front PORT BACK_PORT. It asks the same of BACK_PORT from two functions, over
// a new connection each, and answers 503 if one of them fails.
#include <sys/syscall.h>

#include <thread>

#include "tests/programs/http_text.h"

namespace {

constexpr char kGood[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";
constexpr char kBad[] =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
constexpr char kRequest[] = "GET /same HTTP/1.1\r\nHost: back\r\nConnection: close\r\n\r\n";

bool ask(int port) {
  const int fd = connect_to(port);
  if (fd < 0) return false;
  std::string answer;
  char bytes[4096];
  // As programs do that call the kernel themselves: glibc's send() uses the register of the frame pointer for
  // something else in a program with threads.
  const bool sent =
      syscall(SYS_sendto, fd, kRequest, sizeof kRequest - 1, MSG_NOSIGNAL, nullptr, 0) > 0;
  for (ssize_t size; sent && (size = recv(fd, bytes, sizeof bytes, 0)) > 0;)
    answer.append(bytes, static_cast<size_t>(size));
  close(fd);
  return answer.compare(0, 12, "HTTP/1.1 200") == 0;
}

[[gnu::noinline]] bool first_call(int port) {
  const bool good = ask(port);
  return good && port != 0;
}

[[gnu::noinline]] bool second_call(int port) {
  const bool good = ask(port);
  return good && port != 1;
}

void serve(int connection, int back) {
  char bytes[4096];
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t size = recv(connection, bytes, sizeof bytes, 0);
    if (size <= 0) break;
    request.append(bytes, static_cast<size_t>(size));
  }
  const bool good = first_call(back) && second_call(back);
  send(connection, good ? kGood : kBad, (good ? sizeof kGood : sizeof kBad) - 1, MSG_NOSIGNAL);
  close(connection);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(atoi(arguments[1])));
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(fd, 64) != 0)
    return 1;
  for (int connection; (connection = accept(fd, nullptr, nullptr)) >= 0;)
    std::thread(serve, connection, atoi(arguments[2])).detach();
  return 1;
}
