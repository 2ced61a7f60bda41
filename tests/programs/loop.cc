// A server with one thread, which waits for all of its connections by epoll: loop PORT BACK, where BACK is a port. For GET /NAME it
// calls BACK/NAME/0 and then BACK/NAME/1. It goes on with a request whose client has gone.
#include <sys/epoll.h>

#include <cstdint>
#include <map>

#include "tests/programs/http_text.h"

namespace {

struct Stream {
  int fd = -1;
  std::string text;     // what was read and is not worked on
  uint64_t client = 0;  // of a call: whose request it is made for
  std::string path;
  int number = 0;
};

int g_set, g_back;
uint64_t g_last = 0;  // numbers of streams do not come again, as those of descriptors do
std::map<uint64_t, Stream> g_streams;

void follow(Stream stream) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = ++g_last;
  if (epoll_ctl(g_set, EPOLL_CTL_ADD, stream.fd, &event) != 0) abort();
  g_streams[g_last] = std::move(stream);
}

void call(uint64_t client, const std::string& path, int number) {
  const int fd = connect_to(g_back);
  if (fd < 0) abort();
  send_all(fd, "GET " + path + "/" + std::to_string(number) +
                   " HTTP/1.1\r\nHost: back\r\nConnection: close\r\n\r\n");
  follow({fd, "", client, path, number});
}

void answered(const Stream& stream) {
  if (stream.number == 0) return call(stream.client, stream.path, 1);
  if (const auto client = g_streams.find(stream.client); client != g_streams.end())
    send_all(client->second.fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

void read_from(uint64_t id) {
  char buffer[4096];
  Stream& stream = g_streams[id];
  const ssize_t size = recv(stream.fd, buffer, sizeof buffer, 0);
  if (size <= 0) {
    const Stream ended = std::move(stream);
    g_streams.erase(id);
    close(ended.fd);
    if (ended.client != 0) answered(ended);
    return;
  }
  stream.text.append(buffer, static_cast<size_t>(size));
  if (stream.client != 0 || message_size(stream.text) == 0) return;
  const size_t path = stream.text.find(' ') + 1;
  const std::string target = stream.text.substr(path, stream.text.find(' ', path) - path);
  stream.text.erase(0, message_size(stream.text));
  call(id, target, 0);
}

}  // namespace

int main(int, char** words) {
  g_back = atoi(words[2]);
  g_set = epoll_create1(EPOLL_CLOEXEC);
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(atoi(words[1])));
  if (bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 1;
  if (listen(server, 64) != 0) return 1;
  epoll_event connections = {};
  connections.events = EPOLLIN;  // of the number 0
  if (epoll_ctl(g_set, EPOLL_CTL_ADD, server, &connections) != 0) return 1;
  for (;;) {
    epoll_event events[64];
    const int count = epoll_wait(g_set, events, 64, -1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 != 0) {
        read_from(events[i].data.u64);
      } else if (const int client = accept(server, nullptr, nullptr); client >= 0) {
        follow({client, "", 0, "", 0});
      }
    }
  }
}
