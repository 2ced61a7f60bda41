// What the test programs share: blocking loopback connections, requests with a content of their
// own, and just enough of HTTP/1.1 framing to know where a message ends. Not a parser to learn
// from.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

inline int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const timeval limit = {2, 0};  // a program that would hang says "timeout"
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  int result;
  do {
    result = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  } while (result < 0 && errno == EINTR);
  if (result < 0) {
    close(fd);
    return -1;
  }
  return fd;
}

// The value of a header field, or "".
inline std::string field(const std::string& head, const char* name) {
  for (size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at + 2)) {
    const size_t size = strlen(name);
    if (strncasecmp(head.c_str() + at + 2, name, size) == 0 && head[at + 2 + size] == ':') {
      const size_t begin = head.find_first_not_of(' ', at + 3 + size);
      return head.substr(begin, head.find("\r\n", begin) - begin);
    }
  }
  return "";
}

// Size of the first message in `bytes` (without interim answers), 0 while it is incomplete.
inline size_t message_size(const std::string& bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  const std::string head = bytes.substr(0, end + 2);
  size_t at = end + 4;
  if (strcasecmp(field(head, "transfer-encoding").c_str(), "chunked") != 0) {
    at += strtoul(field(head, "content-length").c_str(), nullptr, 10);
    return bytes.size() >= at ? at : 0;
  }
  for (;;) {
    const size_t line = bytes.find("\r\n", at);
    if (line == std::string::npos) return 0;
    const size_t size = strtoul(bytes.c_str() + at, nullptr, 16);
    at = line + 2 + size + 2;
    if (bytes.size() < at) return 0;
    if (size == 0) return at;
  }
}

// Request number `n`: its path and body differ from those of every other.
inline std::string request_head(int n, const std::string& body_fields) {
  char text[256];
  snprintf(text, sizeof text, "POST /echo/%d?n=%d HTTP/1.1\r\nHost: echo\r\nX-N: %d\r\n", n, n * 7,
           n);
  return text + body_fields + "\r\n";
}
inline std::string request_body(int n) {
  std::string body(static_cast<size_t>(n * 131 % 3000), ' ');
  for (size_t i = 0; i < body.size(); ++i) {
    body[i] = static_cast<char>('!' + (i * 31 + static_cast<size_t>(n)) % 90);
  }
  return body;
}
inline std::string length_field(const std::string& body) {
  return "Content-Length: " + std::to_string(body.size()) + "\r\n";
}
inline std::string whole_request(int n) {
  return request_head(n, length_field(request_body(n))) + request_body(n);
}

inline bool send_all(int fd, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

// One whole answer out of `fd`; `rest` keeps what came after it. Returns "" if it was answered,
// else "reset", "closed", "timeout" or the error.
inline std::string receive_answer(int fd, std::string* rest, std::string* answer) {
  char buffer[4096];
  for (;;) {
    const size_t size = message_size(*rest);
    if (size != 0 && rest->compare(0, 12, "HTTP/1.1 100") == 0) {
      rest->erase(0, size);
      continue;
    }
    if (size != 0) {
      *answer = rest->substr(0, size);
      rest->erase(0, size);
      return "";
    }
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n > 0) rest->append(buffer, static_cast<size_t>(n));
    if (n == 0) return "closed";
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == ECONNRESET ? "reset" : errno == EAGAIN ? "timeout" : strerror(errno);
  }
}

// What the echo server's answer shows: "echo" if it holds the very bytes of `request`, with at most
// one x-filibuster field more; "status NNN" for another status; else "wrong bytes".
inline std::string judge(const std::string& request, const std::string& answer) {
  if (answer.compare(0, 13, "HTTP/1.1 200 ") != 0) return "status " + answer.substr(9, 3);
  std::string echoed = answer.substr(answer.find("\r\n\r\n") + 4);
  const size_t ours = echoed.find("\r\nx-filibuster: ");
  if (ours != std::string::npos) echoed.erase(ours, echoed.find("\r\n", ours + 2) - ours);
  return echoed == request ? "echo" : "wrong bytes";
}

// A connection of its own for one request. What came, in the words above, or "refused".
inline std::string one_request(int port, int n) {
  const int fd = connect_to(port);
  if (fd < 0) return errno == ECONNREFUSED ? "refused" : strerror(errno);
  std::string rest, answer, problem = "reset";
  if (send_all(fd, whole_request(n))) problem = receive_answer(fd, &rest, &answer);
  close(fd);
  return problem.empty() ? judge(whole_request(n), answer) : problem;
}
