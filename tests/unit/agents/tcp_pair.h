// Loopback TCP connections for tests.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

#include "daemon/base/descriptors.h"

namespace filibuster::test {

struct Pair {  // a loopback TCP connection
  UniqueFd one, other;
};

inline Pair tcp_pair() {
  Pair pair;
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener.get(), generic, size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), generic, &size), 0);
  pair.one = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(pair.one.get(), generic, sizeof address), 0);
  pair.other = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const timeval limit{5, 0};  // a test that waits longer has failed
  const int on = 1;
  for (const UniqueFd* fd : {&pair.one, &pair.other}) {
    ::setsockopt(fd->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return pair;
}

inline bool is_reset(int fd) {
  char byte;
  return ::recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET;
}

}  // namespace filibuster::test
