#include "preload/stream/recognition.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "core/http2/frame.h"
#include "preload/stream/sender.h"

namespace filibuster::preload {
namespace {

std::string_view name_of(const Followed* protocol, Connection& c) {
  if (protocol == nullptr) return "";
  return static_cast<const void*>(protocol) == c.room ? "HTTP/1" : "HTTP/2";
}

class Recognition : public testing::Test {
 protected:
  void SetUp() override {
    connection_ = make_connection();
    ASSERT_NE(connection_, nullptr);
    connection_->seen_from_start = true;
  }
  void TearDown() override { unpin(connection_); }

  // By bytes that come in pieces of so many.
  std::string_view recognised(Traffic traffic, std::string_view bytes, size_t pieces) {
    Connection& c = *connection_;
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, pieces);
      bytes.remove_prefix(piece.size());
      const iovec vector{const_cast<char*>(piece.data()), piece.size()};
      if (const Followed* protocol = recognise(c, traffic, vector, 0, piece.size())) {
        kept_ = std::string(take_kept(c, traffic).bytes, kept_size_);
        return name_of(protocol, c);
      }
      kept_size_ += piece.size();
    }
    return "";
  }

  Connection* connection_ = nullptr;
  size_t kept_size_ = 0;
  std::string kept_;  // before the piece that told
};

TEST_F(Recognition, KnowsAPrefaceInAnySplit) {
  for (const size_t pieces : {1, 2, 7, 23, 24}) {
    SCOPED_TRACE(pieces);
    TearDown();
    SetUp();
    kept_size_ = 0;
    connection_->role = Role::kServer;
    EXPECT_EQ(recognised(Traffic::kRequests, http2::kClientPreface, pieces), "HTTP/2");
    EXPECT_EQ(kept_, http2::kClientPreface.substr(0, kept_.size()));
    EXPECT_LT(kept_.size(), http2::kClientPreface.size());
  }
}

TEST_F(Recognition, KeepsWhatCouldBeAPrefaceAndGivesItBack) {
  EXPECT_EQ(recognised(Traffic::kRequests, "PRI", 1), "");
  EXPECT_EQ(recognised(Traffic::kRequests, "NT /", 4), "HTTP/1");
  EXPECT_EQ(kept_, "PRI");
  EXPECT_EQ(take_kept(*connection_, Traffic::kRequests).size, 0);
}

TEST_F(Recognition, OfAServerThatSpeaksFirstIsItsSettings) {
  const std::string settings(std::string("\0\0\6\4\0\0\0\0\0", 9) + std::string(6, '\0'));
  EXPECT_EQ(recognised(Traffic::kResponses, settings.substr(0, 8), 3), "");
  EXPECT_EQ(recognised(Traffic::kResponses, settings.substr(8), 7), "HTTP/2");
  EXPECT_EQ(kept_, settings.substr(0, 8));
}

TEST_F(Recognition, TakesWhatNothingElseIsForTheLastOfTheTable) {
  EXPECT_EQ(recognised(Traffic::kRequests, "\x16\x02\x01", 3), "HTTP/1");
  EXPECT_FALSE(!connection_->state.is_followed());  // it says what it is when it reads it
}

TEST_F(Recognition, OfTwoDirectionsTheFirstDecides) {
  EXPECT_EQ(recognised(Traffic::kRequests, "GET / HTTP/1.1\r\n", 16), "HTTP/1");
  EXPECT_EQ(recognised(Traffic::kResponses, std::string_view("\0\0\0\4\0\0\0\0\0", 9), 9),
            "HTTP/1");
}

TEST_F(Recognition, WhatWasKeptOfAClientIsReadWhereItsServerHasToldTheProtocol) {
  Connection& c = *connection_;
  c.role = Role::kClient;
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  const std::string_view preface = http2::kClientPreface;
  const auto send = [&](std::string_view bytes) {
    const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    EXPECT_EQ(send_offered(c, pair[0], piece, 0).size, static_cast<ssize_t>(bytes.size()));
  };
  send(preface.substr(0, 10));
  const std::string_view settings("\0\0\0\4\0\0\0\0\0", 9);
  EXPECT_EQ(recognised(Traffic::kResponses, settings, 9), "HTTP/2");
  send(preface.substr(10));
  EXPECT_FALSE(!c.state.is_followed());
  char sent[64];
  EXPECT_EQ(std::string(sent, static_cast<size_t>(::recv(pair[1], sent, sizeof sent, 0))), preface);
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST_F(Recognition, JoinsWhereARequestBegins) {
  const auto join = [&](bool sent, std::string_view bytes) {
    const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    try_to_join(*connection_, -1, sent, piece, bytes.size());
  };
  join(false, "HTTP/1.1 200 OK\r\n");  // the tail of what was before: tells nothing
  EXPECT_EQ(connection_->role, Role::kJoining);
  EXPECT_FALSE(!connection_->state.is_followed());
  join(true, "GET / HTTP/1.1\r\nHost: a\r\n");
  EXPECT_EQ(connection_->role, Role::kClient);
  EXPECT_EQ(name_of(connection_->protocol(), *connection_), "HTTP/1");
}

TEST_F(Recognition, JoinsWhereAHandshakeBegins) {
  std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  hello.append(100, 'r');
  const iovec part{hello.data(), 5};  // some libraries read the header of a record first
  try_to_join(*connection_, -1, false, part, part.iov_len);
  EXPECT_EQ(connection_->role, Role::kJoining);
  EXPECT_TRUE(connection_->state.is_followed());
  const iovec whole{hello.data(), hello.size()};
  try_to_join(*connection_, -1, true, whole, hello.size());
  EXPECT_EQ(connection_->role, Role::kClient);
  ASSERT_NE(connection_->protocol(), nullptr);
  EXPECT_TRUE(connection_->protocol()->is_carrier());
}

TEST_F(Recognition, GivesUpWhatItSeesInTheMiddleOfSomethingElse) {
  const std::string_view bytes = "an upload's GET /";
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  try_to_join(*connection_, -1, false, piece, bytes.size());
  EXPECT_TRUE(!connection_->state.is_followed());
  EXPECT_EQ(connection_->protocol(), nullptr);
}

}  // namespace
}  // namespace filibuster::preload
