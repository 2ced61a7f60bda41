// Recordings of a hub: what its agents write reaches the sink, and nothing of what was written for another one.
#include "daemon/agents/tapes.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "tests/unit/agents/fake_agent.h"

namespace filibuster::test {
namespace {

class KeptRecords final : public RecordingSink {
 public:
  void event(const EventSource& source, const EventHead& head,
             std::span<const uint8_t> payload) override {
    const std::lock_guard lock(mutex_);
    if (head.type == static_cast<uint16_t>(EventType::kRpcAt)) {
      RpcAt event;
      EXPECT_TRUE(decode(payload.data(), payload.size(), &event));
      places_.push_back(event);
    }
    sources_.push_back(source.service);
  }
  void bytes(const EventSource& source, const EventHead& head, const TapeBytes& record) override {
    std::unique_lock lock(mutex_);
    inside_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !held_; });
    text_.append(record.bytes.begin(), record.bytes.end());
    sources_.push_back(source.service);
    executions_.push_back(head.execution);
  }
  void gap(const EventSource&, const EventHead&, const TapeGap& record) override {
    const std::lock_guard lock(mutex_);
    gaps_.push_back(record);
  }
  void closed(const EventSource&, const EventHead&, const TapeClosed& record) override {
    const std::lock_guard lock(mutex_);
    closed_.push_back(record);
  }
  void draw(const EventSource&, const EventHead&, const TapeDraw& record) override {
    const std::lock_guard lock(mutex_);
    draws_.emplace_back(record.bytes.begin(), record.bytes.end());
  }
  void lost(const EventSource&, uint64_t records) override {
    const std::lock_guard lock(mutex_);
    lost_ += records;
  }
  void ended(const EventSource& source) override {
    const std::lock_guard lock(mutex_);
    ended_.push_back(source.service);
  }

  // The sink takes nothing until it is let go.
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void wait_until_inside() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_; });
  }
  void let_go() {
    {
      const std::lock_guard lock(mutex_);
      held_ = false;
    }
    changed_.notify_all();
  }

  std::string text() { return read(text_); }
  std::vector<RpcAt> places() { return read(places_); }
  std::vector<TapeGap> gaps() { return read(gaps_); }
  std::vector<TapeClosed> closed_ends() { return read(closed_); }
  std::vector<std::string> sources() { return read(sources_); }
  std::vector<std::string> ended_agents() { return read(ended_); }
  std::vector<uint32_t> executions() { return read(executions_); }
  uint64_t missing() { return read(lost_); }

 private:
  template <typename T>
  T read(const T& member) {
    const std::lock_guard lock(mutex_);
    return member;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false, inside_ = false;
  std::string text_;
  std::vector<RpcAt> places_;
  std::vector<TapeGap> gaps_;
  std::vector<std::string> draws_;
  std::vector<TapeClosed> closed_;
  std::vector<std::string> sources_, ended_;
  std::vector<uint32_t> executions_;
  uint64_t lost_ = 0;
};

class RecordingOfAHub : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = AgentHub::start(hub_options(scratch_));
    ASSERT_TRUE(started.ok()) << started.error().message;
    hub_ = std::move(started).value();
    agent_ = std::make_unique<FakeAgent>(hub_->address(), "users");
    ASSERT_TRUE(agent_->registered());
  }
  void start(Recordings::What what = Recordings::What::kPlacesAndBytes) {
    sink_ = std::make_shared<KeptRecords>();
    const auto started = hub_->recordings().start(sink_, what);
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  static uint32_t number(FakeAgent& agent) { return agent.lane()->recording >> kRecordingShift; }

  // Writes a record as the preload does. False: it does not fit.
  static bool write(FakeAgent& agent, std::string_view text, uint32_t recording) {
    TapeBytes record;
    record.connection = 5;
    record.recording = recording;
    uint8_t head[kTapeBytesHead];
    encode_head(record, head);
    const std::span<const uint8_t> parts[] = {
        head, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}};
    return ring_write(agent.tape(), static_cast<uint16_t>(TapeType::kBytes), 9, clock_ns(), parts);
  }
  template <typename Record>
  static void write(FakeAgent& agent, TapeType type, Record record) {
    record.recording = number(agent);
    uint8_t bytes[100];
    const std::span<const uint8_t> part(bytes, encode(record, bytes, sizeof bytes));
    ASSERT_TRUE(ring_write(agent.tape(), static_cast<uint16_t>(type), 9, clock_ns(), {&part, 1}));
  }

  Scratch scratch_;
  std::unique_ptr<AgentHub> hub_;
  std::unique_ptr<FakeAgent> agent_;
  std::shared_ptr<KeptRecords> sink_;
};

TEST_F(RecordingOfAHub, IsWhatAgentsWriteWhileItRuns) {
  EXPECT_EQ(agent_->tape()->magic, kTapeMagic);
  EXPECT_EQ(agent_->tape()->size, kTapeBytes);
  EXPECT_EQ(agent_->lane()->recording, 0u);
  start();
  const uint32_t value = agent_->lane()->recording;
  EXPECT_EQ(value & (kRecordPlaces | kRecordBytes), uint32_t{kRecordPlaces | kRecordBytes});
  ASSERT_TRUE(hub_->begin_execution(9, {}).ok());
  const uint64_t rpc = agent_->issue(9, 1, "movies", "/1");
  agent_->emit(EventType::kRpcAt, 9, RpcAt{.rpc = rpc, .connection = 5, .number = 1});
  ASSERT_TRUE(write(*agent_, "hello", number(*agent_)));
  write(*agent_, TapeType::kGap, TapeGap{.connection = 5, .position = 9, .size = 4});
  write(*agent_, TapeType::kClosed, TapeClosed{.connection = 5, .requests = 9});
  hub_->recordings().look();
  EXPECT_EQ(sink_->text(), "hello");
  ASSERT_EQ(sink_->places().size(), 1u);
  EXPECT_EQ(sink_->places()[0].rpc, rpc);
  EXPECT_EQ(sink_->gaps().size(), 1u);
  EXPECT_EQ(sink_->closed_ends().size(), 1u);
  EXPECT_EQ(sink_->executions(), std::vector<uint32_t>{9});
  for (const std::string& service : sink_->sources()) EXPECT_EQ(service, "users");
  agent_->finish(9, rpc);
  hub_->recordings().stop();
  EXPECT_EQ(agent_->lane()->recording, 0u);
  EXPECT_EQ(sink_->missing(), 0u);
  // The execution is what it is without a recording.
  ASSERT_TRUE(hub_->wait_quiescent(milliseconds(5000)));
  EXPECT_EQ(hub_->end_execution().rpcs.size(), 1u);
}

TEST_F(RecordingOfAHub, IsReadByItsOwnThreadWithoutBeingAsked) {
  start();
  const std::string much(kMaxTapeBytes, 'x');
  uint64_t written = 0;
  // More than a tape holds.
  while (written < 3ull * kTapeBytes) {
    if (write(*agent_, much, number(*agent_))) {
      written += much.size();
    } else {
      std::this_thread::yield();
    }
  }
  hub_->recordings().stop();
  EXPECT_EQ(sink_->text().size(), written);
}

TEST_F(RecordingOfAHub, HasOnlyPlacesWhereThatIsAskedFor) {
  start(Recordings::What::kPlaces);
  EXPECT_EQ(agent_->lane()->recording & (kRecordPlaces | kRecordBytes), uint32_t{kRecordPlaces});
}

TEST_F(RecordingOfAHub, IsTheOnlyOneAtATime) {
  start();
  const auto second =
      hub_->recordings().start(std::make_shared<KeptRecords>(), Recordings::What::kPlaces);
  EXPECT_FALSE(second.ok());
  hub_->recordings().stop();
  hub_->recordings().stop();
  start();
  ASSERT_TRUE(write(*agent_, "hello", number(*agent_)));
  hub_.reset();
  EXPECT_EQ(sink_->text(), "hello") << "the end of the hub is the end of the recording";
}

TEST_F(RecordingOfAHub, HasNothingOfAnEarlierOne) {
  start();
  const uint32_t first = number(*agent_);
  hub_->recordings().stop();
  ASSERT_TRUE(write(*agent_, "late", first));
  start();
  EXPECT_NE(number(*agent_), first);
  ASSERT_TRUE(write(*agent_, "later", first));
  ASSERT_TRUE(write(*agent_, "now", number(*agent_)));
  hub_->recordings().look();
  EXPECT_EQ(sink_->text(), "now");
  EXPECT_EQ(sink_->missing(), 0u);
}

TEST_F(RecordingOfAHub, HasTheLastWordsOfAnAgentThatEnds) {
  start();
  // Held, so that the agent has ended before its tape is read.
  FakeAgent other(hub_->address(), "movies");
  ASSERT_TRUE(other.registered());
  sink_->hold();
  ASSERT_TRUE(write(*agent_, "first ", number(*agent_)));
  sink_->wait_until_inside();
  ASSERT_TRUE(write(other, "last words", number(*agent_)));
  other.leave();
  ASSERT_TRUE(eventually([&] { return hub_->agents().size() == 2 && !hub_->agents()[0].alive; }));
  sink_->let_go();
  hub_->recordings().look();
  EXPECT_EQ(sink_->text(), "first last words");
  EXPECT_EQ(sink_->ended_agents(), std::vector<std::string>{"movies"});
}

TEST_F(RecordingOfAHub, CountsWhatDidNotFit) {
  start();
  sink_->hold();
  ASSERT_TRUE(write(*agent_, "x", number(*agent_)));
  sink_->wait_until_inside();
  const std::string much(kMaxTapeBytes, 'x');
  uint64_t refused = 0;
  while (refused < 3) refused += write(*agent_, much, number(*agent_)) ? 0 : 1;
  sink_->let_go();
  hub_->recordings().stop();
  EXPECT_EQ(sink_->missing(), refused);
}

TEST_F(RecordingOfAHub, RefusesATapeThatIsNone) {
  const std::vector<std::function<void(FakeAgent&)>> harms = {
      [](FakeAgent& a) {  // a record without its fields
        const uint8_t bytes[] = {1, 2, 3};
        const std::span<const uint8_t> part(bytes);
        ring_write(a.tape(), static_cast<uint16_t>(TapeType::kBytes), 9, 1, {&part, 1});
      },
      [](FakeAgent& a) { write(a, std::string(kMaxTapeBytes + 1, 'x'), number(a)); },
      [](FakeAgent& a) { a.tape()->head = uint64_t{1} << 40; },
      [](FakeAgent& a) { a.tape()->tail = 64; },
  };
  ASSERT_TRUE(hub_->begin_execution(9, {}).ok());
  start();
  uint64_t lost = 0;
  for (const auto& harm : harms) {
    FakeAgent bad(hub_->address(), "bad");
    ASSERT_TRUE(bad.registered());
    harm(bad);
    hub_->recordings().look();
    EXPECT_GT(sink_->missing(), lost);
    lost = sink_->missing();
    // It is not read again, and nobody else suffers from it.
    write(bad, "after", number(bad));
    ASSERT_TRUE(write(*agent_, "good", number(*agent_)));
    hub_->recordings().look();
    EXPECT_EQ(sink_->missing(), lost);
    EXPECT_TRUE(sink_->text().ends_with("good"));
    EXPECT_EQ(sink_->text().find("after"), std::string::npos);
  }
  ASSERT_TRUE(hub_->wait_quiescent(milliseconds(5000)));
  EXPECT_EQ(hub_->end_execution().lost_events, 0u);
}

TEST_F(RecordingOfAHub, EndsWhereAnAgentDiedInTheMiddleOfARecord) {
  start();
  {
    FakeAgent dead(hub_->address(), "dead");
    ASSERT_TRUE(dead.registered());
    dead.tape()->head = 64;  // reserved, and never published
    dead.leave();
  }
  ASSERT_TRUE(eventually([&] {
    hub_->recordings().look();
    return !sink_->ended_agents().empty();
  }));
  hub_->recordings().stop();
  EXPECT_EQ(sink_->missing(), 1u);
}

}  // namespace
}  // namespace filibuster::test
