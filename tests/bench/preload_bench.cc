// preload_bench LOOP [BURSTS [BURST_SIZE [PAUSE_MS]]]: the tight loop that preload_bench.py runs
// under different preloads. Prints one JSON line: nanoseconds per call, or per message.
//   calls     send and recv of 300 bytes over a Unix socket pair: what the hooks themselves cost
//   messages  HTTP/1.1 requests and answers of 300 bytes over a loopback TCP connection, client and
//             server in one thread
// Only the bursts are timed; in the pauses between them a daemon can read the events.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr size_t kMessage = 300;

double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

void die(const char* what) {
  perror(what);
  exit(1);
}

void move(int from, int to, const std::string& bytes) {
  // In a session the request grows by our header field: read until nothing is left.
  char buffer[1024];
  if (send(from, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    die("send");
  }
  if (recv(to, buffer, sizeof buffer, 0) < static_cast<ssize_t>(bytes.size())) die("recv");
}

std::string padded(std::string head) {
  const size_t body = kMessage - head.size() - strlen("Content-Length: 100\r\n\r\n");
  return head + "Content-Length: " + std::to_string(body) + "\r\n\r\n" + std::string(body, 'b');
}

void tcp_pair(int ends[2]) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ends[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) || listen(listener, 1) ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) ||
      connect(ends[0], reinterpret_cast<sockaddr*>(&address), size) ||
      (ends[1] = accept(listener, nullptr, nullptr)) < 0) {
    die("loopback");
  }
  for (int i = 0; i < 2; ++i) setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  close(listener);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string loop = argc > 1 ? argv[1] : "";
  const int bursts = argc > 2 ? atoi(argv[2]) : 20, size = argc > 3 ? atoi(argv[3]) : 1000;
  const int pause_ms = argc > 4 ? atoi(argv[4]) : 0;
  int ends[2];
  if (loop == "calls") {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) die("socketpair");
  } else if (loop == "messages") {
    tcp_pair(ends);
  } else {
    fprintf(stderr, "usage: preload_bench calls|messages [BURSTS [BURST_SIZE [PAUSE_MS]]]\n");
    return 2;
  }
  const std::string request = padded("POST /bench HTTP/1.1\r\nHost: bench\r\n");
  const std::string answer = padded("HTTP/1.1 200 OK\r\nServer: bench\r\n");
  std::vector<double> times;
  // The first ones warm up: in a session, until the event ring (1 MiB, about 1 KiB for a round trip)
  // was used once and its pages are there.
  constexpr int kWarmUp = 15;
  for (int b = -kWarmUp; b < bursts; ++b) {
    const double begin = now_ns();
    for (int i = 0; i < size; ++i) {
      move(ends[0], ends[1], request);
      move(ends[1], ends[0], answer);
    }
    if (b >= 0) times.push_back((now_ns() - begin) / size);
    if (pause_ms > 0) usleep(static_cast<useconds_t>(pause_ms) * 1000);
  }
  std::nth_element(times.begin(), times.begin() + bursts / 2, times.end());
  // A round trip is two messages, or four calls.
  const double trip = times[static_cast<size_t>(bursts / 2)];
  printf("{\"ns_per_call\": %.2f, \"ns_per_message\": %.2f}\n", trip / 4, trip / 2);
}
