// How relay.cc and probe.cc GET a URL: over a connection of its own, by the system calls of Python's http.client, so that
// the library meets the waits that it meets there. Not a parser to learn from.
#pragma once

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "tests/programs/http_text.h"

struct Answer {
  int status = 0;
  std::string body;
  std::string problem;  // why there is no whole answer, or ""
};

// A blocking socket, or one whose every wait is a poll of at most so many milliseconds.
class Asking {
 public:
  explicit Asking(int limit_ms) : limit_(limit_ms > 0 ? limit_ms : -1) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() {
    if (fd_ >= 0) close(fd_);
  }

  // "" or what failed.
  std::string open(const std::string& host, const std::string& port) {
    addrinfo wanted = {};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
    if (error != 0) return gai_strerror(error);
    std::string problem = "no address";
    for (const addrinfo* at = found; at != nullptr && !problem.empty(); at = at->ai_next) {
      problem = connect_to_one(*at);
    }
    freeaddrinfo(found);
    return problem;
  }

  std::string say(const std::string& bytes) {
    for (size_t at = 0; at < bytes.size();) {
      if (!waits_for(POLLOUT)) return "timed out";
      const ssize_t n = send(fd_, bytes.data() + at, bytes.size() - at, 0);
      if (n >= 0) at += static_cast<size_t>(n);
      if (n < 0 && errno != EINTR && errno != EAGAIN) return strerror(errno);
    }
    return "";
  }

  // One final answer, and what is missing of it.
  Answer hear() {
    Answer answer;
    for (;;) {
      if (!more_until([&] { return in_.find("\r\n\r\n") != std::string::npos; }, &answer))
        return answer;
      if (in_.compare(0, 7, "HTTP/1.") != 0 || in_.size() < 12)
        return failed("no status line", answer);
      answer.status = atoi(in_.c_str() + 9);
      if (answer.status < 100 || answer.status > 999) return failed("no status", answer);
      const size_t end = in_.find("\r\n\r\n");
      const std::string head = in_.substr(0, end + 2);
      in_.erase(0, end + 4);
      if (answer.status == 100) continue;
      if (answer.status < 200 || answer.status == 204 || answer.status == 304) return answer;
      if (strcasecmp(field(head, "transfer-encoding").c_str(), "chunked") == 0)
        return chunks(answer);
      return body(field(head, "content-length"), answer);
    }
  }

 private:
  static Answer failed(const char* problem, Answer& answer) {
    answer.problem = problem;
    return answer;
  }

  bool waits_for(short events) const {
    if (limit_ < 0) return true;  // the socket blocks
    pollfd ready = {fd_, events, 0};
    int n;
    do {
      n = poll(&ready, 1, limit_);
    } while (n < 0 && errno == EINTR);
    return n != 0;
  }

  std::string connect_to_one(const addrinfo& address) {
    if (fd_ >= 0) close(fd_);
    fd_ = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol);
    if (fd_ < 0) return strerror(errno);
    if (limit_ > 0) fcntl(fd_, F_SETFL, O_NONBLOCK);
    int error = connect(fd_, address.ai_addr, address.ai_addrlen) < 0 ? errno : 0;
    if (error == EINPROGRESS || error == EINTR) {
      pollfd ready = {fd_, POLLOUT, 0};
      int n;
      do {
        n = poll(&ready, 1, limit_);
      } while (n < 0 && errno == EINTR);
      if (n == 0) return "timed out";
      socklen_t size = sizeof error;
      getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error != 0) return strerror(error);
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return "";
  }

  // Reads on until `done` says so. False: the answer has its problem.
  template <typename Done>
  bool more_until(Done done, Answer* answer) {
    while (!done()) {
      const ssize_t n = more(answer);
      if (n == 0) answer->problem = "the connection was closed before the answer was whole";
      if (n <= 0) return false;
    }
    return true;
  }

  // What one recv gave; below zero, the answer has its problem.
  ssize_t more(Answer* answer) {
    char bytes[8192];
    for (;;) {
      if (!waits_for(POLLIN)) {
        answer->problem = "timed out";
        return -1;
      }
      const ssize_t n = recv(fd_, bytes, sizeof bytes, 0);
      if (n >= 0) {
        in_.append(bytes, static_cast<size_t>(n));
        return n;
      }
      if (errno == EINTR || errno == EAGAIN) continue;
      answer->problem = strerror(errno);
      return -1;
    }
  }

  Answer body(const std::string& length, Answer& answer) {
    char* end = nullptr;
    const unsigned long size = strtoul(length.c_str(), &end, 10);
    if (length.empty() || *end != '\0') {  // it ends with the connection
      ssize_t n;
      do {
        n = more(&answer);
      } while (n > 0);
    } else if (!more_until([&] { return in_.size() >= size; }, &answer)) {
      return answer;
    } else {
      in_.resize(size);
    }
    answer.body.swap(in_);
    return answer;
  }

  Answer chunks(Answer& answer) {
    for (;;) {
      size_t line = 0;
      if (!more_until([&] { return (line = in_.find("\r\n")) != std::string::npos; }, &answer))
        return answer;
      char* end = nullptr;
      const unsigned long size = strtoul(in_.c_str(), &end, 16);
      if (end == in_.c_str() || size > 1UL << 30) return failed("no size of a chunk", answer);
      const size_t begin = line + 2;
      if (size == 0) {  // trailers, and an empty line
        const auto ended = [&] {
          return in_.find("\r\n", begin) == begin ||
                 in_.find("\r\n\r\n", begin) != std::string::npos;
        };
        more_until(ended, &answer);
        return answer;
      }
      if (!more_until([&] { return in_.size() >= begin + size + 2; }, &answer)) return answer;
      answer.body += in_.substr(begin, size);
      in_.erase(0, begin + size + 2);
    }
  }

  const int limit_;
  int fd_ = -1;
  std::string in_;
};

// GETs "http://HOST[:PORT][/PATH]", with `fields` ("Name: value\r\n"...) in the request. A limit of 0 is none.
[[gnu::noinline]] inline Answer get(const std::string& url, int limit_ms,
                                    const std::string& fields = "") {
  Answer answer;
  const size_t scheme = url.find("://");
  if (url.compare(0, 7, "http://") != 0) {
    answer.problem = "not a URL of http";
    return answer;
  }
  const size_t slash = url.find_first_of("/?", scheme + 3);
  const std::string authority =
      url.substr(scheme + 3, slash == std::string::npos ? slash : slash - scheme - 3);
  std::string path =
      slash == std::string::npos ? "" : url.substr(slash, url.find('#', slash) - slash);
  if (path.empty() || path[0] != '/') path.insert(0, "/");
  const size_t colon = authority.rfind(':');
  const bool numbered =
      colon != std::string::npos && authority.find(']', colon) == std::string::npos;
  std::string host = numbered ? authority.substr(0, colon) : authority;
  if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
  Asking connection(limit_ms);
  answer.problem = connection.open(host, numbered ? authority.substr(colon + 1) : "80");
  if (answer.problem.empty()) {
    answer.problem = connection.say("GET " + path + " HTTP/1.1\r\nHost: " + authority +
                                    "\r\nAccept-Encoding: identity\r\n" + fields + "\r\n");
  }
  return answer.problem.empty() ? connection.hear() : answer;
}
