#include "daemon/descriptors/reflection.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <thread>

#include "daemon/base/descriptors.h"

// What is no reflection service; those that are one are in tests/integration/grpc.
namespace filibuster {
namespace {

using std::chrono::milliseconds;

// Accepts one connection, and gives it to `serve`.
class Listener {
 public:
  explicit Listener(std::function<void(int)> serve)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), generic, size), 0);
    EXPECT_EQ(::listen(socket_.get(), 4), 0);
    ::getsockname(socket_.get(), generic, &size);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this, serve = std::move(serve)] {
      const UniqueFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.valid()) serve(client.get());
    });
  }
  ~Listener() { thread_.join(); }
  const std::string& address() const { return address_; }

 private:
  UniqueFd socket_;
  std::string address_;
  std::thread thread_;
};

void read_to_the_end(int fd) {
  char buffer[4096];
  while (::recv(fd, buffer, sizeof buffer, 0) > 0) {
  }
}

std::string problem(const std::string& address, milliseconds limit = milliseconds(10'000)) {
  const Reflected told = ask_reflection(address, {"shop.Cart"}, limit);
  EXPECT_EQ(told.files, "");
  EXPECT_EQ(told.problems.size(), 1u);
  return told.problems.count("shop.Cart") == 1 ? told.problems.at("shop.Cart") : "";
}

TEST(Reflection, AnAddressThatIsNoneIsSaid) {
  for (const char* address :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:1x", "host:80", "[::1"})
    EXPECT_NE(problem(address).find("is no address with a port"), std::string::npos) << address;
}

TEST(Reflection, SilenceEndsAtTheLimit) {
  const Listener silent(read_to_the_end);
  EXPECT_EQ(problem(silent.address(), milliseconds(50)), "no answer in time");
}

TEST(Reflection, AnEndIsSaid) {
  const Listener closing([](int fd) {
    ::shutdown(fd, SHUT_WR);
    read_to_the_end(fd);
  });
  EXPECT_EQ(problem(closing.address()), "the connection was closed");
}

TEST(Reflection, WhatIsNotHttp2IsSaid) {
  const Listener old([](int fd) {
    const std::string_view answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    EXPECT_GT(::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL), 0);
    read_to_the_end(fd);
  });
  EXPECT_EQ(problem(old.address()), "it does not speak HTTP/2");
}

}  // namespace
}  // namespace filibuster
