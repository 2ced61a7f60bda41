// How deep functions that move bytes change the stack below their caller: with and without us, in the clear, over OpenSSL and over
// GnuTLS.
//
//   stack_depth serve CLEAR_PORT TLS_PORT CERT KEY FILE
//   stack_depth ask CLEAR_PORT TLS_PORT FILE
//   stack_depth handler CLEAR_PORT TLS_PORT FILE    the same as ask, by a handler on a signal stack
//
// Appends to FILE a line for each function: where it was called, its name, bytes. The stack is painted below the call, and looked at behind it.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <type_traits>

namespace {

constexpr uint64_t kPaint = 0xA5C3'96E7'1D2B'8F40;
constexpr size_t kStack = 512 * 1024;
// What is painted: more than any of these functions needs, within a stack that has `t_room` below.
constexpr size_t kMostPainted = 96 * 1024;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "stack_depth: %s: %s\n", what, std::strerror(errno));
  std::_Exit(1);
}

// The lowest address of the stack that this thread, or this handler, runs on.
thread_local char* t_lowest = nullptr;

// Inlined into who calls: nothing below the stack pointer belongs to it.
__attribute__((always_inline)) inline uint64_t* stack_pointer() {
  uint64_t* pointer;
#if defined(__x86_64__)
  asm volatile("mov %%rsp, %0" : "=r"(pointer));
#else
  asm volatile("mov %0, sp" : "=r"(pointer));
#endif
  return pointer;
}

__attribute__((noinline)) size_t depth_of(void (*call)(void*), void* argument) {
  uint64_t* const top = stack_pointer();
  const size_t room = static_cast<size_t>(reinterpret_cast<char*>(top) - t_lowest);
  uint64_t* const bottom = top - std::min(room, kMostPainted) / sizeof *top;
  for (volatile uint64_t* word = bottom; word != top; ++word) *word = kPaint;
  call(argument);
  const volatile uint64_t* word = bottom;
  while (word != top && *word == kPaint) ++word;
  if (word == bottom) fail("all of the painted stack was changed");
  return static_cast<size_t>(reinterpret_cast<char*>(top) -
                             reinterpret_cast<char*>(const_cast<uint64_t*>(word)));
}

class Depths {
 public:
  explicit Depths(const char* place) : place_(place) {}
  template <typename Call>
  auto of(const char* name, Call call) {
    struct Work {
      Call* call;
      std::invoke_result_t<Call> result;
      int error;
    } work{&call, {}, 0};
    const size_t depth = depth_of(
        [](void* argument) {
          auto* w = static_cast<Work*>(argument);
          w->result = (*w->call)();
          w->error = errno;
        },
        &work);
    depths_[name] = std::max(depths_[name], depth);
    errno = work.error;
    return work.result;
  }
  void append_to(const char* file) const {
    std::string lines;
    for (const auto& [name, depth] : depths_)
      lines += std::string(place_) + " " + name + " " + std::to_string(depth) + "\n";
    const int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size()))
      fail(file);
    close(fd);
  }

 private:
  const char* place_;
  std::map<std::string, size_t> depths_;
};

// Runs `work` in a thread whose stack we know.
template <typename Work>
void on_a_thread(const Work& work, bool wait) {
  auto* mine = new Work(work);
  void* stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) fail("mmap");
  struct Start {
    Work* work;
    char* lowest;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, kStack);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    auto* start = static_cast<Start*>(argument);
    t_lowest = start->lowest;
    (*start->work)();
    return nullptr;
  };
  if (pthread_create(&thread, &attributes, run, new Start{mine, static_cast<char*>(stack)}) != 0)
    fail("pthread_create");
  if (wait)
    pthread_join(thread, nullptr);
  else
    pthread_detach(thread);
}

sockaddr_in address_of(const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Is the message whole? Its bodies are short, and have a length.
bool is_whole(const std::string& text) {
  const size_t end = text.find("\r\n\r\n");
  const size_t length = text.find("Content-Length: ");
  return end != std::string::npos && length != std::string::npos &&
         text.size() >= end + 4 + std::strtoul(text.c_str() + length + 16, nullptr, 10);
}

// --- in the clear ---------------------------------------------------------------------------------

ssize_t put(Depths& depths, int fd, const std::string& text, int how) {
  iovec piece{const_cast<char*>(text.data()), text.size()};
  switch (how % 4) {
    case 0:
      return depths.of("send", [&] { return send(fd, text.data(), text.size(), MSG_NOSIGNAL); });
    case 1:
      return depths.of("write", [&] { return write(fd, text.data(), text.size()); });
    case 2:
      return depths.of("writev", [&] { return writev(fd, &piece, 1); });
    default: {
      msghdr message{};
      message.msg_iov = &piece;
      message.msg_iovlen = 1;
      return depths.of("sendmsg", [&] { return sendmsg(fd, &message, MSG_NOSIGNAL); });
    }
  }
}

ssize_t get(Depths& depths, int fd, char* buffer, size_t size, int how) {
  iovec piece{buffer, size};
  switch (how % 4) {
    case 0:
      return depths.of("recv", [&] { return recv(fd, buffer, size, 0); });
    case 1:
      return depths.of("read", [&] { return read(fd, buffer, size); });
    case 2:
      return depths.of("readv", [&] { return readv(fd, &piece, 1); });
    default: {
      msghdr message{};
      message.msg_iov = &piece;
      message.msg_iovlen = 1;
      return depths.of("recvmsg", [&] { return recvmsg(fd, &message, 0); });
    }
  }
}

// Waits as long as a client does that gives up.
bool is_readable(Depths& depths, int fd) {
  pollfd ready{fd, POLLIN, 0};
  return depths.of("poll", [&] { return poll(&ready, 1, 300); }) == 1;
}

// `read(buffer, size)`: as recv.
template <typename Read>
bool answered(const Read& read) {
  std::string answer;
  char buffer[700];
  while (!is_whole(answer)) {
    const ssize_t got = read(buffer, sizeof buffer);
    if (got <= 0) return false;
    answer.append(buffer, static_cast<size_t>(got));
  }
  return true;
}

const std::string kHost = " HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n";
std::string request(const char* path) {
  return std::string("POST ") + path + kHost + "Content-Length: 5\r\n\r\nhello";
}

int connected(Depths& depths, const char* port) {
  const sockaddr_in address = address_of(port);
  const int fd = depths.of("socket", [] { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
  const int result = depths.of("connect", [&] {
    return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  });
  // No handshake waits for ever.
  const timeval most{0, 300'000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  if (result == 0) return fd;
  depths.of("close", [&] { return close(fd); });
  return -1;
}

void ask_in_the_clear(Depths& depths, const char* port) {
  for (int way = 0; way < 4; ++way) {
    const int fd = connected(depths, port);
    if (fd < 0) continue;
    for (int n = 0; n < 2; ++n) {
      const std::string text = request(n == 0 ? "/clear" : "/clear/again");
      if (put(depths, fd, text, way) <= 0 || !answered([&](char* buffer, size_t size) {
            return is_readable(depths, fd) ? get(depths, fd, buffer, size, way) : -1;
          }))
        break;
    }
    depths.of("shutdown", [&] { return shutdown(fd, SHUT_WR); });
    depths.of("close", [&] { return close(fd); });
  }
}

// --- OpenSSL ---------------------------------------------------------------------------------------

void ask_over_openssl(Depths& depths, SSL_CTX* context, const char* port) {
  const int fd = connected(depths, port);
  if (fd < 0) return;
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  if (depths.of("SSL_connect", [&] { return SSL_connect(ssl); }) == 1) {
    for (int n = 0; n < 2; ++n) {
      const std::string text = request(n == 0 ? "/openssl" : "/openssl/again");
      const int size = static_cast<int>(text.size());
      if (depths.of("SSL_write", [&] { return SSL_write(ssl, text.data(), size); }) <= 0) break;
      if (!answered([&](char* buffer, size_t room) -> ssize_t {
            const auto peek = [&] { return SSL_peek(ssl, buffer, 1); };
            if (depths.of("SSL_pending", [&] { return SSL_pending(ssl); }) == 0 &&
                (!is_readable(depths, fd) || depths.of("SSL_peek", peek) <= 0))
              return -1;
            return depths.of("SSL_read",
                             [&] { return SSL_read(ssl, buffer, static_cast<int>(room)); });
          }))
        break;
    }
    depths.of("SSL_shutdown", [&] { return SSL_shutdown(ssl); });
  }
  depths.of("SSL_free", [&] { return SSL_free(ssl), 0; });
  depths.of("close", [&] { return close(fd); });
}

// Connections that end as they should not: a library takes more of the stack then, whoever asks.
void end_badly(SSL_CTX* context, const char* port) {
  for (const bool reset : {false, true}) {
    Depths none("");
    const int fd = connected(none, port);
    if (fd < 0) continue;
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    SSL_connect(ssl);
    const linger now{reset ? 1 : 0, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    // The server finds the end in any case: a connection that is closed with bytes unread is reset.
    char unread[700];
    if (!reset && shutdown(fd, SHUT_WR) == 0)
      while (recv(fd, unread, sizeof unread, 0) > 0) {
      }
    SSL_free(ssl);
    close(fd);
  }
}

// --- GnuTLS ----------------------------------------------------------------------------------------

void ask_over_gnutls(Depths& depths, gnutls_certificate_credentials_t credentials,
                     const char* port) {
  const int fd = connected(depths, port);
  if (fd < 0) return;
  gnutls_session_t session;
  depths.of("gnutls_init", [&] { return gnutls_init(&session, GNUTLS_CLIENT); });
  gnutls_set_default_priority(session);
  gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
  gnutls_transport_set_int(session, fd);
  int done = GNUTLS_E_INTERRUPTED;
  while (done == GNUTLS_E_INTERRUPTED)
    done = depths.of("gnutls_handshake", [&] { return gnutls_handshake(session); });
  if (done == 0) {
    for (int n = 0; n < 2; ++n) {
      const std::string text = request(n == 0 ? "/gnutls" : "/gnutls/again");
      if (depths.of("gnutls_record_send",
                    [&] { return gnutls_record_send(session, text.data(), text.size()); }) <= 0)
        break;
      if (!answered([&](char* buffer, size_t room) -> ssize_t {
            for (;;) {
              if (gnutls_record_check_pending(session) == 0 && !is_readable(depths, fd)) return -1;
              const ssize_t got = depths.of(
                  "gnutls_record_recv", [&] { return gnutls_record_recv(session, buffer, room); });
              // A ticket of the session is no data.
              if (got != GNUTLS_E_AGAIN && got != GNUTLS_E_INTERRUPTED) return got;
            }
          }))
        break;
    }
    depths.of("gnutls_bye", [&] { return gnutls_bye(session, GNUTLS_SHUT_WR); });
  }
  depths.of("gnutls_deinit", [&] { return gnutls_deinit(session), 0; });
  depths.of("close", [&] { return close(fd); });
}

void ask_all(Depths& depths, char** arguments) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_default_verify_paths(context);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  gnutls_certificate_credentials_t credentials;
  gnutls_certificate_allocate_credentials(&credentials);
  ask_in_the_clear(depths, arguments[0]);
  ask_over_openssl(depths, context, arguments[1]);
  ask_over_gnutls(depths, credentials, arguments[1]);
  end_badly(context, arguments[1]);
}

// --- a handler on a signal stack -------------------------------------------------------------------

char** g_arguments;

void ask_from_handler(int) {
  stack_t now;
  if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_ONSTACK) == 0) fail("sigaltstack");
  char* const before = t_lowest;
  t_lowest = static_cast<char*>(now.ss_sp);
  Depths depths("handler");
  ask_in_the_clear(depths, g_arguments[0]);
  depths.append_to(g_arguments[2]);
  t_lowest = before;
}

void ask_on_a_signal_stack(char** arguments) {
  g_arguments = arguments;
  stack_t stack{};
  // What the kernel needs for its frame, what a program may count on (SIGSTKSZ was 8 KiB), and what this one needs for itself.
  stack.ss_size = static_cast<size_t>(sysconf(_SC_MINSIGSTKSZ)) + 16 * 1024;
  stack.ss_size = (stack.ss_size + 4095) & ~size_t{4095};
  stack.ss_sp =
      mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct sigaction action {};
  action.sa_handler = ask_from_handler;
  action.sa_flags = SA_ONSTACK;
  if (sigaltstack(&stack, nullptr) != 0 || sigaction(SIGUSR1, &action, nullptr) != 0)
    fail("sigaltstack");
  pthread_kill(pthread_self(), SIGUSR1);
}

// --- the server ------------------------------------------------------------------------------------

template <typename Read, typename Write>
void serve_messages(const Read& read, const Write& write) {
  std::string text;
  char buffer[700];
  for (;;) {
    const ssize_t got = read(buffer, sizeof buffer);
    if (got <= 0) return;
    text.append(buffer, static_cast<size_t>(got));
    if (!is_whole(text)) continue;
    text.clear();
    if (write(std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")) <= 0) return;
  }
}

void serve_one(SSL_CTX* context, int fd, int way, const char* file) {
  Depths depths("server");
  if (context == nullptr) {
    serve_messages([&](char* buffer, size_t size) { return get(depths, fd, buffer, size, way); },
                   [&](const std::string& answer) { return put(depths, fd, answer, way); });
  } else {
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    if (depths.of("SSL_accept", [&] { return SSL_accept(ssl); }) == 1) {
      serve_messages(
          [&](char* buffer, size_t size) {
            return depths.of("SSL_read",
                             [&] { return SSL_read(ssl, buffer, static_cast<int>(size)); });
          },
          [&](const std::string& answer) {
            return depths.of("SSL_write", [&] {
              return SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
            });
          });
    }
    depths.of("SSL_free", [&] { return SSL_free(ssl), 0; });
  }
  depths.of("close", [&] { return close(fd); });
  depths.append_to(file);
}

void serve_port(const char* port, SSL_CTX* context, const char* file) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = address_of(port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 64) != 0)
    fail("listen");
  for (int way = 0;; ++way) {
    int fd = -1;
    Depths depths("server");
    fd = depths.of("accept4", [&] { return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC); });
    if (fd < 0) fail("accept");
    depths.append_to(file);
    on_a_thread([=] { serve_one(context, fd, way, file); }, false);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  if (argc == 7 && std::strcmp(argv[1], "serve") == 0) {
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context, argv[4]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, argv[5], SSL_FILETYPE_PEM) != 1)
      fail("certificate");
    on_a_thread([=] { serve_port(argv[3], context, argv[6]); }, false);
    on_a_thread([=] { serve_port(argv[2], nullptr, argv[6]); }, true);
  }
  if (argc == 5 && std::strcmp(argv[1], "ask") == 0) {
    on_a_thread(
        [=] {
          Depths depths("client");
          ask_all(depths, argv + 2);
          depths.append_to(argv[4]);
        },
        true);
    return 0;
  }
  if (argc == 5 && std::strcmp(argv[1], "handler") == 0) {
    on_a_thread([=] { ask_on_a_signal_stack(argv + 2); }, true);
    return 0;
  }
  return 2;
}
