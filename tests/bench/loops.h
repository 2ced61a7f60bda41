// What the tight loops share (preload_bench.cc, tls_bench.cc).
#pragma once

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

namespace loops {

inline constexpr size_t kMessage = 300;

inline double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

inline void die(const char* what) {
  perror(what);
  exit(1);
}

// A message of 300 bytes.
inline std::string padded(std::string head) {
  const size_t body = kMessage - head.size() - strlen("Content-Length: 100\r\n\r\n");
  return head + "Content-Length: " + std::to_string(body) + "\r\n\r\n" + std::string(body, 'b');
}
inline std::string request() {
  return padded("POST /bench HTTP/1.1\r\nHost: bench\r\n");
}
inline std::string answer() {
  return padded("HTTP/1.1 200 OK\r\nServer: bench\r\n");
}

inline int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address)) die("connect");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

inline void tcp_pair(int ends[2]) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) || listen(listener, 1) ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size))
    die("loopback");
  ends[0] = connect_to(ntohs(address.sin_port));
  ends[1] = accept(listener, nullptr, nullptr);
  if (ends[1] < 0) die("accept");
  setsockopt(ends[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  close(listener);
}

struct Bursts {
  int count = 20;
  int size = 1000;
  int pause_ms = 0;  // after each, so that a daemon can read the events
};

inline Bursts bursts_of(int argc, char** argv, int from) {
  Bursts b;
  if (argc > from) b.count = atoi(argv[from]);
  if (argc > from + 1) b.size = atoi(argv[from + 1]);
  if (argc > from + 2) b.pause_ms = atoi(argv[from + 2]);
  return b;
}

// Prints one JSON line about a round trip: of four calls, or of two messages. Only the bursts are timed.
template <typename RoundTrip>
void measure(const Bursts& bursts, RoundTrip round_trip) {
  std::vector<double> times;
  // The first ones warm up: in a session, until the event ring (1 MiB, about 1 KiB for a round trip)
  // was used once and its pages are there.
  constexpr int kWarmUp = 15;
  for (int b = -kWarmUp; b < bursts.count; ++b) {
    const double begin = now_ns();
    for (int i = 0; i < bursts.size; ++i) round_trip();
    if (b >= 0) times.push_back((now_ns() - begin) / bursts.size);
    if (bursts.pause_ms > 0) usleep(static_cast<useconds_t>(bursts.pause_ms) * 1000);
  }
  std::nth_element(times.begin(), times.begin() + bursts.count / 2, times.end());
  const double trip = times[static_cast<size_t>(bursts.count / 2)];
  printf("{\"ns_per_call\": %.2f, \"ns_per_message\": %.2f, \"us_per_request\": %.3f}\n", trip / 4,
         trip / 2, trip / 1000);
}

}  // namespace loops
