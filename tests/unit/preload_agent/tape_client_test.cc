// A client's bytes on the tape, which are there before they leave: each is there once, however often it is offered.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "preload/stream/sender.h"
#include "tests/unit/preload_agent/tape_fixture.h"

namespace filibuster::preload::taped {
namespace {

// A client sends through a pair that takes little at a time, and comes back with what was refused.
class ClientOnTape : public OnTape {
 protected:
  void SetUp() override {
    OnTape::SetUp();
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_), 0);
    const int small = 4096;
    ASSERT_EQ(::setsockopt(ends_[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
  }
  void TearDown() override {
    for (const int end : ends_) ::close(end);
    OnTape::TearDown();
  }
  std::string arrived() {
    std::string out(1 << 16, '\0');
    const ssize_t size = ::recv(ends_[1], out.data(), out.size(), 0);
    out.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return out;
  }
  // Offers all of it, `most` bytes in a call, and what was refused again. Returns what came.
  std::string send_all(Connection& c, std::string_view bytes, size_t most) {
    std::string out;
    while (!bytes.empty()) {
      const size_t size = std::min(most, bytes.size());
      const iovec piece{const_cast<char*>(bytes.data()), size};
      const IoResult sent = send_offered(c, ends_[0], piece, MSG_NOSIGNAL);
      if (sent.size == -1) {
        EXPECT_EQ(sent.error, EAGAIN);
        ++refused_;
        out += arrived();
      } else {
        EXPECT_GT(sent.size, 0);
        bytes.remove_prefix(static_cast<size_t>(sent.size));
      }
    }
    out += arrived();
    flush(c, ends_[0], true);
    return out + arrived();
  }

  int ends_[2] = {-1, -1};
  int refused_ = 0;
};

TEST_F(ClientOnTape, AreTheBytesOfARequestInAnySplit) {
  for (size_t most = 1; most <= kRequest.size(); ++most) {
    SCOPED_TRACE(most);
    Connection& c = make(Role::kClient);
    EXPECT_EQ(send_all(c, kRequest, most), kRequest);
    pass(c, false, kAnswer, most);
    const Taken& found = taken(c);
    EXPECT_EQ(found.requests.bytes, kRequest);
    EXPECT_EQ(found.answers.bytes, kAnswer);
    ASSERT_EQ(found.seen.size(), 1u);
    EXPECT_EQ(found.seen[0].server, 0);
    EXPECT_EQ(found.seen[0].seen_from, SeenFrom::kItsFirstByte);
  }
}

TEST_F(ClientOnTape, IsEachByteOnceWhereSomeAreRefusedAndOfferedAgain) {
  std::string body(200'000, 'b');
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i * 7 % 26);
  const std::string request =
      "PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  Connection& c = make(Role::kClient);
  EXPECT_EQ(send_all(c, request, 50'000), request);
  EXPECT_GT(refused_, 0) << "the pair took everything at once";
  const Taken& found = taken(c);
  EXPECT_EQ(found.requests.bytes, request);
  EXPECT_EQ(found.requests.holes, 0u);
}

TEST_F(ClientOnTape, AreTheCommandsAndRepliesOfRedisInAnySplit) {
  const std::string commands = "*2\r\n$3\r\nGET\r\n$7\r\nprice:7\r\n*1\r\n$4\r\nPING\r\n";
  const std::string replies = "$3\r\n950\r\n+PONG\r\n";
  for (size_t most = 1; most <= commands.size(); ++most) {
    SCOPED_TRACE(most);
    Connection& c = make(Role::kClient);
    c.target.known = true;
    c.target.flags = kTargetRedis;
    EXPECT_EQ(send_all(c, commands, most), commands);
    pass(c, false, replies, most);
    const Taken& found = taken(c);
    EXPECT_EQ(found.requests.bytes, commands);
    EXPECT_EQ(found.answers.bytes, replies);
    ASSERT_EQ(found.seen.size(), 1u);
    EXPECT_EQ(found.seen[0].protocol, StreamProtocol::kRedis);
  }
}

TEST_F(ClientOnTape, IsNothingOfATargetThatIsIgnored) {
  Connection& c = make(Role::kClient);
  c.target.known = true;
  c.target.flags = kTargetNever;
  send_all(c, kRequest, 50);
  EXPECT_EQ(taken(c).requests.bytes, "");
}

TEST_F(ClientOnTape, IsAGapWhereOtherBytesComeThanWereRefused) {
  Connection& c = make(Role::kClient);
  const std::string filler(100'000, 'f');
  const std::string head = "PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n";
  for (const std::string& text : {head + filler, filler}) {
    const iovec piece{const_cast<char*>(text.data()), text.size()};
    send_offered(c, ends_[0], piece, MSG_NOSIGNAL);
  }
  const std::string other(100, 'g');
  const iovec piece{const_cast<char*>(other.data()), other.size()};
  send_offered(c, ends_[0], piece, MSG_NOSIGNAL);
  EXPECT_FALSE(c.state.is_followed());
  const Taken& found = taken(c);
  ASSERT_EQ(found.gaps.size(), 1u);
  EXPECT_EQ(found.gaps[0].size, 0u) << "nothing more is recorded of it";
  EXPECT_EQ(found.gaps[0].reason, static_cast<uint8_t>(NotInterposedReason::kMidStream));
}

}  // namespace
}  // namespace filibuster::preload::taped
