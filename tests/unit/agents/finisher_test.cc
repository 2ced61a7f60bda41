// Connections on which a fault fired, handed off by a fake agent with real TCP sockets.
#include <poll.h>

#include <thread>

#include "tests/unit/agents/fake_agent.h"
#include "tests/unit/agents/tcp_pair.h"

namespace filibuster::test {
namespace {

std::string read_to_end(int fd) {
  std::string out;
  char buffer[4096];
  ssize_t size;
  while ((size = ::recv(fd, buffer, sizeof buffer, 0)) > 0) out.append(buffer, size);
  return out;
}

bool is_silent(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 0;
}

void send_all(int fd, std::string_view text) {
  EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

class HandOffTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = AgentHub::start(hub_options(scratch_));
    ASSERT_TRUE(started.ok()) << started.error().message;
    hub_ = std::move(started).value();
    agent_ = std::make_unique<FakeAgent>(hub_->address(), "users");
    ASSERT_TRUE(agent_->registered());
    PlannedRpcFault planned;
    planned.index = key(1);
    planned.fault.kind = FaultKind::kStatus;
    planned.fault.after_effect = true;
    planned.fault.status = 503;
    planned.fault.body = "down";
    answer_ = render_http_response(planned.fault, false);
    answer_head_ = render_http_response(planned.fault, true);
    ASSERT_TRUE(hub_->begin_execution(1, {planned}).ok());
    rpc_ = agent_->issue(1, 1, "movies", "/m");
    agent_->fire(1, rpc_, 0, FaultHow::kInjected);
    agent_->finish(1, rpc_, true);
    app_ = tcp_pair();
    server_ = tcp_pair();
  }
  // app_.one is what the application reads, server_.other what the server writes.
  void hand_off(HandOffKind kind, bool head_request = false) {
    HandOff message;
    message.kind = kind;
    message.rpc = rpc_;
    message.execution = 1;
    message.head_request = head_request ? 1 : 0;
    std::vector<int> descriptors{app_.other.get()};
    if (kind != HandOffKind::kSilence) descriptors.push_back(server_.one.get());
    ASSERT_TRUE(agent_->hand_off(message, descriptors));
    app_.other.reset();
    server_.one.reset();
  }

  Scratch scratch_;
  std::unique_ptr<AgentHub> hub_;
  std::unique_ptr<FakeAgent> agent_;
  std::string answer_, answer_head_;
  uint64_t rpc_ = 0;
  Pair app_, server_;
};

TEST_F(HandOffTest, ASilenceEndsWithAResetAtTheHangLimit) {
  hub_->set_hang_limit(milliseconds(200));
  hand_off(HandOffKind::kSilence);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(is_reset(app_.one.get()));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(150));
  const ExecutionRecord record = hub_->end_execution();
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(to_text(record.rpcs[0].hang_limit), "caller still waited after 0.2 s for an answer");
  EXPECT_TRUE(any_contains(record.notes, "caller still waited after"));
}

TEST_F(HandOffTest, ACallerThatWaitsWithoutALimitIsSaidToHaveNoneAndIsWaitedForAllTheSame) {
  hub_->set_hang_limit(milliseconds(200));
  hand_off(HandOffKind::kSilence);
  agent_->emit(EventType::kNoLimit, 1, NoLimit{.rpc = rpc_});
  EXPECT_TRUE(is_silent(app_.one.get()));
  EXPECT_TRUE(is_reset(app_.one.get()));
  const ExecutionRecord record = hub_->end_execution();
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(to_text(record.rpcs[0].hang_limit), "caller has no timeout (hang limit 0.2 s reached)");
}

// The fault of an attempt in a sequence.
class SparedHandOff : public HandOffTest {
 protected:
  void plan(const char* outcome) {
    hub_->end_execution();
    PlannedRpcFault planned;
    planned.index = key(1);
    planned.fault = parse_fault(std::string(outcome) + " when=1+").value();
    ASSERT_TRUE(hub_->begin_execution(2, {planned}).ok());
    rpc_ = agent_->issue(2, 1, "movies", "/m");
  }
  void hand_off_item(HandOffKind kind) {
    HandOff message;
    message.kind = kind;
    message.rpc = rpc_;
    message.execution = 2;
    message.plan_entry = 1;
    ASSERT_TRUE(agent_->hand_off(message, {app_.other.get(), server_.one.get()}));
    app_.other.reset();
    server_.one.reset();
  }
};

struct AfterEffect {
  const char* outcome;
  HandOffKind kind;
};
class SparedBy : public SparedHandOff, public ::testing::WithParamInterface<AfterEffect> {};
INSTANTIATE_TEST_SUITE_P(
    Kinds, SparedBy,
    ::testing::Values(AfterEffect{"timeout:after", HandOffKind::kDrainThenSilence},
                      AfterEffect{"reset:after", HandOffKind::kDrainThenReset},
                      AfterEffect{"status:502:after", HandOffKind::kDrainThenAnswer}));

TEST_P(SparedBy, AnAnswerThatIsAnErrorAlreadyPasses) {
  plan(GetParam().outcome);
  hand_off_item(GetParam().kind);
  send_all(server_.other.get(),
           "HTTP/1.1 409 Conflict\r\nX-Code: Exists\r\nContent-Length: 5\r\n\r\nthere");
  const std::string read = read_to_end(app_.one.get());
  EXPECT_TRUE(read.starts_with("HTTP/1.1 409 Conflict\r\nX-Code: Exists\r\n")) << read;
  EXPECT_TRUE(read.ends_with("\r\n\r\nthere")) << read;
  const ExecutionRecord record = hub_->end_execution();
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_TRUE(record.rpcs[0].was_error_already);
  EXPECT_EQ(record.rpcs[0].status, 409);
  EXPECT_EQ(record.rpcs[0].response_sample, "there");
}

TEST_P(SparedBy, SoDoesOneThatTheEndOfItsConnectionEnds) {
  plan(GetParam().outcome);
  hand_off_item(GetParam().kind);
  send_all(server_.other.get(), "HTTP/1.1 409 Conflict\r\nX-Code: Exists\r\n\r\nthere");
  server_.other.reset();
  const std::string read = read_to_end(app_.one.get());
  EXPECT_TRUE(read.starts_with("HTTP/1.1 409 Conflict\r\nX-Code: Exists\r\n")) << read;
  EXPECT_TRUE(read.ends_with("\r\n\r\nthere")) << read;
}

TEST_F(SparedHandOff, ASuccessIsTakenAway) {
  plan("reset:after");
  hand_off_item(HandOffKind::kDrainThenReset);
  send_all(server_.other.get(), "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(is_reset(app_.one.get()));
}

TEST_F(HandOffTest, TheEndOfTheExecutionResetsASilence) {
  hub_->set_hang_limit(std::chrono::minutes(5));  // does not end it
  hand_off(HandOffKind::kSilence);
  EXPECT_TRUE(is_silent(app_.one.get()));
  // The hand-off may be on its way still: then it is of an execution that is over, and reset too.
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_TRUE(is_reset(app_.one.get()));
  EXPECT_FALSE(any_contains(record.notes, "no timeout"));
}

TEST_F(HandOffTest, ACallerThatGivesUpIsNotSaidToHang) {
  hub_->set_hang_limit(milliseconds(100));
  hand_off(HandOffKind::kSilence);
  app_.one.reset();
  // Another silence with the same limit, that began later, marks the time.
  app_ = tcp_pair();
  HandOff message;
  message.rpc = agent_->issue(1, 2, "movies", "/hangs");
  message.execution = 1;
  ASSERT_TRUE(agent_->hand_off(message, {app_.other.get()}));
  app_.other.reset();
  EXPECT_TRUE(is_reset(app_.one.get()));
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_TRUE(any_contains(record.notes, "/hangs: caller still waited"));
  EXPECT_FALSE(any_contains(record.notes, "/m: caller still waited"));
}

TEST_F(HandOffTest, TheRealAnswerIsReadAwayThenThePlannedOneIsSent) {
  hand_off(HandOffKind::kDrainThenAnswer);
  send_all(server_.other.get(), "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Le");
  EXPECT_TRUE(is_silent(app_.one.get()));
  send_all(server_.other.get(), "ngth: 5\r\n\r\nhe");
  EXPECT_TRUE(is_silent(app_.one.get()));
  send_all(server_.other.get(), "llo");
  EXPECT_EQ(read_to_end(app_.one.get()), answer_);
  EXPECT_EQ(read_to_end(server_.other.get()), "") << "the real connection is closed";
}

TEST_F(HandOffTest, WhateverTheServerAnswersThePlannedAnswerFollows) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string answers[] = {
      "",
      "\r\n",
      "no HTTP at all",
      std::string(5'000, '\0'),
      "HTTP/1.1",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/1.1 2000 OK\r\n\r\n",
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nv: " + std::string(200'000, 'v') + "\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nx",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nmore than that",
      "HTTP/1.1 200 OK\r\n\r\nuntil the end",
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nanything",
      "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n",
      chunked + "FFFFFFFFFFFFFFFFFFFF\r\nx",
      chunked + "-1\r\nx",
      chunked + "1\r\nxyz\r\n0\r\n\r\n",
      chunked + "1\r\nx\r\n0\r\n" + std::string(200'000, 't'),
  };
  for (const std::string& text : answers) {
    for (const bool resets : {false, true}) {
      app_ = tcp_pair();
      server_ = tcp_pair();
      hand_off(HandOffKind::kDrainThenAnswer);
      const int server = server_.other.get();
      // It may be closed before all has come.
      for (const std::string& half :
           {text.substr(0, text.size() / 2), text.substr(text.size() / 2)})
        ::send(server, half.data(), half.size(), MSG_NOSIGNAL);
      const linger now{1, 0};
      if (resets) ::setsockopt(server, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      server_.other.reset();
      EXPECT_EQ(read_to_end(app_.one.get()), answer_) << text.substr(0, 80);
    }
  }
}

TEST_F(HandOffTest, InputThatNobodyReadsDoesNotTakeTheAnswerAway) {
  send_all(app_.one.get(), "GET /pipelined HTTP/1.1\r\n\r\n");
  hand_off(HandOffKind::kDrainThenAnswer);
  server_.other.reset();  // the end of the stream ends the real answer
  EXPECT_EQ(read_to_end(app_.one.get()), answer_);
}

TEST_F(HandOffTest, AHeadRequestGetsTheHeadOnlyAndWaitsForNoBody) {
  hand_off(HandOffKind::kDrainThenAnswer, true);
  send_all(server_.other.get(), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(read_to_end(app_.one.get()), answer_head_);
}

TEST_F(HandOffTest, AResetAfterEffectComesAfterTheRealAnswer) {
  hand_off(HandOffKind::kDrainThenReset);
  send_all(server_.other.get(),
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  EXPECT_TRUE(is_silent(app_.one.get()));
  send_all(server_.other.get(), "0\r\n\r\n");
  EXPECT_TRUE(is_reset(app_.one.get()));
}

TEST_F(HandOffTest, ASilenceAfterEffectReadsTheAnswerAwayAndStaysSilent) {
  hub_->set_hang_limit(milliseconds(200));
  hand_off(HandOffKind::kDrainThenSilence);
  send_all(server_.other.get(), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(read_to_end(server_.other.get()), "");
  EXPECT_TRUE(is_reset(app_.one.get()));
  EXPECT_TRUE(any_contains(hub_->end_execution().notes, "caller still waited"));
}

TEST_F(HandOffTest, AServerThatNeverAnswersIsBoundedByTheHangLimit) {
  hub_->set_hang_limit(milliseconds(100));
  hand_off(HandOffKind::kDrainThenAnswer);
  EXPECT_TRUE(is_reset(app_.one.get()));
  EXPECT_TRUE(any_contains(hub_->end_execution().notes, "server's own answer did not end"));
}

TEST_F(HandOffTest, GarbageFromTheServerEndsTheReading) {
  hand_off(HandOffKind::kDrainThenAnswer);
  send_all(server_.other.get(), "\x01\x02 this is not HTTP\r\n\r\n");
  EXPECT_EQ(read_to_end(app_.one.get()), answer_);
}

// A request that waits (AgentHub::release).
class HoldTest : public HandOffTest {
 protected:
  void hold() {
    hub_->end_execution();
    PlannedRpcFault fault, planned;
    fault.index = key(1);
    fault.fault = parse_fault("status:503").value();
    planned.fault = parse_fault("latency:1ms").value();
    planned.edge = Edge{"", "movies", "", ""};
    planned.holds = true;
    ASSERT_TRUE(hub_->begin_execution(2, {fault, planned}).ok());
    rpc_ = agent_->issue(2, 1, "movies", "/m");
  }
  void hand_over() {
    HandOff message;
    message.kind = HandOffKind::kChange;
    message.rpc = rpc_;
    message.execution = 2;
    message.plan_entry = 1;
    ASSERT_TRUE(agent_->hand_off(message, {app_.other.get(), server_.one.get()}));
    app_.other.reset();
    server_.one.reset();
  }
  std::string asked(size_t size) {
    std::string out(size, ' ');
    const ssize_t got = ::recv(server_.other.get(), out.data(), size, MSG_WAITALL);
    out.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return out;
  }
};

TEST_F(HoldTest, LeavesWhenItIsReleasedAndIsAnswered) {
  hold();
  send_all(app_.one.get(), "GET /m HTTP/1.1\r\n\r\n");
  hand_over();
  while (!hub_->is_held(1)) std::this_thread::yield();
  EXPECT_FALSE(hub_->is_held(0));
  EXPECT_TRUE(is_silent(server_.other.get()));
  hub_->release(1);
  EXPECT_FALSE(hub_->is_held(1));
  EXPECT_EQ(asked(19), "GET /m HTTP/1.1\r\n\r\n");
  send_all(server_.other.get(), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(read_to_end(app_.one.get()), "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

TEST_F(HoldTest, WhatComesBehindItsReleaseIsNotHeld) {
  hold();
  hub_->release(1);
  send_all(app_.one.get(), "GET /m HTTP/1.1\r\n\r\n");
  hand_over();
  EXPECT_EQ(asked(19), "GET /m HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(hub_->is_held(1));
}

// The server's answer stops in the middle of its body.
class StallTest : public HandOffTest {
 protected:
  void stall() {
    hub_->end_execution();
    PlannedRpcFault planned;
    planned.index = key(1);
    planned.fault = parse_fault("slow-body").value();
    ASSERT_TRUE(hub_->begin_execution(2, {planned}).ok());
    rpc_ = agent_->issue(2, 1, "movies", "/m");
    HandOff message;
    message.kind = HandOffKind::kChange;
    message.rpc = rpc_;
    message.execution = 2;
    ASSERT_TRUE(agent_->hand_off(message, {app_.other.get(), server_.one.get()}));
    app_.other.reset();
    server_.one.reset();
    send_all(server_.other.get(), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd");
    const std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nab";
    std::string got(half.size(), ' ');
    EXPECT_EQ(::recv(app_.one.get(), got.data(), got.size(), MSG_WAITALL),
              static_cast<ssize_t>(got.size()));
    EXPECT_EQ(got, half);
  }
  HangLimit limit() {
    const ExecutionRecord record = hub_->end_execution();
    return record.rpcs.size() == 1 ? record.rpcs[0].hang_limit : HangLimit{};
  }
};

TEST_F(StallTest, LastsUntilTheHangLimitAndSaysThatTheCallerStillWaited) {
  hub_->set_hang_limit(milliseconds(200));
  stall();
  EXPECT_TRUE(is_reset(app_.one.get()));
  const HangLimit reached = limit();
  EXPECT_EQ(to_text(reached), "caller still waited after 0.2 s for the rest of the body");
  EXPECT_TRUE(reached.waited_on());
  EXPECT_FALSE(reached.has_no_timeout());
}

TEST_F(StallTest, EndsAtOnceForACallerThatWaitsWithoutALimit) {
  hub_->set_hang_limit(std::chrono::minutes(5));
  stall();
  agent_->emit(EventType::kNoLimit, 2, NoLimit{.rpc = rpc_ + 1});
  EXPECT_TRUE(is_silent(app_.one.get()));
  agent_->emit(EventType::kNoLimit, 2, NoLimit{.rpc = rpc_});
  EXPECT_TRUE(is_reset(app_.one.get()));
  const HangLimit reached = limit();
  EXPECT_EQ(to_text(reached), "caller has no limit for the body");
  EXPECT_TRUE(reached.waited_on());
}

TEST_F(StallTest, OfACallerThatGivesUpNothingIsSaid) {
  hub_->set_hang_limit(milliseconds(100));
  stall();
  app_.one.reset();
  // A silence that began later marks the time.
  app_ = tcp_pair();
  HandOff message;
  message.rpc = agent_->issue(2, 2, "movies", "/hangs");
  message.execution = 2;
  ASSERT_TRUE(agent_->hand_off(message, {app_.other.get()}));
  app_.other.reset();
  EXPECT_TRUE(is_reset(app_.one.get()));
  EXPECT_FALSE(any_contains(hub_->end_execution().notes, "/m: caller"));
}

TEST_F(HandOffTest, AHandOffOfAnExecutionThatIsOverIsReset) {
  hub_->end_execution();
  ASSERT_TRUE(hub_->begin_execution(2, {}).ok());
  hand_off(HandOffKind::kSilence);
  EXPECT_TRUE(is_reset(app_.one.get()));
}

TEST_F(HandOffTest, TheEndOfTheHubLetsNobodyHang) {
  hand_off(HandOffKind::kSilence);
  hub_.reset();
  // Reset; or just closed by the kernel, if the hub ended before it had read the hand-off.
  char byte;
  const ssize_t size = ::recv(app_.one.get(), &byte, 1, 0);
  EXPECT_TRUE(size == 0 || (size < 0 && errno == ECONNRESET));
}

}  // namespace
}  // namespace filibuster::test
