// late_registration PORT COUNT STEP_US: the write of one thread and the epoll_ctl of another at the
// same time, as in HTTP clients whose selector is a thread of its own. Request i goes to /x-i; the
// other thread registers its connection i * STEP_US after it began to be written, then waits for
// the answer. Says how each one ended: "200", "reset", or "lost" if the wait saw nothing.
#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/programs/http_text.h"

namespace {

using Clock = std::chrono::steady_clock;

std::string outcome(int fd) {
  const int set = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event = {EPOLLIN, {}};
  epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
  const int ready = epoll_wait(set, &event, 1, 5000);
  close(set);
  if (ready != 1) return "lost";
  char bytes[4096];
  const ssize_t size = recv(fd, bytes, sizeof bytes - 1, 0);
  if (size < 0) return errno == ECONNRESET ? "reset" : strerror(errno);
  bytes[size] = '\0';
  const std::string text(bytes);
  return text.size() > 12 ? text.substr(9, 3) : "closed";
}

std::string exchange(int port, int number, std::chrono::microseconds delay) {
  const int fd = connect_to(port);
  if (fd < 0) return strerror(errno);
  std::atomic<bool> begins{false};
  std::string seen;
  std::thread selector([&] {
    while (!begins) {
    }
    for (const auto end = Clock::now() + delay; Clock::now() < end;) {
    }
    seen = outcome(fd);
  });
  const std::string request = "GET /x-" + std::to_string(number) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  begins = true;
  send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  selector.join();
  close(fd);
  return seen;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  for (int i = 0; i < atoi(argv[2]); ++i) {
    printf("%s%s", i == 0 ? "" : " ",
           exchange(atoi(argv[1]), i, std::chrono::microseconds(i * atoi(argv[3]))).c_str());
  }
  printf("\n");
}
