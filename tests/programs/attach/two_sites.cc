// A statically linked service with a thread for each connection, which libfilibuster.so cannot enter.
//
// two_sites PORT BACK: for GET /n it GETs /n/0 of the loopback port BACK in one function and /n/1 in another, over
// a connection of its thread that it keeps, and answers 200, or 503 and what failed.
#include <pthread.h>
#include <sys/syscall.h>

#include "tests/programs/http_text.h"

namespace {

int g_back = 0;
thread_local int t_back = -1;

// glibc's send() is built without frame pointers, and in a process with threads it uses their register for something
// else: no call stack leads through it. Programs that call the kernel themselves (Go's, musl's) have one.
long send_by_call(int fd, const std::string& bytes) {
  return syscall(SYS_sendto, fd, bytes.data(), bytes.size(), MSG_NOSIGNAL, nullptr, 0);
}

// "" if the answer is a 200, else what failed.
__attribute__((noinline)) std::string call(const std::string& path) {
  if (t_back < 0) t_back = connect_to(g_back);
  if (t_back < 0) return strerror(errno);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: back\r\n\r\n";
  std::string failure;
  std::string answer;
  if (send_by_call(t_back, request) < 0) failure = strerror(errno);
  while (failure.empty() && message_size(answer) == 0) {
    char piece[4096];
    const ssize_t size = recv(t_back, piece, sizeof piece, 0);
    if (size < 0) failure = errno == EAGAIN ? "timeout" : strerror(errno);
    if (size == 0) failure = "end of stream";
    if (size > 0) answer.append(piece, static_cast<size_t>(size));
  }
  if (!failure.empty() || field(answer, "connection") == "close") {
    close(t_back);
    t_back = -1;
  }
  if (failure.empty() && answer.compare(9, 3, "200") != 0) failure = answer.substr(9, 3);
  return failure;
}

__attribute__((noinline)) std::string first_site(const std::string& path) {
  std::string failure = call(path + "/0");
  asm volatile("" ::: "memory");  // the call above is none that this function ends with
  return failure;
}

__attribute__((noinline)) std::string second_site(const std::string& path) {
  std::string failure = call(path + "/1");
  asm volatile("" ::: "memory");
  return failure;
}

void* serve(void* connection) {
  const int fd = static_cast<int>(reinterpret_cast<intptr_t>(connection));
  std::string received;
  for (;;) {
    char piece[4096];
    const ssize_t size = recv(fd, piece, sizeof piece, 0);
    if (size <= 0) break;
    received.append(piece, static_cast<size_t>(size));
    const size_t request = message_size(received);
    if (request == 0) continue;
    const size_t begin = received.find(' ') + 1;
    const std::string path = received.substr(begin, received.find(' ', begin) - begin);
    std::string failed = first_site(path);
    if (failed.empty()) failed = second_site(path);
    const std::string answer = std::string(failed.empty() ? "HTTP/1.1 200 OK" : "HTTP/1.1 503 No") +
                               "\r\nContent-Length: " + std::to_string(failed.size()) + "\r\n\r\n" +
                               failed;
    if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
    received.erase(0, request);
  }
  close(fd);
  if (t_back >= 0) close(t_back);
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  g_back = atoi(arguments[2]);
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(atoi(arguments[1])));
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 128) != 0)
    return 3;
  for (;;) {
    const int fd = accept(listener, nullptr, nullptr);
    pthread_t thread;
    if (fd < 0 ||
        pthread_create(&thread, nullptr, serve, reinterpret_cast<void*>(intptr_t{fd})) != 0)
      return 4;
    pthread_detach(thread);
  }
}
