// caller: a static program with frame pointers that calls others as it is told, for the tests of attaching.
// It reads commands and answers each with one line:
//   get HOST PORT      one request on a connection of its own: "200 PEER:PORT FIRST-LINE" or "failed ERRNO"
//   kept HOST PORT     the same on the connection that it keeps, or on a new one where the last answer, or
//                      the end of the connection, said that it is over
//   thread HOST PORT   as get, in a thread of its own: "TID 200 ..."
//   fork HOST PORT     as get, in a child: "PID 200 ..."
//   bytes HOST PORT N  as get, with a body of N bytes in the same write
//   listen PORT        listens at a loopback port: "listening"
//   serve              accepts one connection there, reads once, answers "ok" and closes: "served TID"
// HOST is an address of IPv4 or IPv6.
#include <sys/syscall.h>
#include <sys/wait.h>

#include <iostream>
#include <sstream>
#include <thread>

#include "tests/programs/http_text.h"

namespace {

int listener = -1;
int kept = -1;

sockaddr_storage to_address(const std::string& host, int port, socklen_t* size) {
  sockaddr_storage made{};
  auto* four = reinterpret_cast<sockaddr_in*>(&made);
  auto* six = reinterpret_cast<sockaddr_in6*>(&made);
  if (inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<uint16_t>(port));
    *size = sizeof(sockaddr_in);
  } else {
    inet_pton(AF_INET6, host.c_str(), &six->sin6_addr);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(static_cast<uint16_t>(port));
    *size = sizeof(sockaddr_in6);
  }
  return made;
}

int open_to(const std::string& host, int port) {
  socklen_t size = 0;
  const sockaddr_storage address = to_address(host, port, &size);
  const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return fd;
  const int failed = errno;
  close(fd);
  errno = failed;
  return -1;
}

std::string peer_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size);
  char text[INET6_ADDRSTRLEN] = "";
  const auto* four = reinterpret_cast<const sockaddr_in*>(&address);
  const auto* six = reinterpret_cast<const sockaddr_in6*>(&address);
  const void* ip = address.ss_family == AF_INET ? static_cast<const void*>(&four->sin_addr)
                                                : static_cast<const void*>(&six->sin6_addr);
  inet_ntop(address.ss_family, ip, text, sizeof text);
  return std::string(text) + ":" + std::to_string(ntohs(six->sin6_port));
}

// A system call of this function itself, as Go makes them: its caller stands in the frame below.
__attribute__((noinline)) long write_here(int fd, const char* bytes, size_t size) {
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(SYS_write), "D"(fd), "S"(bytes), "d"(size)
               : "rcx", "r11", "memory");
  return result;
}

__attribute__((noinline)) bool send_request(int fd, const std::string& request) {
  size_t sent = 0;
  while (sent < request.size()) {
    const long size = write_here(fd, request.data() + sent, request.size() - sent);
    if (size <= 0) return false;
    sent += static_cast<size_t>(size);
  }
  asm volatile("");  // no tail call: this frame stays
  return true;
}

// "200 PEER FIRST-LINE-OF-THE-BODY"; `*again`: the connection may be used once more.
std::string exchange(int fd, size_t body, bool* again) {
  *again = false;
  std::string request =
      "POST /called HTTP/1.1\r\nHost: there\r\nContent-Length: " + std::to_string(body) +
      "\r\n\r\n" + std::string(body, 'b');
  if (!send_request(fd, request)) return "failed " + std::to_string(errno);
  std::string answer;
  size_t size = 0;
  while ((size = message_size(answer)) == 0) {
    char buffer[65536];
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got < 0) return "failed " + std::to_string(errno);
    if (got == 0) return "ended";
    answer.append(buffer, static_cast<size_t>(got));
  }
  const std::string head = answer.substr(0, answer.find("\r\n\r\n") + 2);
  *again = strcasecmp(field(head, "connection").c_str(), "close") != 0;
  const std::string content = answer.substr(head.size() + 2, size - head.size() - 2);
  return head.substr(9, 3) + " " + peer_of(fd) + " " + content.substr(0, content.find("\r\n"));
}

std::string get(const std::string& host, int port, size_t body = 0) {
  const int fd = open_to(host, port);
  if (fd < 0) return "failed " + std::to_string(errno);
  bool again = false;
  const std::string said = exchange(fd, body, &again);
  close(fd);
  return said;
}

std::string get_on_kept(const std::string& host, int port) {
  char byte;
  if (kept >= 0 && recv(kept, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
    close(kept);
    kept = -1;
  }
  if (kept < 0) kept = open_to(host, port);
  if (kept < 0) return "failed " + std::to_string(errno);
  bool again = false;
  std::string said = exchange(kept, 0, &again);
  if (!again) {
    close(kept);
    kept = -1;
  }
  return said + (again ? " kept" : " closed");
}

std::string in_child(const std::string& host, int port) {
  int ends[2];
  if (pipe(ends) != 0) return "failed";
  const pid_t child = fork();
  if (child == 0) {
    const std::string said = std::to_string(getpid()) + " " + get(host, port);
    if (write(ends[1], said.data(), said.size()) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  char buffer[4096];
  const ssize_t size = read(ends[0], buffer, sizeof buffer);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return std::string(buffer, size > 0 ? static_cast<size_t>(size) : 0);
}

std::string in_thread(const std::string& host, int port) {
  std::string said;
  std::thread([&] { said = std::to_string(gettid()) + " " + get(host, port); }).join();
  return said;
}

std::string listen_at(int port) {
  socklen_t size = 0;
  const sockaddr_storage address = to_address("127.0.0.1", port, &size);
  listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), size) || listen(listener, 16))
    return "failed " + std::to_string(errno);
  return "listening";
}

std::string serve() {
  const int fd = accept(listener, nullptr, nullptr);
  char buffer[4096];
  const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
  const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  if (size > 0) send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
  close(fd);
  return "served " + std::to_string(gettid());
}

std::string obey(const std::string& line) {
  std::istringstream words(line);
  std::string verb, host;
  int port = 0;
  size_t body = 0;
  words >> verb;
  if (verb == "serve") return serve();
  if (verb == "listen") {
    words >> port;
    return listen_at(port);
  }
  words >> host >> port >> body;
  if (verb == "get" || verb == "bytes") return get(host, port, body);
  if (verb == "kept") return get_on_kept(host, port);
  if (verb == "thread") return in_thread(host, port);
  if (verb == "fork") return in_child(host, port);
  return "no such command";
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) std::cout << obey(line) << std::endl;
}
