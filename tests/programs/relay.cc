// A service: calls each of its dependencies in turn, and the URL `to` of the query if there is one, then answers 200. What
// tests/integration/apps/relay.py is, with the same options, where the interpreter is not what is tested.
//
// relay PORT [--call URL]... what failing calls lead to: [--on-failure answer503|answer500|ignore|drop|abort|segv|exit]
// [--tolerate N failing calls] [--timeout S, 0: none] [--again: a failed call is made a second time]
// [--lingers: it closes its connections first, and does not set SO_REUSEADDR] [--dated: its answers to failures say when]
// [--heartbeat URL: called from a thread of its own, all the time; each request waits for a call that is made meanwhile]
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <vector>

#include "tests/programs/asking.h"

namespace {

struct Options {
  int port = 0;
  std::vector<std::string> calls;
  std::string on_failure = "answer503", heartbeat;
  int tolerate = 0, timeout_ms = 1000;
  bool again = false, lingers = false, dated = false;
} options;

std::atomic<unsigned> beats{0};  // calls of the heartbeat that have ended

// Did the call succeed?
[[gnu::noinline]] bool call(const std::string& url) {
  const Answer answer = get(url, options.timeout_ms);
  return answer.problem.empty() && answer.status < 400;
}

// The status of the answer to a request whose calls failed, or 0: the caller gets none.
int fail() {
  if (options.on_failure == "abort") abort();
  if (options.on_failure == "segv") {
    printf("about to crash\n");
    fflush(stdout);
    raise(SIGSEGV);  // of this thread: it goes no further
  }
  if (options.on_failure == "exit") _exit(7);
  if (options.on_failure == "drop") {
    fprintf(stderr, "relay: the caller gets no answer\n");
    return 0;
  }
  return options.on_failure == "answer503" ? 503 : options.on_failure == "answer500" ? 500 : 200;
}

// Of a value in a query.
std::string decoded(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(strtoul(text.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    } else {
      plain += text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

// Those of the options, and each `to` of the query.
std::vector<std::string> calls_of(const std::string& target) {
  std::vector<std::string> urls = options.calls;
  for (size_t at = target.find('?'); at != std::string::npos;) {
    const size_t next = target.find('&', ++at);
    const std::string pair = target.substr(at, next == std::string::npos ? next : next - at);
    if (pair.size() > 3 && pair.compare(0, 3, "to=") == 0) urls.push_back(decoded(pair.substr(3)));
    at = next;
  }
  return urls;
}

const char* reason(int status) {
  return status == 200   ? "OK"
         : status == 500 ? "Internal Server Error"
         : status == 503 ? "Service Unavailable"
                         : "Not Implemented";
}

std::string date() {
  const time_t now = time(nullptr);
  tm parts;
  char text[64];
  strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
  return text;
}

std::string text_of(int status, const std::string& body, const std::string& fields) {
  return "HTTP/1.1 " + std::to_string(status) + " " + reason(status) +
         "\r\nServer: relay\r\nDate: " + date() + "\r\n" + fields + "\r\n" + body;
}

// Answers one request. False: the connection ends.
bool answer(int fd, const std::string& target) {
  // The second one that ends from now on began behind the first, and so within this request.
  const unsigned before = beats;
  while (!options.heartbeat.empty() && beats - before < 2) usleep(500);
  int failed = 0;
  for (const std::string& url : calls_of(target)) {
    bool good = call(url);
    if (!good && options.again) good = call(url);
    failed += good ? 0 : 1;
  }
  const int status = failed > options.tolerate ? fail() : 200;
  if (status == 0) return false;
  std::string body = "{\"failed\": " + std::to_string(failed);
  if (options.dated && status != 200) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char when[64];
    snprintf(when, sizeof when, ", \"when\": %lld.%06ld", static_cast<long long>(now.tv_sec),
             now.tv_nsec / 1000);
    body += when;
  }
  body += "}\n";
  // Head and body in one write. Where it lingers, only the end of the connection ends the answer.
  return send_all(fd, text_of(status, body,
                              options.lingers ? "Connection: close\r\n" : length_field(body))) &&
         !options.lingers;
}

// The requests of one connection. False: it ends.
bool serve_one(int fd, std::string& in) {
  char buffer[8192];
  bool continued = false;
  for (size_t size; (size = message_size(in)) == 0;) {
    const size_t end = in.find("\r\n\r\n");
    if (end != std::string::npos && !continued &&
        strcasecmp(field(in.substr(0, end + 2), "expect").c_str(), "100-continue") == 0) {
      continued = true;
      if (!send_all(fd, "HTTP/1.1 100 Continue\r\n\r\n")) return false;
    }
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    in.append(buffer, static_cast<size_t>(n));
  }
  const std::string request = in.substr(0, message_size(in));
  in.erase(0, request.size());
  const std::string head = request.substr(0, request.find("\r\n\r\n") + 2),
                    line = head.substr(0, head.find("\r\n"));
  const size_t first = line.find(' '), last = line.rfind(' ');
  const std::string method = line.substr(0, first), connection = field(head, "connection");
  if (first == last || (method != "GET" && method != "POST" && method != "PUT")) {
    send_all(fd, text_of(501, "", "Connection: close\r\nContent-Length: 0\r\n"));
    return false;
  }
  const bool kept = line.substr(last + 1) == "HTTP/1.1"
                        ? strcasecmp(connection.c_str(), "close") != 0
                        : strcasecmp(connection.c_str(), "keep-alive") == 0;
  return answer(fd, line.substr(first + 1, last - first - 1)) && kept;
}

void* serve(void* argument) {
  const int fd = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  std::string in;
  while (serve_one(fd, in)) continue;
  shutdown(fd, SHUT_WR);
  close(fd);
  return nullptr;
}

[[noreturn]] void* beat(void*) {
  for (;;) {
    call(options.heartbeat);
    ++beats;
    usleep(5000);
  }
}

[[noreturn]] void usage(const char* wrong) {
  fprintf(stderr, "relay: %s is not understood\nusage: relay PORT [option]..., see relay.cc\n",
          wrong);
  exit(2);
}

bool read_options(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name.compare(0, 2, "--") != 0) {
      options.port = atoi(argv[i]);
    } else if (name == "--again") {
      options.again = true;
    } else if (name == "--lingers") {
      options.lingers = true;
    } else if (name == "--dated") {
      options.dated = true;
    } else if (i + 1 == argc) {
      usage(argv[i]);
    } else {
      const char* value = argv[++i];
      if (name == "--call") {
        options.calls.push_back(value);
      } else if (name == "--on-failure") {
        options.on_failure = value;
      } else if (name == "--heartbeat") {
        options.heartbeat = value;
      } else if (name == "--tolerate") {
        options.tolerate = atoi(value);
      } else if (name == "--timeout") {
        options.timeout_ms = static_cast<int>(strtod(value, nullptr) * 1000);
      } else {
        usage(name.c_str());
      }
    }
  }
  return options.port != 0;
}

int listening() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  if (!options.lingers) setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(options.port));
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 128) != 0) {
    fprintf(stderr, "relay: port %d: %s\n", options.port, strerror(errno));
    exit(1);
  }
  return listener;
}

void start(void* (*run)(void*), void* argument) {
  pthread_t thread;
  const int error = pthread_create(&thread, nullptr, run, argument);
  if (error != 0) {
    fprintf(stderr, "relay: a thread cannot be started: %s\n", strerror(error));
    exit(1);
  }
  pthread_detach(thread);
}

}  // namespace

int main(int argc, char** argv) {
  if (!read_options(argc, argv)) usage("no port");
  signal(SIGPIPE, SIG_IGN);
  const int listener = listening();
  if (!options.heartbeat.empty()) {
    call(options.heartbeat);  // seen before any request is
    start(beat, nullptr);
  }
  for (;;) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) start(serve, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  }
}
