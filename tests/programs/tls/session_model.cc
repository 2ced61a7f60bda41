#include "tests/programs/tls/session_model.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/programs/tls/session_end.h"

namespace sessions {
namespace {

enum Operation : uint8_t {
  kRequest,
  kAnswer,
  kWrite,
  kWriteEx,
  kRead,
  kReadEx,
  kPeek,
  kPeekEx,
  kPending,
  kServerWrite,
  kServerRead,
  kServerPeek,
  kReady,
  kServerReady,
  kMoveOut,
  kMoveIn,
  kServerMoveOut,
  kServerMoveIn,
  kShutdown,
  kServerShutdown,
  kEndWrites,
  kServerEndWrites,
  kClose,
  kServerClose,
  kDrain,
  kStates,
};

SSL_CTX* g_client = nullptr;
SSL_CTX* g_server = nullptr;
int g_listener = -1;

void begin(int port) {
  std::signal(SIGPIPE, SIG_IGN);
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600L * 24 * 30);
  X509_set_pubkey(certificate, key);
  X509_sign(certificate, key, EVP_sha256());
  g_server = SSL_CTX_new(TLS_server_method());
  g_client = SSL_CTX_new(TLS_client_method());
  if (SSL_CTX_use_certificate(g_server, certificate) != 1 ||
      SSL_CTX_use_PrivateKey(g_server, key) != 1)
    wrong("begin", "certificate");
  g_listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(g_listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(g_listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(g_listener, 64) != 0)
    wrong("begin", "listen");
}

// What a byte of the sequence stands for: what ends a connection is rare.
constexpr Operation kTable[64] = {
    kRequest,      kRequest,         kRequest,      kRequest,       kRequest,       kWrite,
    kWrite,        kWrite,           kWrite,        kWriteEx,       kWriteEx,       kWriteEx,
    kServerRead,   kServerRead,      kServerRead,   kServerRead,    kServerRead,    kServerPeek,
    kServerPeek,   kAnswer,          kAnswer,       kAnswer,        kAnswer,        kServerWrite,
    kServerWrite,  kServerWrite,     kServerWrite,  kRead,          kRead,          kRead,
    kReadEx,       kReadEx,          kPeek,         kPeek,          kPeekEx,        kPending,
    kPending,      kReady,           kServerReady,  kMoveOut,       kMoveOut,       kMoveOut,
    kMoveIn,       kMoveIn,          kMoveIn,       kServerMoveOut, kServerMoveOut, kServerMoveOut,
    kServerMoveIn, kServerMoveIn,    kServerMoveIn, kDrain,         kDrain,         kDrain,
    kDrain,        kStates,          kStates,       kStates,        kShutdown,      kServerShutdown,
    kEndWrites,    kServerEndWrites, kClose,        kServerClose,
};

class Course {
 public:
  Course(uint8_t ways, int client, int server, Fault fault)
      : ways_(ways),
        fault_(fault),
        client_("client", g_client, client, (ways & kClientMemory) != 0, ways, true),
        server_("server", g_server, server, (ways & kServerMemory) != 0, ways, false) {
    client_.expect(fault);
    server_.expect(fault);
  }

  void handshake(size_t steps) {
    for (size_t i = 0; i < steps && (!client_.is_made() || !server_.is_made()); ++i) {
      (i % 2 == 0 ? client_ : server_).step_handshake();
      move_all();
    }
  }

  void step(uint8_t operation, uint8_t argument) {
    const size_t size = sizes(argument);
    switch (kTable[operation % 64]) {
      case kRequest:
        return add_request(size);
      case kAnswer:
        return add_answer(size);
      case kWrite:
        return client_.write(size, false);
      case kWriteEx:
        return client_.write(size, true);
      case kRead:
        client_.read(size, false, false, server_);
        return;
      case kReadEx:
        client_.read(size, true, false, server_);
        return;
      case kPeek:
        client_.read(size, false, true, server_);
        return;
      case kPeekEx:
        client_.read(size, true, true, server_);
        return;
      case kPending:
        client_.check_pending();
        return server_.check_pending();
      case kServerWrite:
        return server_.write(size, argument % 2 == 0);
      case kServerRead:
        server_.read(size, argument % 2 == 0, false, client_);
        return;
      case kServerPeek:
        server_.read(size, argument % 2 == 0, true, client_);
        return;
      case kReady:
        if (client_.is_open()) client_.is_readable();
        return;
      case kServerReady:
        if (server_.is_open()) server_.is_readable();
        return;
      case kMoveOut:
        client_.move_out(size);
        return;
      case kMoveIn:
        client_.move_in(size);
        return;
      case kServerMoveOut:
        server_.move_out(size);
        return;
      case kServerMoveIn:
        server_.move_in(size);
        return;
      case kShutdown:
        if (is_between(client_)) client_.shut_down();
        return;
      case kServerShutdown:
        server_.shut_down();
        return;
      case kEndWrites:
        if (is_between(client_)) client_.end_writes();
        return;
      case kServerEndWrites:
        server_.end_writes();
        return;
      case kClose:
        return client_.close_now();
      case kServerClose:
        return server_.close_now();
      case kDrain:
        drain();
        return;
      default:
        client_.check_states(server_);
        return server_.check_states(client_);
    }
  }

  // Everything that was written arrives, if nobody has broken the connection.
  bool finish() {
    drain();
    const bool faulted = client_.faulted() || fault_ != Fault::kNone;
    if (!faulted && !client_.lost() && !server_.lost() && client_.is_open() && server_.is_open()) {
      if (server_.read() != client_.written())
        wrong("server", missing(server_.read().size(), client_.written().size()));
      if (client_.read() != server_.written())
        wrong("client", missing(client_.read().size(), server_.written().size()));
    }
    return client_.faulted();
  }

 private:
  static bool misses(const End& end, const End& from) {
    return (end.may_read() && from.is_open() && end.read() != from.written()) ||
           (end.may_write() && end.waiting() > 0);
  }
  static std::string missing(size_t has, size_t of) {
    return std::to_string(has) + " of " + std::to_string(of) + " bytes have arrived";
  }

  static size_t sizes(uint8_t argument) {
    // Small ones, ones near a record, and larger ones.
    if (argument < 128) return argument;
    if (argument < 192) return size_t{16 * 1024 - 32} + argument - 128;
    return size_t{argument - 191u} * 3000;
  }

  // A program ends its direction behind a whole message. (A request that was begun is held by us.)
  static bool is_between(const End& end) { return end.waiting() == 0; }

  static std::string filler(size_t size, int number) {
    std::string text(size, ' ');
    for (size_t i = 0; i < size; ++i)
      text[i] = static_cast<char>('!' + (i * 31 + static_cast<size_t>(number) * 7) % 90);
    return text;
  }
  void add_request(size_t size) {
    if (client_.waiting() > 200'000) return;
    const std::string body = filler(size, ++requests_);
    if ((ways_ & kNoProtocol) != 0) return client_.to_write(body);
    client_.to_write("POST /" + std::to_string(requests_) +
                     " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(size) +
                     "\r\n\r\n" + body);
    request_ends_[requests_ % kMost] = client_.written().size() + client_.waiting();
  }
  void add_answer(size_t size) {
    if ((ways_ & kNoProtocol) == 0) {
      if (answers_ == requests_) return;
      // Answers to requests that have not come whole are rare, but allowed.
      if ((ways_ & kEarlyAnswers) == 0 &&
          server_.read().size() < request_ends_[(answers_ + 1) % kMost])
        return;
    }
    ++answers_;
    const std::string body = filler(size, -answers_ & 1023);
    if ((ways_ & kNoProtocol) != 0) return server_.to_write(body);
    server_.to_write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
                     body);
  }

  bool move_all() {
    bool moved = false;
    for (End* end : {&client_, &server_}) {
      while (end->move_out(1 << 20)) moved = true;
      while (end->move_in(1 << 16)) moved = true;
    }
    return moved;
  }

  // Writes, moves and reads until nothing happens any more.
  void drain() {
    constexpr int kPatience = 200;  // ms, of an end that has bytes to come
    for (int idle = 0; idle < 2;) {
      const size_t before = client_.written().size() + server_.written().size() +
                            client_.read().size() + server_.read().size();
      client_.write(client_.waiting(), false);
      server_.write(server_.waiting(), true);
      bool moved = move_all();
      while (server_.may_read() && server_.read(20'000, false, false, client_)) moved = true;
      while (client_.may_read() && client_.read(20'000, true, false, server_)) moved = true;
      moved = move_all() || moved;
      const size_t after = client_.written().size() + server_.written().size() +
                           client_.read().size() + server_.read().size();
      if (moved || before != after) {
        idle = 0;
        continue;
      }
      ++idle;
      const bool expects = !client_.lost() && !server_.lost() &&
                           (misses(server_, client_) || misses(client_, server_));
      pollfd ready[] = {{client_.may_read() ? client_.fd() : -1, POLLIN, 0},
                        {server_.may_read() ? server_.fd() : -1, POLLIN, 0}};
      if (expects) poll(ready, 2, kPatience);
    }
  }

  static constexpr int kMost = 64;
  uint8_t ways_;
  Fault fault_;
  End client_, server_;
  int requests_ = 0, answers_ = 0;
  size_t request_ends_[kMost] = {};
};

}  // namespace

bool run(const uint8_t* data, size_t size, int port, Fault fault) {
  if (g_listener < 0) begin(port);
  if (size < 2) return false;
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close(client);
    return false;
  }
  const int server = accept4(g_listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (server < 0) wrong("server", "accept4");
  Course course(data[0], client, server, fault);
  course.handshake(data[1] < 240 ? 64 : data[1] - 240);
  for (size_t at = 2; at + 1 < size && at < 400; at += 2) course.step(data[at], data[at + 1]);
  return course.finish();
}

}  // namespace sessions
