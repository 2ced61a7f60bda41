// A service for tests of recordings: GET /orders/N asks a cache (Redis) and a neighbour (HTTP) over kept connections, both at the same time, then keeps
// what it has found by two commands in one write.
//
// orders PORT REDIS_PORT PRICING_PORT
#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/programs/http_text.h"

namespace {

// Connections to one server that nobody uses now.
class Kept {
 public:
  explicit Kept(int port) : port_(port) {}

  int take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        const int fd = idle_.back();
        idle_.pop_back();
        return fd;
      }
    }
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      perror("connect");
      exit(1);
    }
    return fd;
  }
  void give(int fd) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(fd);
  }

 private:
  const int port_;
  std::mutex mutex_;
  std::vector<int> idle_;
};

Kept *cache, *pricing;

// Reads until `whole` says that the text is whole.
template <typename Whole>
std::string hear(int fd, Whole whole) {
  std::string in;
  char buffer[4096];
  while (!whole(in)) {
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) return in;
    in.append(buffer, static_cast<size_t>(n));
  }
  return in;
}

std::string command(const std::vector<std::string>& words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words)
    out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return out;
}

bool is_bulk(const std::string& text) {
  const size_t line = text.find("\r\n");
  if (line == std::string::npos) return false;
  const int size = atoi(text.c_str() + 1);
  return size < 0 || text.size() >= line + 4 + static_cast<size_t>(size);
}

bool has_lines(const std::string& text, int lines) {
  size_t at = 0;
  for (; lines > 0 && (at = text.find("\r\n", at)) != std::string::npos; --lines) at += 2;
  return lines == 0;
}

std::string order(const std::string& number) {
  const int to_cache = cache->take(), to_pricing = pricing->take();
  send_all(to_pricing, "GET /prices/" + number + " HTTP/1.1\r\nHost: pricing\r\n\r\n");
  send_all(to_cache, command({"GET", "stock:" + number}));
  const std::string stock = hear(to_cache, is_bulk);
  const std::string price =
      hear(to_pricing, [](const std::string& in) { return message_size(in) != 0; });
  pricing->give(to_pricing);
  const std::string body = price.substr(std::min(price.find("\r\n\r\n") + 4, price.size()));
  send_all(to_cache, command({"SET", "order:" + number, body}) + command({"INCR", "orders"}));
  hear(to_cache, [](const std::string& in) { return has_lines(in, 2); });
  cache->give(to_cache);
  const size_t begin = std::min(stock.find("\r\n") + 2, stock.size());
  return "{\"order\":" + number + ",\"price\":" + body +
         ",\"stock\":" + stock.substr(begin, stock.size() - begin - 2) + "}";
}

void serve(int fd) {
  for (std::string in;;) {
    while (message_size(in) == 0) {
      char buffer[4096];
      const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) {
        close(fd);
        return;
      }
      in.append(buffer, static_cast<size_t>(n));
    }
    const std::string line = in.substr(0, in.find("\r\n"));
    in.erase(0, message_size(in));
    std::string target = line.substr(4, line.rfind(' ') - 4);
    target.erase(std::min(target.find('?'), target.size()));
    const std::string body = order(target.substr(target.rfind('/') + 1));
    send_all(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + length_field(body) +
                     "\r\n" + body);
  }
}

}  // namespace

int main(int, char** argv) {
  cache = new Kept(atoi(argv[2]));
  pricing = new Kept(atoi(argv[3]));
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(atoi(argv[1])));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listening, 64) != 0) {
    perror("listen");
    return 1;
  }
  for (;;) {
    const int fd = accept(listening, nullptr, nullptr);
    if (fd >= 0) std::thread(serve, fd).detach();
  }
}
