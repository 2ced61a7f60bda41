#include "daemon/agents/late_passages.h"

#include <sys/epoll.h>

#include <string>
#include <vector>

#include "core/rpc/protocol.h"
#include "tests/unit/agents/tcp_pair.h"

namespace filibuster::test {
namespace {

constexpr uint64_t kTag = uint64_t{7} << 48;
constexpr uint64_t kLatency = 300, kDeadline = 10'000, kNow = 1'000;

// An application and its server, each at the other end of a connection that the passages carry.
class LatePassagesTest : public ::testing::Test {
 protected:
  void SetUp() override { take({}); }
  void take(HandOff hand_off, bool holds = false) {
    Pair of_application = tcp_pair(), of_server = tcp_pair();
    application_ = std::move(of_application.one);
    server_ = std::move(of_server.one);
    hand_off.rpc = 11;
    hand_off.execution = 5;
    ASSERT_TRUE(passages_.take(hand_off, std::move(of_application.other),
                               std::move(of_server.other), kLatency, kDeadline, holds));
  }
  static void send(const UniqueFd& fd, const std::string& text) {
    ASSERT_EQ(::send(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  // Serves the passages until `fd` has `size` bytes or its end; what it has is returned.
  std::string read(const UniqueFd& fd, size_t size) {
    std::string out;
    while (out.size() < size) {
      char buffer[65536];
      const ssize_t got = ::recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (got == 0) break;
      if (got > 0) {
        out.append(buffer, static_cast<size_t>(got));
      } else if (!serve(&fd)) {
        ADD_FAILURE() << "nothing came";
        break;
      }
    }
    return out;
  }
  // Waits for events of the passages, or bytes at `also`, and serves the former. False: nothing came for 5 s.
  bool serve(const UniqueFd* also = nullptr) {
    epoll_event mine{};
    mine.events = EPOLLIN;
    if (also != nullptr) ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, also->get(), &mine);
    epoll_event events[8];
    const int count = ::epoll_wait(epoll_.get(), events, 8, 5000);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == 0) continue;
      EXPECT_EQ(events[i].data.u64 >> 48, kTag >> 48);
      passages_.ready(events[i].data.u64 & ~(uint64_t{0xffff} << 48), now_);
    }
    if (also != nullptr) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, also->get(), nullptr);
    return count > 0;
  }
  void expect_nothing(const UniqueFd& fd) {
    char byte;
    EXPECT_EQ(::recv(fd.get(), &byte, 1, MSG_DONTWAIT), -1);
    EXPECT_EQ(errno, EAGAIN);
  }
  // The server's first bytes are there, and have been seen.
  void answer(const std::string& text) {
    send(server_, text);
    while (passages_.next_deadline_ns() == kDeadline && serve()) {
    }
  }

  UniqueFd epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  std::vector<std::pair<uint32_t, uint64_t>> silent_;
  LatePassages passages_{epoll_.get(), kTag, [this](uint32_t execution, uint64_t rpc) {
                           silent_.push_back({execution, rpc});
                         }};
  uint64_t now_ = kNow;
  UniqueFd application_, server_;
};

TEST_F(LatePassagesTest, TheAnswerWaitsForItsTimeAndWhatTheClientSendsDoesNot) {
  EXPECT_EQ(passages_.next_deadline_ns(), kDeadline);
  send(application_, "request");
  EXPECT_EQ(read(server_, 7), "request");
  answer("answer");
  EXPECT_EQ(passages_.next_deadline_ns(), kNow + kLatency);
  expect_nothing(application_);
  send(application_, "more");
  EXPECT_EQ(read(server_, 4), "more");

  passages_.expire(kNow + kLatency - 1);
  expect_nothing(application_);
  passages_.expire(kNow + kLatency);
  EXPECT_EQ(read(application_, 6), "answer");
  EXPECT_EQ(passages_.next_deadline_ns(), 0u);
}

TEST_F(LatePassagesTest, WhatIsHeldLeavesWhenItIsReleased) {
  HandOff hand_off;
  hand_off.plan_entry = 3;
  take(hand_off, true);
  EXPECT_TRUE(passages_.is_held(3));
  EXPECT_FALSE(passages_.is_held(0));
  send(application_, "request");
  ASSERT_TRUE(serve());
  passages_.release(0, kNow);
  expect_nothing(server_);
  passages_.release(3, kNow);
  EXPECT_FALSE(passages_.is_held(3));
  EXPECT_EQ(read(server_, 7), "request");
}

TEST_F(LatePassagesTest, FromThenOnBothDirectionsAreCarriedUntilBothHaveEnded) {
  answer("first");
  passages_.expire(kNow + kLatency);
  EXPECT_EQ(read(application_, 5), "first");
  // More than one event moves, and more than a socket takes at once.
  std::string large(3u << 20, 'x');
  for (size_t i = 0; i < large.size(); i += 1000) large[i] = static_cast<char>('a' + i / 1000 % 26);
  size_t sent = 0;
  std::string got;
  while (got.size() < large.size()) {
    const ssize_t now = ::send(server_.get(), large.data() + sent, large.size() - sent,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (now > 0) sent += static_cast<size_t>(now);
    const std::string part = read(application_, 1);
    if (part.empty()) break;
    got += part;
  }
  EXPECT_TRUE(got == large);

  ::shutdown(application_.get(), SHUT_WR);
  EXPECT_EQ(read(server_, 1), "");
  send(server_, "bye");
  EXPECT_EQ(read(application_, 3), "bye");
  ::shutdown(server_.get(), SHUT_WR);
  EXPECT_EQ(read(application_, 1), "");
}

TEST_F(LatePassagesTest, AServerThatEndsInPlaceOfItsAnswerEndsLate) {
  ::shutdown(server_.get(), SHUT_RDWR);
  while (passages_.next_deadline_ns() == kDeadline && serve()) {
  }
  expect_nothing(application_);
  passages_.expire(kNow + kLatency);
  EXPECT_EQ(read(application_, 1), "");
}

TEST_F(LatePassagesTest, AResetIsAResetAtOnce) {
  close_with_reset(std::move(server_));
  while (passages_.next_deadline_ns() != 0 && serve()) {
  }
  EXPECT_TRUE(is_reset(application_.get()));
}

TEST_F(LatePassagesTest, AServerThatSaysNothingIsReportedAndItsClientReset) {
  passages_.expire(kDeadline - 1);
  EXPECT_TRUE(silent_.empty());
  passages_.expire(kDeadline);
  EXPECT_EQ(silent_, (std::vector<std::pair<uint32_t, uint64_t>>{{5, 11}}));
  EXPECT_TRUE(is_reset(application_.get()));
  EXPECT_EQ(passages_.next_deadline_ns(), 0u);
}

TEST_F(LatePassagesTest, AnExecutionEndsWhatStillWaitsAndNothingElse) {
  passages_.end_execution(4);
  EXPECT_EQ(passages_.next_deadline_ns(), kDeadline);
  answer("late");
  passages_.expire(kNow + kLatency);
  EXPECT_EQ(read(application_, 4), "late");
  passages_.end_execution(5);
  send(server_, "kept");
  EXPECT_EQ(read(application_, 4), "kept");
}

class LateRedisTest : public LatePassagesTest {
 protected:
  void SetUp() override {
    HandOff hand_off;
    hand_off.protocol = static_cast<uint8_t>(Protocol::kRedis);
    hand_off.replies = 2;
    take(hand_off);
  }
  static constexpr char kCommand[] = "*1\r\n$4\r\nPING\r\n";
  // Sends `count` commands while the first reply is awaited, and has the reply passed.
  void ask(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      send(application_, kCommand);
      EXPECT_EQ(read(server_, sizeof kCommand - 1), kCommand);
    }
    answer("+PONG\r\n");
    passages_.expire(kNow + kLatency);
    EXPECT_EQ(read(application_, 7), "+PONG\r\n");
  }
};

TEST_F(LateRedisTest, AConnectionWhoseClientWaitedForTheLateRepliesGoesOn) {
  ask(2);
  send(application_, kCommand);
  EXPECT_EQ(read(server_, sizeof kCommand - 1), kCommand);
  passages_.end_execution(5);
  send(server_, "+PONG\r\n");
  EXPECT_EQ(read(application_, 7), "+PONG\r\n");
}

TEST_F(LateRedisTest, OneWhoseClientAskedForMoreMeanwhileEndsWithItsExecution) {
  ask(3);
  passages_.end_execution(4);
  expect_nothing(application_);
  passages_.end_execution(5);
  EXPECT_TRUE(is_reset(application_.get()));
}

TEST_F(LatePassagesTest, WhatWaitsAtTheEndOfItsExecutionIsReset) {
  passages_.end_execution(5);
  EXPECT_TRUE(is_reset(application_.get()));
  EXPECT_TRUE(silent_.empty());
}

}  // namespace
}  // namespace filibuster::test
