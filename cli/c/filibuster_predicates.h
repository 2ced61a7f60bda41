/* Fault injection predicates for functional tests in C and C++. One file, POSIX and the C library only:
 * copy it.
 *
 *   filibuster_question question = {.service = "movies"};
 *   int expected = filibuster_was_fault_injected(&question) == 1 ? 503 : 200;
 *
 * In C++, where it throws std::runtime_error in place of -1:
 *
 *   const int expected = filibuster::was_fault_injected({.service = "movies"}) ? 503 : 200;
 *
 * Under `filibuster run` the daemon is asked about the running execution. Otherwise nothing is ever
 * injected, and the answer is no. */
#ifndef FILIBUSTER_PREDICATES_H
#define FILIBUSTER_PREDICATES_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#ifdef __cplusplus
#include <stdexcept>
#endif

/* A member that is NULL matches anything. In `path` and `grpc`, '*' and '?' match. */
typedef struct {
  const char *service, *method, *path;
  const char* fault;     /* "refused", "status:503", "grpc:UNAVAILABLE", ... */
  const char* grpc;      /* "shop.CartService/GetCart", or its service alone */
  const char* arguments; /* a JSON object of fields of its request: {"code": "DAILY"} */
} filibuster_question;

/* Why the last question of this thread had no answer. */
static inline char* filibuster_problem(void) {
  static __thread char text[512];
  return text;
}

static inline int filibuster_no_answer(const char* why) {
  snprintf(filibuster_problem(), 512, "filibuster's daemon did not answer: %s", why);
  return -1;
}

/* Appends "&name=value", with what is not plain in a query escaped (RFC 3986). 0: there is no room. */
static inline int filibuster_append(char* out, size_t room, const char* name, const char* value) {
  static const char digits[] = "0123456789ABCDEF";
  size_t at = strlen(out);
  if (value == NULL) return 1;
  if (at + strlen(name) + 3 * strlen(value) + 3 > room) return 0;
  at += (size_t)sprintf(out + at, "%c%s=", strchr(out, '?') == NULL ? '?' : '&', name);
  for (; *value != '\0'; ++value) {
    const unsigned char c = (unsigned char)*value;
    const int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      strchr("-._~", c) != NULL;
    if (plain) {
      out[at++] = (char)c;
    } else {
      out[at++] = '%';
      out[at++] = digits[c >> 4];
      out[at++] = digits[c & 15];
    }
  }
  out[at] = '\0';
  return 1;
}

/* The connection to "http://127.0.0.1:PORT", or -1. */
static inline int filibuster_connect(const char* url) {
  struct sockaddr_in address;
  struct timeval patience = {30, 0};
  char host[64];
  int port = 0, fd;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  if (sscanf(url, "http://%63[0-9.]:%d", host, &port) != 2) return -1;
  address.sin_port = htons((unsigned short)port);
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) return -1;
  fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(fd, (struct sockaddr*)&address, sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

/* 1: a fault was injected into such an RPC; 0: none was, or this is no execution of Filibuster; -1: the
 * daemon did not answer, or did not understand the question (filibuster_problem() says why). A guess
 * would make the test's verdict worthless, so -1 should fail the test. */
static inline int filibuster_was_fault_injected(const filibuster_question* question) {
  const char* const url = getenv("FILIBUSTER_URL");
  const char* const token = getenv("FILIBUSTER_TOKEN");
  char request[8192] = "GET /v1/fault-injected", answer[8192];
  size_t size = 0;
  ssize_t got;
  const char* body;
  int fd;
  if (url == NULL || *url == '\0') return 0;
  if (!filibuster_append(request, sizeof request - 512, "service", question->service) ||
      !filibuster_append(request, sizeof request - 512, "method", question->method) ||
      !filibuster_append(request, sizeof request - 512, "path", question->path) ||
      !filibuster_append(request, sizeof request - 512, "fault", question->fault) ||
      !filibuster_append(request, sizeof request - 512, "grpc", question->grpc) ||
      !filibuster_append(request, sizeof request - 512, "arguments", question->arguments))
    return filibuster_no_answer("the question is too long");
  snprintf(request + strlen(request), 512,
           " HTTP/1.1\r\nHost: %.64s\r\nAuthorization: Bearer %.128s\r\nConnection: close\r\n\r\n",
           url + strlen("http://"), token == NULL ? "" : token);
  fd = filibuster_connect(url);
  if (fd < 0) return filibuster_no_answer("no connection");
  for (size_t sent = 0; sent < strlen(request);) {
    const ssize_t one = send(fd, request + sent, strlen(request) - sent, MSG_NOSIGNAL);
    if (one <= 0) {
      close(fd);
      return filibuster_no_answer("the question could not be sent");
    }
    sent += (size_t)one;
  }
  while (size < sizeof answer - 1 &&
         (got = recv(fd, answer + size, sizeof answer - 1 - size, 0)) > 0)
    size += (size_t)got;
  close(fd);
  answer[size] = '\0';
  body = strstr(answer, "\r\n\r\n");
  if (body == NULL || strncmp(answer, "HTTP/1.", 7) != 0) return filibuster_no_answer("no answer");
  if (strncmp(answer + 8, " 200", 4) != 0) return filibuster_no_answer(body + 4);
  if (strstr(body, "\"injected\":true") != NULL) return 1;
  return strstr(body, "\"injected\":false") != NULL ? 0 : filibuster_no_answer(body + 4);
}

#ifdef __cplusplus
namespace filibuster {
inline bool was_fault_injected(const filibuster_question& question = filibuster_question()) {
  const int answer = filibuster_was_fault_injected(&question);
  if (answer < 0) throw std::runtime_error(filibuster_problem());
  return answer == 1;
}
}  // namespace filibuster
#endif

#endif
