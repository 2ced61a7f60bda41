#include "preload/inject/aside.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "preload/inject/inject.h"

namespace filibuster::preload {
namespace {

// A connection over loopback: [client, server].
struct Connected {
  int client = -1, server = -1;
  explicit Connected(int family) {
    if (family == AF_UNIX) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      client = ends[0];
      server = ends[1];
      return;
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    client = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), size), 0);
    server = accept(listener, nullptr, nullptr);
    close(listener);
  }
  ~Connected() {
    close(client);
    close(server);
  }
};

std::string read_some(int fd) {
  char buffer[64];
  const ssize_t size = read(fd, buffer, sizeof buffer);
  return size < 0 ? "error" : std::string(buffer, static_cast<size_t>(size));
}

class Aside : public testing::TestWithParam<int> {};

TEST_P(Aside, TheAnswerIsReadAndTheConnectionGoesOn) {
  Connected c(GetParam());
  for (int times = 0; times < 3; ++times) {
    int real = -1;
    ASSERT_STREQ(put_aside(c.client, nullptr, "-LOADING\r\n", &real), nullptr);
    EXPECT_TRUE(is_replaced(c.client));
    // What is sent meanwhile is for the server, and so is what it answers for afterwards.
    ASSERT_EQ(write(real, "next", 4), 4);
    EXPECT_EQ(read_some(c.server), "next");
    ASSERT_EQ(write(c.server, "answer", 6), 6);
    EXPECT_EQ(read_some(c.client), "-LOADING\r\n");
    ASSERT_TRUE(put_back(c.client, real));
    EXPECT_FALSE(is_replaced(c.client));
    EXPECT_EQ(read_some(c.client), "answer");
    ASSERT_EQ(write(c.client, "more", 4), 4);
    EXPECT_EQ(read_some(c.server), "more");
  }
}

TEST_P(Aside, AnEventLoopIsToldOfBoth) {
  Connected c(GetParam());
  const int set = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{EPOLLIN | EPOLLET, {}}, event{};
  wanted.data.u64 = 77;
  ASSERT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, c.client, &wanted), 0);
  EXPECT_EQ(epoll_wait(set, &event, 1, 0), 0);
  int real = -1;
  ASSERT_STREQ(put_aside(c.client, nullptr, "+OK\r\n", &real), nullptr);
  ASSERT_EQ(epoll_wait(set, &event, 1, 1000), 1);
  EXPECT_EQ(event.data.u64, 77u);
  EXPECT_EQ(read_some(c.client), "+OK\r\n");
  // The answer of its server is there before the connection is back.
  ASSERT_EQ(write(c.server, "x", 1), 1);
  ASSERT_TRUE(put_back(c.client, real));
  ASSERT_EQ(epoll_wait(set, &event, 1, 1000), 1);
  EXPECT_EQ(event.data.u64, 77u);
  EXPECT_EQ(read_some(c.client), "x");
  close(set);
}

TEST_P(Aside, WhatTheApplicationSetsMeanwhileStays) {
  Connected c(GetParam());
  int real = -1;
  ASSERT_STREQ(put_aside(c.client, nullptr, "+OK\r\n", &real), nullptr);
  ASSERT_EQ(fcntl(c.client, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(read_some(c.client), "+OK\r\n");
  ASSERT_TRUE(put_back(c.client, real));
  ASSERT_NE(fcntl(c.client, F_GETFL) & O_NONBLOCK, 0);  // else the read would wait
  EXPECT_EQ(read_some(c.client), "error");              // EAGAIN
  EXPECT_EQ(errno, EAGAIN);
}

TEST_P(Aside, BytesThatAreUnreadAreNeverOvertaken) {
  Connected c(GetParam());
  ASSERT_EQ(write(c.server, "early", 5), 5);
  int real = -1;
  EXPECT_STREQ(put_aside(c.client, nullptr, "+OK\r\n", &real),
               "bytes of an earlier answer are unread");
  EXPECT_EQ(read_some(c.client), "early");
}

INSTANTIATE_TEST_SUITE_P(Families, Aside, testing::Values(AF_INET, AF_UNIX));

}  // namespace
}  // namespace filibuster::preload
