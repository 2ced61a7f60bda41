// crowd PORT N: N threads with a connection each send a request from the same place at the same
// moment, and read the answer. Exit code 0 if all of them got one.
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "tests/programs/http_text.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int number = atoi(argv[2]);
  std::barrier ready(number);
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < number; ++i) {
    threads.emplace_back([&] {
      const int fd = connect_to(atoi(argv[1]));
      ready.arrive_and_wait();
      const std::string request = "GET /x HTTP/1.1\r\nHost: x\r\n\r\n";
      send(fd, request.data(), request.size(), MSG_NOSIGNAL);
      std::string answer;
      char bytes[4096];
      while (message_size(answer) == 0) {
        const ssize_t size = recv(fd, bytes, sizeof bytes, 0);
        if (size <= 0) return;
        answer.append(bytes, static_cast<size_t>(size));
      }
      ++answered;
      close(fd);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return answered == number ? 0 : 1;
}
