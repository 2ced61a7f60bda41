#include "daemon/stubs/stub_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/descriptors.h"

namespace filibuster::stubs {
namespace {

constexpr int kPatience = 10'000;  // milliseconds

struct Client {
  UniqueFd socket;
  uint16_t own_port = 0;
};

uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

uint16_t a_free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return port_of(socket.get());
}

Client connect_to(uint16_t port) {
  Client out{UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(out.socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  out.own_port = port_of(out.socket.get());
  return out;
}

void send_all(const Client& client, std::string_view bytes) {
  ASSERT_EQ(::send(client.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

// What comes until the end, or until `size` bytes; "reset" behind it where the connection ends with one.
std::string receive(const Client& client, size_t size = SIZE_MAX) {
  std::string out;
  char bytes[4096];
  while (out.size() < size) {
    pollfd readable{client.socket.get(), POLLIN, 0};
    if (poll(&readable, 1, kPatience) != 1) return out + "(nothing more)";
    const ssize_t got = ::recv(client.socket.get(), bytes, sizeof bytes, 0);
    if (got < 0) return out + "reset";
    if (got == 0) return out;
    out.append(bytes, static_cast<size_t>(got));
  }
  return out;
}

class Scripted final : public Answerer {
 public:
  Reply reply(Call call) override {
    Reply out;
    const std::string& what = call.kind == Kind::kRedis ? call.method : call.path;
    if (what == "/closed" || what == "CLOSED") out.end = End::kClosed;
    if (what == "/reset") out.end = End::kReset;
    if (what == "/silent") out.end = End::kSilence;
    if (what == "/held") {
      out.answer.delay = std::chrono::milliseconds(1);
      out.ticket = 7;
    }
    out.answer.status = 204;
    out.resp = "%1\r\n+a\r\n:1\r\n";
    calls.push_back(std::move(call));
    return out;
  }
  void leaves(uint64_t ticket) override { left.push_back(ticket); }
  void refuse(const std::string&, const std::string&) override {}

  std::vector<Call> calls;
  std::vector<uint64_t> left;  // tickets
};

class AStubServer : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = StubServer::start(
        &answerer, {{"web", Protocol::kHttp, {web}}, {"cache", Protocol::kRedis, {cache}}});
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(started).value();
  }

  Scripted answerer;
  const uint16_t web = a_free_port(), cache = a_free_port();
  std::unique_ptr<StubServer> server;
};

TEST_F(AStubServer, EndsConnectionsAsItsAnswererSays) {
  for (const auto& [path, expected] : {std::pair("/closed", ""), {"/reset", "reset"}}) {
    const Client client = connect_to(web);
    send_all(client, std::string("GET ") + path + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(receive(client), expected) << path;
  }
  const Client redis = connect_to(cache);
  send_all(redis, "*1\r\n$6\r\nCLOSED\r\n");
  EXPECT_EQ(receive(redis), "");
}

TEST_F(AStubServer, TellsWhenAReplyThatWasHeldBackLeaves) {
  const Client client = connect_to(web);
  send_all(client, "GET /held HTTP/1.1\r\n\r\nGET /other HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_NE(receive(client).find("HTTP/1.1 204"), std::string::npos);
  server.reset();  // its thread has ended
  EXPECT_EQ(answerer.left, std::vector<uint64_t>{7});
  ASSERT_EQ(answerer.calls.size(), 2u);
}

// A request behind one that gets nothing waits with it, and the connection ends when its client ends it.
TEST_F(AStubServer, IsSilentUntilItsClientGoes) {
  const Client silent = connect_to(web), other = connect_to(web);
  send_all(silent, "GET /silent HTTP/1.1\r\n\r\nGET /behind HTTP/1.1\r\n\r\n");
  send_all(other, "GET /other HTTP/1.1\r\n\r\n");
  EXPECT_EQ(receive(other, 1).substr(0, 12), "HTTP/1.1 204");
  ::shutdown(silent.socket.get(), SHUT_WR);
  EXPECT_EQ(receive(silent), "");
}

TEST_F(AStubServer, SaysWhereCallsCameFromAndWhatTheyHad) {
  const Client client = connect_to(web);
  send_all(client, "GET /a HTTP/1.1\r\nX-One: 1\r\nx-filibuster: f\r\n\r\n");
  receive(client, 1);
  send_all(client, "GET /b HTTP/1.1\r\n\r\n");
  receive(client, 1);
  const Client redis = connect_to(cache);
  send_all(redis, "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
  EXPECT_EQ(receive(redis, 19), "+PONG\r\n%1\r\n+a\r\n:1\r\n");
  server.reset();
  ASSERT_EQ(answerer.calls.size(), 3u);
  using Fields = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(answerer.calls[0].headers, Fields({{"X-One", "1"}}));
  EXPECT_EQ(answerer.calls[0].field, "f");
  EXPECT_EQ(answerer.calls[0].client_port, client.own_port);
  EXPECT_EQ(answerer.calls[0].number, 0u);
  EXPECT_EQ(answerer.calls[1].number, 1u);
  // The connection's own commands count, too.
  EXPECT_EQ(answerer.calls[2].client_port, redis.own_port);
  EXPECT_EQ(answerer.calls[2].number, 1u);
}

// A service that sets SO_REUSEPORT alone, as cpp-httplib does, has closed its connections: its port is free.
TEST(StubServer, ListensWhereAServiceHasEnded) {
  uint16_t port = 0;
  {
    const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    port = port_of(listener.get());
    const Client client = connect_to(port);
    UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
    ASSERT_TRUE(accepted.valid());
    accepted.reset();  // the server's end is the one that stays in TIME_WAIT
    EXPECT_EQ(receive(client), "");
  }
  Scripted answerer;
  const auto started = StubServer::start(&answerer, {{"web", Protocol::kHttp, {port}}},
                                         [](uint16_t) { return false; });
  EXPECT_TRUE(started) << started.error().message;
}

TEST_F(AStubServer, TakesATransactionAsOneCall) {
  const Client redis = connect_to(cache);
  send_all(
      redis,
      "PING\r\nMULTI\r\nSET a 1\r\nDISCARD\r\nMULTI\r\nSET a 2\r\nINCR b\r\nMULTI\r\nEXEC\r\nEXEC\r\n");
  const std::string expected =
      "+PONG\r\n+OK\r\n+QUEUED\r\n+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n"
      "-ERR MULTI calls can not be nested\r\n%1\r\n+a\r\n:1\r\n%1\r\n+a\r\n:1\r\n";
  EXPECT_EQ(receive(redis, expected.size()), expected);
  server.reset();
  ASSERT_EQ(answerer.calls.size(), 2u);
  EXPECT_EQ(answerer.calls[0].method, "MULTI");
  EXPECT_EQ(answerer.calls[0].arguments.dump(), R"([["SET","a","2"],["INCR","b"]])");
  EXPECT_EQ(answerer.calls[0].number, 4u);
  EXPECT_EQ(answerer.calls[1].method, "EXEC");
}

}  // namespace
}  // namespace filibuster::stubs
