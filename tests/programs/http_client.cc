// http_client MODE PORT [COUNT [EXPECTED]]: sends COUNT requests to the echo server in one manner
// and compares what comes back. Prints one line; exit code 0 if every answer was EXPECTED: "echo"
// (the very bytes, default), "status 503", "reset", "closed", "timeout" or "refused".
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include <vector>

#include "tests/programs/http_text.h"

namespace {

// Sends all pieces with writev or sendmsg, whatever part of them each call takes.
bool send_pieces(int fd, std::vector<iovec> pieces, bool by_writev) {
  while (!pieces.empty()) {
    msghdr message = {};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    ssize_t n = by_writev ? writev(fd, pieces.data(), static_cast<int>(pieces.size()))
                          : sendmsg(fd, &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    while (!pieces.empty() && static_cast<size_t>(n) >= pieces[0].iov_len) {
      n -= static_cast<ssize_t>(pieces[0].iov_len);
      pieces.erase(pieces.begin());
    }
    if (pieces.empty()) break;
    pieces[0].iov_base = static_cast<char*>(pieces[0].iov_base) + n;
    pieces[0].iov_len -= static_cast<size_t>(n);
  }
  return true;
}

bool send_file(int fd, const std::string& body) {
  char name[] = "/tmp/http_client_XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  bool ok = write(file, body.data(), body.size()) == static_cast<ssize_t>(body.size());
  off_t at = 0;
  while (ok && at < static_cast<off_t>(body.size())) {
    const ssize_t n = sendfile(fd, file, &at, body.size() - static_cast<size_t>(at));
    ok = n > 0 || (n < 0 && errno == EINTR);
  }
  close(file);
  return ok;
}

std::string chunked(const std::string& body) {
  std::string out;
  for (size_t at = 0; at < body.size(); at += 100) {
    const std::string part = body.substr(at, 100);
    char size[16];
    snprintf(size, sizeof size, "%zx\r\n", part.size());
    out += size + part + "\r\n";
  }
  return out + "0\r\n\r\n";
}

// Sends request `n` as `mode` says; returns its bytes, "" if sending failed.
std::string send_request(int fd, const std::string& mode, int n) {
  const std::string body = request_body(n);
  std::string head = request_head(n, length_field(body)), whole = head + body;
  bool ok = true;
  if (mode == "two-writes") {
    ok = write(fd, head.data(), 0) == 0 && send_all(fd, head) && send_all(fd, body);
  } else if (mode == "bytes") {
    for (const char c : whole) ok = ok && send_all(fd, std::string(1, c));
  } else if (mode == "writev" || mode == "sendmsg") {
    std::vector<iovec> pieces;
    for (size_t at = 0; at < whole.size(); at += 37) {
      pieces.push_back({whole.data() + at, std::min<size_t>(37, whole.size() - at)});
    }
    ok = send_pieces(fd, pieces, mode == "writev");
  } else if (mode == "sendfile") {
    ok = send_all(fd, head) && send_file(fd, body);
  } else if (mode == "chunked") {
    whole = request_head(n, "Transfer-Encoding: chunked\r\n") + chunked(body);
    for (size_t at = 0; ok && at < whole.size(); at += 333) {
      ok = send_all(fd, whole.substr(at, 333));
    }
  } else if (mode == "expect-continue") {
    head = request_head(n, "Expect: 100-continue\r\n" + length_field(body));
    whole = head + body;
    ok = send_all(fd, head);
    // Waits for the interim answer; sends the body unless there is none to wait for any more.
    pollfd p = {fd, POLLIN, 0};
    const int events = ok ? poll(&p, 1, 2000) : 0;
    if (ok && events == 1 && (p.revents & (POLLERR | POLLHUP)) == 0) ok = send_all(fd, body);
  } else {
    ok = send_all(fd, whole);
  }
  if (ok && mode == "half-close") shutdown(fd, SHUT_WR);
  return ok ? whole : "";
}

// One non-blocking connection on an edge-triggered epoll set, from connect to the end.
std::string edge_triggered(int port, int n) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), set = epoll_create1(0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = 0xfeedfacecafebeefull;
  std::string out = whole_request(n), in, result = "timeout";
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 &&
      errno != EINPROGRESS) {
    result = errno == ECONNREFUSED ? "refused" : strerror(errno);
    out.clear();
  } else {
    epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
    epoll_event seen = {};
    while (result == "timeout" && epoll_wait(set, &seen, 1, 2000) == 1) {
      int error = 0;
      socklen_t size = sizeof error;
      if (seen.data.u64 != event.data.u64) result = "another's event";
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) {
        result = error == ECONNREFUSED ? "refused"
                 : error == ECONNRESET ? "reset"
                                       : strerror(error);
        break;
      }
      ssize_t sent = 0;
      while (!out.empty() && (sent = send(fd, out.data(), out.size(), MSG_NOSIGNAL)) > 0) {
        out.erase(0, static_cast<size_t>(sent));
      }
      char buffer[1024];
      ssize_t got;
      while ((got = recv(fd, buffer, sizeof buffer, 0)) > 0)
        in.append(buffer, static_cast<size_t>(got));
      if (const size_t whole = message_size(in)) {
        result = judge(whole_request(n), in.substr(0, whole));
      } else if (got == 0) {
        result = "closed";
      } else if (errno == ECONNRESET) {
        result = "reset";
      }
    }
  }
  close(set);
  close(fd);
  return result;
}

// Requests on connections of their own, or all on one ("keep-alive"), or all sent before any answer
// is read ("pipelined"). The first outcome that is not an echo, else "echo".
std::string run(const std::string& mode, int port, int count) {
  const bool one_connection = mode == "keep-alive" || mode == "pipelined";
  int fd = -1;
  std::string rest, result = "echo";
  std::vector<std::string> requests;
  for (int n = 0; n < count && result == "echo"; ++n) {
    if (mode == "epoll") {
      result = edge_triggered(port, n);
      continue;
    }
    if (fd < 0 && (fd = connect_to(port)) < 0) {
      return errno == ECONNREFUSED ? "refused" : strerror(errno);
    }
    const std::string request = send_request(fd, mode, n);
    std::string answer;
    requests.push_back(request);
    if (request.empty()) result = "reset";
    if (mode == "pipelined" && n + 1 < count) continue;
    for (const std::string& sent : requests) {
      if (result != "echo") break;
      const std::string problem = receive_answer(fd, &rest, &answer);
      result = problem.empty() ? judge(sent, answer) : problem;
    }
    requests.clear();
    if (!one_connection || n + 1 == count) {
      if (!rest.empty()) result = "bytes after the answer";
      close(fd);
      fd = -1;
    }
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr,
            "usage: http_client one-write|two-writes|bytes|writev|sendmsg|sendfile|pipelined|\n"
            "  keep-alive|chunked|expect-continue|epoll|half-close PORT [COUNT [EXPECTED]]\n");
    return 2;
  }
  const int count = argc > 3 ? atoi(argv[3]) : 10;
  const std::string expected = argc > 4 ? argv[4] : "echo";
  const std::string seen = run(argv[1], atoi(argv[2]), count);
  printf("http_client %s: %d requests: %s\n", argv[1], count, seen.c_str());
  return seen == expected ? 0 : 1;
}
