// HTTP/2 connections handed off to a hub's relay by a fake agent: real sockets, real sessions
// (libnghttp2) at both ends.
#include <fcntl.h>
#include <poll.h>

#include <optional>
#include <set>

#include "core/protocol/relay.h"
#include "tests/unit/agents/fake_agent.h"
#include "tests/unit/agents/tcp_pair.h"
#include "tests/unit/relay/peers.h"
#include "tests/unit/relay/requests.h"

namespace filibuster::test {
namespace {

// A session on a socket.
struct SocketEnd {
  SocketEnd(bool is_server, size_t table, uint32_t window) : session(is_server, table, window) {}

  // Reads and writes what there is. False: the other end closed or reset the connection.
  bool move(std::map<int32_t, StreamOrder>* orders = nullptr) {
    for (const std::string& frame : session.frames()) {
      const auto header = http2::read_frame_header(frame.data());
      if (orders != nullptr && header.type == http2::FrameType::kHeaders) {
        const auto place = orders->find(static_cast<int32_t>(header.stream));
        if (place != orders->end()) {
          char order[kOrderFrameSize];
          write_order(header.stream, place->second, order);
          unsent.append(order, sizeof order);
        }
      }
      unsent += frame;
    }
    while (!unsent.empty()) {
      const ssize_t size =
          ::send(fd.get(), unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0) break;
      unsent.erase(0, static_cast<size_t>(size));
    }
    char buffer[65536];
    while (reading && !ended) {
      const ssize_t size = ::recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      was_reset = size < 0;
      ended = size <= 0;
      if (ended) break;
      received += static_cast<size_t>(size);
      EXPECT_TRUE(session.receive({buffer, static_cast<size_t>(size)}));
    }
    return !ended;
  }

  pollfd wanted() const {
    const bool write = !unsent.empty() || nghttp2_session_want_write(session.session) != 0;
    const int events = (reading && !ended ? POLLIN : 0) | (write ? POLLOUT : 0);
    return {fd.get(), static_cast<short>(events), 0};
  }

  Session session;
  UniqueFd fd;
  std::string unsent;
  bool reading = true;
  bool ended = false;  // of its reading
  bool was_reset = false;
  size_t received = 0;
};

class RelayHandOff : public ::testing::Test {
 protected:
  void SetUp() override { start({}); }
  void start(const std::vector<std::string>& faults) {
    hub_.reset();
    auto started = AgentHub::start(hub_options(scratch_));
    ASSERT_TRUE(started.ok()) << started.error().message;
    hub_ = std::move(started).value();
    agent_ = std::make_unique<FakeAgent>(hub_->address(), "users");
    ASSERT_TRUE(agent_->registered());
    std::vector<PlannedRpcFault> plan;
    for (const std::string& text : faults) {
      plan.emplace_back();
      plan.back().index = key(1 + plan.size());
      plan.back().fault = parse_fault(text).value();
      if (plan.back().fault.kind == FaultKind::kStatus) plan.back().fault.body = body_;
    }
    ASSERT_TRUE(hub_->begin_execution(1, plan).ok());
    for (uint32_t number = 1; number <= faults.size(); ++number) {
      agent_->issue(1, number, "cart", "/a");
      agent_->fire(1, agent_->rpc(number), number - 1, FaultHow::kInjected);
      agent_->finish(1, agent_->rpc(number), true);
    }
    connect();
  }
  // The beginning of a connection; then it is handed off.
  void connect(uint32_t window = 65535) {
    client_open_ = server_open_ = true;
    answered_.clear();
    client_.emplace(false, 0, window);
    server_.emplace(true, 4096, window);
    Pair application = tcp_pair(), real = tcp_pair();
    client_->fd = std::move(application.one);
    server_->fd = std::move(real.other);
    for (const std::string& frame : client_->session.frames()) server_->session.receive(frame);
    for (const std::string& frame : server_->session.frames()) client_->session.receive(frame);
    RelayState state;
    state.client_max_frame_size = state.server_max_frame_size = 16384;
    state.client_initial_window = window;
    state.client_window = 65535;
    state.server_settings_seen = 1;
    hand_off(state, "", application.other.get(), real.one.get());
  }
  void hand_off(const RelayState& state, const std::string& table, int held, int real) {
    HandOff head;
    head.kind = HandOffKind::kRelay;
    std::string tail(reinterpret_cast<const char*>(&state), sizeof state);
    ASSERT_TRUE(agent_->hand_off(head, {held, real}, tail + table));
  }
  int32_t order(int32_t id, uint32_t entry, uint32_t execution = 1) {
    StreamOrder o;
    o.rpc = agent_->rpc(entry + 1);
    o.execution = execution;
    o.plan_entry = entry;
    orders_[id] = o;
    return id;
  }
  int32_t faulted(uint32_t entry) { return order(client_->session.request(kGet), entry); }

  // The server answers whole requests; both ends move until `done`.
  bool move_until(const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      // An end that reads no more may still have to answer.
      if (client_->fd.valid()) client_open_ = client_->move(&orders_);
      if (server_->fd.valid()) server_open_ = server_->move();
      for (const int32_t id : server_->session.requests) {
        if (!answering_ || !server_->session.streams[id].ended || !answered_.insert(id).second) {
          continue;
        }
        server_->session.respond(id, {{":status", "200"}}, answer_);
      }
      std::vector<pollfd> waiting;
      for (const SocketEnd* end : {&*client_, &*server_}) {
        if (end->fd.valid()) waiting.push_back(end->wanted());
      }
      ::poll(waiting.data(), waiting.size(), 5);
    }
    return true;
  }
  bool ended(int32_t id) {
    const Received& r = client_->session.streams[id];
    return r.ended || r.reset;
  }

  Scratch scratch_;
  std::unique_ptr<AgentHub> hub_;
  std::unique_ptr<FakeAgent> agent_;
  std::optional<SocketEnd> client_, server_;
  std::map<int32_t, StreamOrder> orders_;
  std::string body_ = "down";
  std::string answer_ = "answer";
  bool answering_ = true;
  bool client_open_ = true, server_open_ = true;
  std::set<int32_t> answered_;
};

TEST_F(RelayHandOff, AStatusGoesToItsStreamAndTheOthersToTheServer) {
  start({"status:503", "grpc:UNAVAILABLE", "status:500:after"});
  const int32_t first = client_->session.request(kGet);
  const int32_t status = faulted(0), grpc = faulted(1), after = faulted(2);
  const int32_t last = client_->session.request(kGet);
  ASSERT_TRUE(move_until(
      [&] { return ended(first) && ended(status) && ended(grpc) && ended(after) && ended(last); }));
  auto& got = client_->session.streams;
  EXPECT_EQ(got[first].data, "answer");
  EXPECT_EQ(got[status].field(":status"), "503");
  EXPECT_EQ(got[status].data, "down");
  EXPECT_EQ(got[grpc].field("grpc-status"), "14");
  EXPECT_EQ(got[after].field(":status"), "500");
  EXPECT_EQ(got[last].data, "answer");
  EXPECT_EQ(server_->session.requests, (std::vector<int32_t>{first, after, last}));
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_EQ(record.lost_events, 0u);
  EXPECT_TRUE(record.notes.empty()) << record.notes[0];
}

TEST_F(RelayHandOff, ASilenceEndsAtTheHangLimitWhichIsSaid) {
  start({"timeout"});
  hub_->set_hang_limit(milliseconds(200));
  const int32_t id = faulted(0);
  ASSERT_TRUE(move_until([&] { return ended(id); }));
  EXPECT_EQ(client_->session.streams[id].error, NGHTTP2_CANCEL);
  const ExecutionRecord record = hub_->end_execution();
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(to_text(record.rpcs[0].hang_limit), "caller still waited after 0.2 s for an answer");
}

TEST_F(RelayHandOff, TheEndOfTheExecutionEndsItsSilencesAndNothingElse) {
  start({"timeout"});
  hub_->set_hang_limit(std::chrono::minutes(5));  // does not end it
  const int32_t silent = faulted(0);
  const int32_t other = client_->session.request(kGet);
  ASSERT_TRUE(move_until([&] { return ended(other); }));
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_FALSE(any_contains(record.notes, "no timeout"));
  ASSERT_TRUE(move_until([&] { return ended(silent); }));
  EXPECT_EQ(client_->session.streams[silent].error, NGHTTP2_CANCEL);
  // The connection goes on through the executions that follow.
  PlannedRpcFault planned;
  planned.index = key(9);
  planned.fault = parse_fault("status:418").value();
  ASSERT_TRUE(hub_->begin_execution(2, {planned}).ok());
  const int32_t late = order(client_->session.request(kGet), 0);  // of execution 1
  const int32_t next = order(client_->session.request(kGet), 0, 2);
  ASSERT_TRUE(move_until([&] { return ended(next) && ended(late); }));
  EXPECT_EQ(client_->session.streams[next].field(":status"), "418");
  EXPECT_EQ(client_->session.streams[late].error, NGHTTP2_CANCEL);
  EXPECT_EQ(hub_->end_execution().lost_events, 0u);
}

TEST_F(RelayHandOff, AnOrderThatIsNotInThePlanSpoilsTheExecution) {
  start({"status:503"});
  const int32_t id = order(client_->session.request(kGet), 5);
  ASSERT_TRUE(move_until([&] { return ended(id); }));
  EXPECT_EQ(client_->session.streams[id].error, NGHTTP2_CANCEL);
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_EQ(record.lost_events, 1u);
  EXPECT_TRUE(any_contains(record.notes, "not in the plan"));
}

TEST_F(RelayHandOff, AResetOfTheOnlyStreamResetsTheConnection) {
  start({"reset"});
  faulted(0);
  ASSERT_TRUE(move_until([&] { return !client_open_ && !server_open_; }));
  EXPECT_TRUE(client_->was_reset);
  EXPECT_FALSE(server_->was_reset);
  EXPECT_TRUE(server_->session.requests.empty());
}

TEST_F(RelayHandOff, TheEndOfTheSessionRetiresTheConnectionAndItsStreamsEnd) {
  start({});
  answering_ = false;
  const int32_t open = client_->session.request(kGet);
  ASSERT_TRUE(move_until([&] { return server_->session.requests.size() == 1; }));
  std::thread end([&] { hub_.reset(); });
  EXPECT_TRUE(move_until([&] { return client_->session.goaway_last == open; }));
  answering_ = true;
  EXPECT_TRUE(move_until([&] { return !client_open_ && !server_open_; }));
  client_->fd.reset();
  const auto before = std::chrono::steady_clock::now();
  end.join();
  EXPECT_LT(std::chrono::steady_clock::now() - before, milliseconds(900));  // no limit was needed
  EXPECT_EQ(client_->session.streams[open].data, "answer");
  EXPECT_FALSE(client_->was_reset);
}

TEST_F(RelayHandOff, LongBodiesGoBothWaysThroughSmallAndLargeWindows) {
  for (const uint32_t window : {10'000u, 10'000'000u}) {
    body_.assign(120'000, 'o');  // two of them fit into a plan
    answer_.assign(5'000'000, 'r');
    start({"status:503", "status:503:after"});
    connect(window);
    const std::string upload(2'000'000, 'u');
    const int32_t ours = order(client_->session.request_with_body(kGet, upload), 0);
    const int32_t after = order(client_->session.request_with_body(kGet, upload), 1);
    const int32_t real = client_->session.request_with_body(kGet, upload);
    ASSERT_TRUE(move_until([&] { return ended(ours) && ended(after) && ended(real); }));
    auto& got = client_->session.streams;
    EXPECT_TRUE(got[ours].data == body_);
    EXPECT_TRUE(got[after].data == body_);
    EXPECT_TRUE(got[real].data == answer_);
    EXPECT_EQ(server_->session.streams[after].data.size(), upload.size());
    EXPECT_EQ(server_->session.streams[real].data.size(), upload.size());
    EXPECT_FALSE(server_->session.streams.contains(ours));
    EXPECT_TRUE(client_->session.lines.empty());
  }
}

TEST_F(RelayHandOff, AClientThatDoesNotReadStopsTheServer) {
  constexpr size_t kAll = 64u << 20;
  answer_.assign(kAll, 'r');
  start({});
  connect(1u << 30);
  // Window for all of it, also of the connection.
  nghttp2_session_set_local_window_size(client_->session.session, 0, 0, 1 << 30);
  const int32_t id = client_->session.request(kGet);
  client_->reading = false;
  size_t unsent = 0;
  // Until the server can send no more.
  ASSERT_TRUE(move_until([&] {
    const bool stuck = unsent != 0 && unsent == server_->unsent.size();
    unsent = server_->unsent.size();
    return stuck;
  }));
  EXPECT_GT(unsent, kAll / 2);
  client_->reading = true;
  ASSERT_TRUE(move_until([&] { return ended(id); }));
  EXPECT_EQ(client_->session.streams[id].data.size(), kAll);
}

TEST_F(RelayHandOff, EndsAndResetsPassOn) {
  start({});
  const auto hello = [&] {
    const int32_t id = client_->session.request(kGet);
    return move_until([&] { return ended(id); });
  };
  ASSERT_TRUE(hello());
  client_->fd.reset();
  client_open_ = false;
  ASSERT_TRUE(move_until([&] { return !server_open_; }));
  EXPECT_FALSE(server_->was_reset);

  connect();
  ASSERT_TRUE(hello());
  server_->fd.reset();
  server_open_ = false;
  ASSERT_TRUE(move_until([&] { return !client_open_; }));
  EXPECT_FALSE(client_->was_reset);

  const auto reset = [](SocketEnd* end) {
    const linger now{1, 0};
    ::setsockopt(end->fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    end->fd.reset();
  };
  connect();
  ASSERT_TRUE(hello());
  reset(&*client_);
  client_open_ = false;
  ASSERT_TRUE(move_until([&] { return !server_open_; }));
  EXPECT_TRUE(server_->was_reset);

  connect();
  ASSERT_TRUE(hello());
  reset(&*server_);
  server_open_ = false;
  ASSERT_TRUE(move_until([&] { return !client_open_; }));
  EXPECT_TRUE(client_->was_reset);

  // Half: the server's answer comes still.
  connect();
  const int32_t id = client_->session.request(kGet);
  client_->move(&orders_);
  ::shutdown(client_->fd.get(), SHUT_WR);
  ASSERT_TRUE(move_until([&] { return ended(id) || !client_open_; }));
  EXPECT_EQ(client_->session.streams[id].data, "answer");
}

TEST_F(RelayHandOff, AHandOffThatMakesNoSenseIsRefused) {
  Pair application = tcp_pair(), real = tcp_pair();
  RelayState state;
  state.server_settings_seen = 1;
  state.table_size = 3;
  hand_off(state, "\xff\xff\xff", application.other.get(), real.one.get());
  application.other.reset();
  EXPECT_TRUE(is_reset(application.one.get()));
  // Less than it says: this agent is not believed any more.
  application = tcp_pair();
  state.table_size = 100;
  hand_off(state, "short", application.other.get(), real.one.get());
  application.other.reset();
  EXPECT_TRUE(is_reset(application.one.get()));
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_TRUE(any_contains(record.notes, "the state of a handed-off HTTP/2 connection"));
  EXPECT_TRUE(any_contains(record.notes, "sent a malformed message"));
  EXPECT_EQ(record.lost_events, 2u);
}

}  // namespace
}  // namespace filibuster::test
