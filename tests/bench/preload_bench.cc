// preload_bench LOOP [BURSTS [BURST_SIZE [PAUSE_MS]]]: the tight loop that preload_bench.py runs
// under different preloads. Prints one JSON line: nanoseconds per call, or per message.
//   calls     send and recv of 300 bytes over a Unix socket pair: what the hooks themselves cost
//   pipes     write and read of 300 bytes over a pipe: the same on what is no socket
//   realtime  clock_gettime(CLOCK_REALTIME)
//   monotonic clock_gettime(CLOCK_MONOTONIC)
//   messages  HTTP/1.1 requests and answers of 300 bytes over a loopback TCP connection, client and
//             server in one thread
#include "tests/bench/loops.h"

namespace {

using loops::die;

void move(int from, int to, const std::string& bytes) {
  // In a session the request grows by our header field: read until nothing is left.
  char buffer[1024];
  if (send(from, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    die("send");
  }
  if (recv(to, buffer, sizeof buffer, 0) < static_cast<ssize_t>(bytes.size())) die("recv");
}

void move_in_pipe(const int ends[2], const std::string& bytes) {
  char buffer[1024];
  if (write(ends[1], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    die("write");
  if (read(ends[0], buffer, sizeof buffer) != static_cast<ssize_t>(bytes.size())) die("read");
}

// As many as a round trip has calls.
void read_clock(clockid_t clock) {
  timespec now;
  for (int i = 0; i < 4; ++i) clock_gettime(clock, &now);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string loop = argc > 1 ? argv[1] : "";
  const loops::Bursts bursts = loops::bursts_of(argc, argv, 2);
  const std::string request = loops::request(), answer = loops::answer();
  int ends[2];
  if (loop == "pipes") {
    if (pipe(ends)) die("pipe");
    loops::measure(bursts, [&] {
      move_in_pipe(ends, request);
      move_in_pipe(ends, answer);
    });
    return 0;
  }
  if (loop == "realtime" || loop == "monotonic") {
    const clockid_t clock = loop == "realtime" ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    loops::measure(bursts, [clock] { read_clock(clock); });
    return 0;
  }
  if (loop == "calls") {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) die("socketpair");
  } else if (loop == "messages") {
    loops::tcp_pair(ends);
  } else {
    fprintf(stderr,
            "usage: preload_bench calls|pipes|realtime|monotonic|messages [BURSTS [BURST_SIZE "
            "[PAUSE_MS]]]\n");
    return 2;
  }
  loops::measure(bursts, [&] {
    move(ends[0], ends[1], request);
    move(ends[1], ends[0], answer);
  });
}
