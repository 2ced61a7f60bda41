// Many threads, connections that are kept, writes and reads of random sizes, over OpenSSL; every byte is compared.
//
//   stress serve PORT CERT KEY
//   stress ask PORT AUTHORITY THREADS REQUESTS SEED    exits with 0 if every answer is what was asked for
//
// `-` in the place of CERT and of AUTHORITY: in the clear. A request is POST /THREAD/N with a body; its answer is the body with every bit
// turned. Every other connection, on both sides, does not block, and waits by poll.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Random = std::minstd_rand;

// Ends the thread that it happens to: the others use the library still.
[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "stress: %s (errno %s)\n", what, std::strerror(errno));
  ERR_print_errors_fp(stderr);
  throw std::runtime_error(what);
}

class Channel {
 public:
  Channel(SSL* ssl, int fd, bool blocks, unsigned seed) : ssl_(ssl), fd_(fd), random_(seed) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!blocks) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (ssl == nullptr) return;
    SSL_set_fd(ssl, fd);
    SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  }
  ~Channel() {
    SSL_free(ssl_);
    close(fd_);
  }
  Channel(const Channel&) = delete;

  void handshake(bool client) {
    while (ssl_ != nullptr) {
      const int done = client ? SSL_connect(ssl_) : SSL_accept(ssl_);
      if (done == 1) return;
      wait(done, "handshake");
    }
  }

  void write(const std::string& bytes) {
    for (size_t at = 0; at < bytes.size();) {
      const size_t most = std::min(bytes.size() - at, size_t{1} + random_() % 5000);
      size_t written = 0;
      // A retry comes with the same bytes at another place, which the mode allows.
      std::string moved = bytes.substr(at, most);
      if (ssl_ == nullptr) {
        const ssize_t sent = send(fd_, moved.data(), moved.size(), MSG_NOSIGNAL);
        if (sent > 0)
          at += static_cast<size_t>(sent);
        else
          wait_for(POLLOUT, "send");
        continue;
      }
      while (SSL_write_ex(ssl_, moved.data(), moved.size(), &written) != 1) {
        wait(0, "write");
        moved = std::string(moved);
      }
      at += written;
    }
  }

  // False: the peer has closed.
  bool read(std::string* to) {
    char buffer[6000];
    const size_t most = 1 + random_() % sizeof buffer;
    while (ssl_ == nullptr) {
      const ssize_t got = recv(fd_, buffer, most, 0);
      if (got >= 0) {
        to->append(buffer, static_cast<size_t>(got));
        return got > 0;
      }
      wait_for(POLLIN, "recv");
    }
    for (;;) {
      if (random_() % 8 == 0) {
        char seen;
        const int peeked = SSL_peek(ssl_, &seen, 1);
        if (peeked == 1 && SSL_pending(ssl_) < 1) fail("what was peeked at is not pending");
      }
      const int got = SSL_read(ssl_, buffer, static_cast<int>(most));
      if (got > 0) {
        to->append(buffer, static_cast<size_t>(got));
        return true;
      }
      const int error = SSL_get_error(ssl_, got);
      if (error == SSL_ERROR_ZERO_RETURN) return false;
      wait(got, "read");
    }
  }

  // Reads one message. False: the peer has closed before it.
  bool message(std::string* head, std::string* body) {
    for (;;) {
      const size_t end = left_.find("\r\n\r\n");
      if (end != std::string::npos) {
        *head = left_.substr(0, end);
        const size_t length = head->find("Content-Length: ");
        const size_t size = std::strtoul(head->c_str() + length + 16, nullptr, 10);
        if (left_.size() >= end + 4 + size) {
          *body = left_.substr(end + 4, size);
          left_.erase(0, end + 4 + size);
          return true;
        }
      }
      if (!read(&left_)) return false;
    }
  }

  void shut() {
    if (ssl_ != nullptr) SSL_shutdown(ssl_);
  }

 private:
  void wait(int result, const char* what) {
    const int error = SSL_get_error(ssl_, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) fail(what);
    errno = EAGAIN;
    wait_for(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, what);
  }

  void wait_for(short events, const char* what) const {
    if (errno != EAGAIN) fail(what);
    pollfd ready{fd_, events, 0};
    if (poll(&ready, 1, 60'000) != 1) fail("poll");
  }

  SSL* ssl_;
  int fd_;
  Random random_;
  std::string left_;
};

sockaddr_in address_of(const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string turned(std::string body) {
  for (char& c : body) c = static_cast<char>(~c);
  return body;
}

SSL* new_ssl(SSL_CTX* context) {
  return context != nullptr ? SSL_new(context) : nullptr;
}

void serve_one(SSL_CTX* context, int fd, unsigned number) try {
  Channel channel(new_ssl(context), fd, number % 2 == 0, number);
  channel.handshake(false);
  std::string head, body;
  while (channel.message(&head, &body))
    channel.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                  turned(body));
} catch (const std::runtime_error&) {
}

int serve(char** arguments) {
  const bool clear = std::strcmp(arguments[1], "-") == 0;
  SSL_CTX* context = clear ? nullptr : SSL_CTX_new(TLS_server_method());
  if (!clear && (SSL_CTX_use_certificate_chain_file(context, arguments[1]) != 1 ||
                 SSL_CTX_use_PrivateKey_file(context, arguments[2], SSL_FILETYPE_PEM) != 1))
    fail("certificate");
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = address_of(arguments[0]);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 512) != 0)
    fail("listen");
  for (unsigned number = 0;; ++number) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) fail("accept");
    std::thread([=] {
      // A connection that is opened only to see whether the server is ready says nothing.
      char first;
      if (recv(fd, &first, 1, MSG_PEEK) != 1) {
        close(fd);
        return;
      }
      serve_one(context, fd, number);
    }).detach();
  }
}

std::string random_body(Random* random) {
  // Most are small; some are longer than what is held, and than a record.
  const size_t most = (*random)() % 16 == 0 ? 200'000 : 4'000;
  std::string body((*random)() % most, '\0');
  for (char& c : body) c = static_cast<char>((*random)());
  return body;
}

int ask(char** arguments) {
  const sockaddr_in address = address_of(arguments[0]);
  const bool clear = std::strcmp(arguments[1], "-") == 0;
  SSL_CTX* context = clear ? nullptr : SSL_CTX_new(TLS_client_method());
  if (!clear && SSL_CTX_load_verify_locations(context, arguments[1], nullptr) != 1)
    fail("authority");
  if (!clear) SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  const unsigned count = static_cast<unsigned>(std::atoi(arguments[2]));
  const int requests = std::atoi(arguments[3]);
  const unsigned seed = static_cast<unsigned>(std::atoi(arguments[4]));
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  const auto ask_one = [&](unsigned t) {
    Random random(seed * 1000 + t + 1);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      fail("connect");
    Channel channel(new_ssl(context), fd, t % 4 < 2, seed + t);
    channel.handshake(true);
    for (int n = 0; n < requests; ++n) {
      const std::string body = random_body(&random);
      channel.write("POST /" + std::to_string(t) + "/" + std::to_string(n) +
                    " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
      std::string head, answer;
      if (!channel.message(&head, &answer) || answer != turned(body)) {
        ++bad;
        std::fprintf(stderr, "stress: /%u/%d: %zu bytes asked, %zu answered, and not those\n", t, n,
                     body.size(), answer.size());
        return;
      }
    }
    channel.shut();
  };
  for (unsigned t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      try {
        ask_one(t);
      } catch (const std::runtime_error&) {
        ++bad;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return bad == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    if (argc == 5 && std::strcmp(argv[1], "serve") == 0) return serve(argv + 2);
    if (argc == 7 && std::strcmp(argv[1], "ask") == 0) return ask(argv + 2);
  } catch (const std::runtime_error&) {
    return 1;  // fail() has said why
  }
  return 2;
}
