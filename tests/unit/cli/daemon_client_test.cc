#include "cli/daemon_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>
#include <vector>

#include "daemon/base/descriptors.h"

namespace filibuster::cli {
namespace {

TEST(QueryArgument, EscapesWhatIsNotUnreserved) {
  EXPECT_EQ(query_argument("path", "/a b&c=ü~-_."), "&path=%2Fa%20b%26c%3D%C3%BC~-_.");
  EXPECT_EQ(query_argument("path", ""), "");
}

// Accepts one connection, reads a request whose last bytes are `end`, and sends the pieces, each in a segment of its own. Then it
// closes the connection, unless it is to be `silent` until the client goes away.
class OneAnswer {
 public:
  explicit OneAnswer(std::vector<std::string> pieces, std::string end = "\r\n\r\n",
                     bool silent = false)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size);
    listen(listener_.get(), 1);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this, pieces = std::move(pieces), end = std::move(end), silent] {
      const UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char bytes[4096];
      ssize_t count = 0;
      while (!request_.ends_with(end) && (count = recv(fd.get(), bytes, sizeof bytes, 0)) > 0)
        request_.append(bytes, static_cast<size_t>(count));
      for (const std::string& piece : pieces)
        send(fd.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
      if (silent) recv(fd.get(), bytes, sizeof bytes, 0);
    });
  }
  ~OneAnswer() {
    if (thread_.joinable()) thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + port_; }
  // What was received. To be called once, after the answer.
  std::string request() {
    thread_.join();
    return request_;
  }

 private:
  UniqueFd listener_;
  std::string port_, request_;
  std::thread thread_;
};

TEST(DaemonClient, AsksWithItsToken) {
  OneAnswer server({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"});
  const std::string url = server.url();
  const auto answer = DaemonClient(url + "/", "secret").get("/v1/a b\r\n?x=%20+");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "hi");
  EXPECT_EQ(server.request(), "GET /v1/a%20b%0D%0A?x=%20+ HTTP/1.1\r\nHost: " + url.substr(7) +
                                  "\r\nAuthorization: Bearer secret\r\nConnection: close\r\n\r\n");
}

TEST(DaemonClient, PostsABodyOfAnySize) {
  const std::string body = "{\"text\":\"" + std::string(3'000'000, 'x') + "\"}";
  OneAnswer server({"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"}, "\"}");
  const auto answer = DaemonClient(server.url(), "secret").post("/v1/sessions", body);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "gone");
  const std::string request = server.request();
  EXPECT_TRUE(request.ends_with("\r\nContent-Type: application/json\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body));
}

TEST(DaemonClient, ReadsEveryFormOfAnAnswer) {
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  std::vector<std::string> bytes;
  for (const char c : chunked) bytes.emplace_back(1, c);
  const std::vector<std::vector<std::string>> answers = {
      {chunked},
      bytes,
      {"HTTP/1.1 200 OK\r\n\r\nabc", "de"},  // to the end of the connection
      {"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "abcde"}};
  for (const auto& pieces : answers) {
    OneAnswer server(pieces);
    const auto answer = DaemonClient(server.url(), "").get("/");
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "abcde");
  }
}

TEST(DaemonClient, SaysWhyThereIsNoAnswer) {
  const auto why = [](const std::string& url, int timeout = 10) {
    const auto answer = DaemonClient(url, "").get("/", timeout);
    return answer.ok() ? "an answer" : answer.error().message;
  };
  {
    OneAnswer server({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"});
    EXPECT_EQ(why(server.url()),
              "no answer from " + server.url() + " (it closed the connection without an answer)");
  }
  {
    OneAnswer server({"SSH-2.0-OpenSSH_9.2\r\n"});
    EXPECT_EQ(why(server.url()),
              "no answer from " + server.url() + " (what answers there is not HTTP)");
  }
  {
    OneAnswer server({}, "\r\n\r\n", /*silent=*/true);
    EXPECT_EQ(why(server.url(), 1),
              "no answer from " + server.url() + " (it did not answer in time)");
  }
  std::string closed;
  {
    OneAnswer server({"HTTP/1.1 204 No Content\r\n\r\n"});
    closed = server.url();
    EXPECT_EQ(why(closed), "an answer");
  }
  EXPECT_EQ(why(closed), "no answer from " + closed + " (Connection refused)");
  for (const char* const url :
       {"", "127.0.0.1:80", "https://127.0.0.1:80", "http://", "http://:80"})
    EXPECT_NE(why(url).find("is no address of a daemon"), std::string::npos) << url;
}

}  // namespace
}  // namespace filibuster::cli
