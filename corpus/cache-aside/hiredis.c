// hiredis PORT: the shop on hiredis, one request after the other. It connects when the cache is needed, keeps the connection,
// and gives it up at its first error. CACHE=host:port, CATALOGUE_URL=http://127.0.0.1:port.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { kCacheTimeoutMs = 300, kCatalogueTimeoutMs = 500, kKept = 60, kText = 4096 };

// --- HTTP, as much of it as is needed: one request on each connection ---------------------------

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Reads a head and what its Content-Length says follows; false: that did not come whole, or there is no room for it.
static bool read_message(int fd, char* text) {
  size_t size = 0, whole = kText - 1;
  while (size < whole) {
    const ssize_t got = read(fd, text + size, whole - size);
    if (got <= 0) return false;
    size += (size_t)got;
    text[size] = '\0';
    const char* body = strstr(text, "\r\n\r\n");
    if (body == NULL) continue;
    const char* length = strcasestr(text, "\r\nContent-Length:");
    const bool known = length != NULL && length < body;
    whole = (size_t)(body + 4 - text) + (known ? strtoul(length + 17, NULL, 10) : 0);
    if (whole > kText - 1) return false;
  }
  return strstr(text, "\r\n\r\n") != NULL;
}

static bool write_text(int fd, const char* text) {
  for (size_t left = strlen(text); left > 0;) {
    const ssize_t put = write(fd, text, left);
    if (put < 0) return false;
    text += put;
    left -= (size_t)put;
  }
  return true;
}

static void answer(int fd, const char* status, const char* body) {
  char text[2 * kText];
  snprintf(text, sizeof text,
           "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
           strlen(body), body);
  write_text(fd, text);
}

static int catalogue_port;

// What the catalogue knows of a product; false: nothing.
static bool ask(unsigned number, char* product) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct timeval timeout = {.tv_usec = kCatalogueTimeoutMs * 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  const struct sockaddr_in address = loopback(catalogue_port);
  char request[256], text[kText] = "";
  snprintf(request, sizeof request, "GET /products/%u HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n", number,
           catalogue_port);
  const bool read_all = connect(fd, (const struct sockaddr*)&address, sizeof address) == 0 &&
                        write_text(fd, request) && read_message(fd, text);
  close(fd);
  const char* body = strstr(text, "\r\n\r\n");
  if (!read_all || body == NULL || strncmp(text, "HTTP/1.1 200 ", 13) != 0) return false;
  strcpy(product, body + 4);
  return true;
}

// --- the cache ----------------------------------------------------------------------------------

static redisContext* cache;

// What Redis answers to a command, which the caller frees; NULL: an error, of whatever kind. Of a connection that failed
// nothing more is to be had.
#define ASK_CACHE(...) checked(connected() ? redisCommand(cache, __VA_ARGS__) : NULL)

static bool connected(void) {
  if (cache != NULL) return true;
  char host[64];
  int port = 0;
  if (sscanf(getenv("CACHE"), "%63[^:]:%d", host, &port) != 2) return false;
  const struct timeval timeout = {.tv_usec = kCacheTimeoutMs * 1000};
  cache = redisConnectWithTimeout(host, port, timeout);
  if (cache != NULL && cache->err == 0) redisSetTimeout(cache, timeout);
  return cache != NULL && cache->err == 0;
}

static redisReply* checked(redisReply* reply) {
  if (cache != NULL && cache->err != 0) {
    redisFree(cache);
    cache = NULL;
  }
  if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
    freeReplyObject(reply);
    return NULL;
  }
  return reply;
}

// -1: not known.
static long long number_of(redisReply* reply) {
  const long long number = reply != NULL && reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
  freeReplyObject(reply);
  return number;
}

static long long fill(unsigned number, const char* product) {
  redisReply* reply = ASK_CACHE("SET product:%u %s EX %d", number, product, kKept);
  if (reply == NULL) return -1;
  freeReplyObject(reply);
  return number_of(ASK_CACHE("INCR visits:%u", number));
}

// The product, and how often it was asked for (-1: not known); false: neither the cache nor the catalogue has it. A request
// to which the cache failed once asks it nothing more.
static bool look_up(unsigned number, char* product, long long* visits) {
  *visits = -1;
  redisReply* reply = ASK_CACHE("GET product:%u", number);
  const bool there = reply != NULL;
  const bool found = there && reply->type == REDIS_REPLY_STRING && reply->len < kText;
  if (found) memcpy(product, reply->str, reply->len + 1);
  if (there) freeReplyObject(reply);
  if (!found && !ask(number, product)) return false;
  if (found) *visits = number_of(ASK_CACHE("INCR visits:%u", number));
  else if (there) *visits = fill(number, product);
  return true;
}

// ------------------------------------------------------------------------------------------------

static void serve(int fd) {
  char request[kText], product[kText], body[kText + 64], visits_text[24] = "null";
  unsigned number = 0;
  long long visits = -1;
  if (!read_message(fd, request)) return;
  if (strncmp(request, "GET /health ", 12) == 0) return answer(fd, "200 OK", "{}");
  if (sscanf(request, "GET /product/%u ", &number) != 1) return answer(fd, "404 Not Found", "{}");
  if (!look_up(number, product, &visits)) return answer(fd, "503 Service Unavailable", "{}");
  if (visits >= 0) snprintf(visits_text, sizeof visits_text, "%lld", visits);
  snprintf(body, sizeof body, "{\"product\": %s, \"visits\": %s}", product, visits_text);
  answer(fd, "200 OK", body);
}

int main(int argc, char** argv) {
  const char* url = getenv("CATALOGUE_URL");
  if (argc != 2 || getenv("CACHE") == NULL || url == NULL || sscanf(url, "http://127.0.0.1:%d", &catalogue_port) != 1) {
    fprintf(stderr, "usage: CACHE=HOST:PORT CATALOGUE_URL=http://127.0.0.1:PORT %s PORT\n", argv[0]);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  const struct sockaddr_in address = loopback(atoi(argv[1]));
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (const struct sockaddr*)&address, sizeof address) != 0 || listen(listener, 16) != 0) {
    perror("listen");
    return 1;
  }
  for (;;) {
    const int fd = accept(listener, NULL, NULL);
    if (fd < 0) continue;
    serve(fd);
    close(fd);
  }
}
