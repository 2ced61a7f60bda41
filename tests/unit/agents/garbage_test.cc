// What a process of the same user sends to the hub, or writes into the ring that it shares with it,
// harms nobody but itself. TORTURE=1: more of it.
#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>

#include "tests/unit/agents/fake_agent.h"

namespace filibuster::test {
namespace {

size_t times(size_t often) {
  return std::getenv("TORTURE") != nullptr ? 50 * often : often;
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

template <typename Message>
std::string bytes_of(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

class Garbage : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = AgentHub::start(hub_options(scratch_));
    ASSERT_TRUE(started.ok()) << started.error().message;
    hub_ = std::move(started).value();
    good_ = std::make_unique<FakeAgent>(hub_->address(), "users");
    ASSERT_TRUE(good_->registered());
  }
  uint64_t chosen(uint64_t below) { return random_() % below; }

  void begin() {
    ASSERT_TRUE(hub_->begin_execution(++execution_, {}).ok());
    good_->issue(execution_, execution_, "movies", "/good");
  }
  // What the good one said is there, and nothing was done to it.
  ExecutionRecord end(bool quiescent = true) {
    good_->finish(execution_, good_->rpc(execution_));
    EXPECT_TRUE(hub_->wait_quiescent(milliseconds(quiescent ? 5000 : 50)) || !quiescent);
    ExecutionRecord record = hub_->end_execution();
    const auto rpc = std::find_if(record.rpcs.begin(), record.rpcs.end(), [](const RpcRecord& r) {
      return r.target == "/good" && r.service == "movies";
    });
    EXPECT_TRUE(rpc != record.rpcs.end() && rpc->status == 200);
    EXPECT_TRUE(FakeAgent(hub_->address(), "late").registered());
    return record;
  }
  // As many descriptors, of any kind; they are closed with `kept`.
  std::vector<int> some_descriptors(size_t number, std::vector<UniqueFd>* kept) {
    std::vector<int> out;
    while (out.size() < number) {
      int pair[2] = {-1, -1};
      switch (chosen(4)) {
        case 0:
          EXPECT_EQ(::pipe2(pair, O_CLOEXEC), 0);
          break;
        case 1:
          EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
          break;
        case 2:
          pair[0] = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
          break;
        default:
          pair[0] = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
      }
      out.push_back(pair[0]);
      kept->emplace_back(pair[0]);
      if (pair[1] >= 0) kept->emplace_back(pair[1]);
    }
    return out;
  }
  std::string any_message(uint64_t rpc) {
    std::string bytes;
    if (chosen(3) == 0) {
      Hello hello;
      hello.pid = static_cast<uint32_t>(chosen(2) == 0 ? ::getpid() : random_());
      hello.lane = static_cast<uint32_t>(chosen(3));
      std::memset(hello.service, 's', sizeof hello.service);
      std::memset(hello.notes, 'n', sizeof hello.notes);
      bytes = bytes_of(hello);
    } else {
      HandOff message;
      message.kind = static_cast<HandOffKind>(chosen(8));
      message.rpc = chosen(3) == 0 ? random_() : rpc;
      message.plan_entry = static_cast<uint32_t>(chosen(4) == 0 ? random_() : 0);
      message.execution = static_cast<uint32_t>(execution_ + chosen(3) - 1);
      bytes = bytes_of(message);
    }
    if (chosen(2) == 0) bytes.resize(chosen(bytes.size()));
    if (chosen(3) == 0) bytes.resize(bytes.size() + chosen(70'000), static_cast<char>(random_()));
    for (uint64_t i = chosen(4); i > 0 && !bytes.empty(); --i)
      bytes[chosen(bytes.size())] = static_cast<char>(random_());
    return bytes;
  }

  Scratch scratch_;
  std::unique_ptr<AgentHub> hub_;
  std::unique_ptr<FakeAgent> good_;
  std::mt19937_64 random_{1};
  uint32_t execution_ = 0;
};

TEST_F(Garbage, MessagesOfAnyKindWithDescriptorsOfAnyKind) {
  const size_t before = open_descriptors();
  for (size_t round = 0; round < times(40); ++round) {
    begin();
    for (int agent = 0; agent < 4; ++agent) {
      auto bad = chosen(2) == 0 ? std::make_unique<FakeAgent>(hub_->address())
                                : std::make_unique<FakeAgent>(hub_->address(), "bad");
      for (int n = 0; n < 4; ++n) {
        std::vector<UniqueFd> kept;
        const auto descriptors = some_descriptors(chosen(5), &kept);
        if (!bad->send_with(any_message(bad->rpc(1)), descriptors)) break;  // it was put out
      }
    }
    end();
  }
  // (One of `end` may be there still.) The file of the machine's load is open since the first execution; and
  // this process has given up registrations: its end is waited for.
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before + 2; })) << open_descriptors();
}

TEST_F(Garbage, RingsThatAreWrittenOver) {
  for (size_t round = 0; round < times(20); ++round) {
    FakeAgent bad(hub_->address(), "bad");
    ASSERT_TRUE(bad.registered());
    begin();
    RingMemory* ring = bad.ring();
    const uint64_t number = random_();
    switch (round % 5) {
      case 0:
        for (size_t at = 0; at + 8 <= kRingBytes; at += 8) {
          const uint64_t word = random_();
          std::memcpy(ring->data + at, &word, sizeof word);
        }
        ring->head.store(number % (2 * kRingBytes));
        break;
      case 1:
        ring->head.store(number);
        break;
      case 2:
        ring->tail.store(number | 1);
        break;
      case 3:
        ring->corrupted.store(number | 1);
        break;
      default:
        // (A record that was right before would be read before, too.)
        reinterpret_cast<RecordHeader*>(ring->data)->size.store(static_cast<uint32_t>(number | 1));
        ring->head.store(sizeof(RecordHeader));
    }
    const ExecutionRecord record = end(/*quiescent=*/false);
    EXPECT_GT(record.lost_events, 0u) << "the execution is incomplete: " << round % 5;
  }
}

TEST_F(Garbage, EventsThatAreNone) {
  for (size_t round = 0; round < times(20); ++round) {
    FakeAgent bad(hub_->address(), "bad");
    ASSERT_TRUE(bad.registered());
    begin();
    for (int n = 0; n < 50; ++n) {
      std::vector<uint8_t> part(chosen(200));
      for (uint8_t& byte : part) byte = static_cast<uint8_t>(random_());
      bad.write(static_cast<uint16_t>(chosen(20)), execution_, part, 0);
    }
    EXPECT_GT(end(/*quiescent=*/false).lost_events, 0u);
  }
}

TEST_F(Garbage, ARingThatIsScribbledOnWhileItIsRead) {
  FakeAgent bad(hub_->address(), "bad");
  ASSERT_TRUE(bad.registered());
  std::atomic<bool> over{false};
  std::thread scribbler([&] {
    std::mt19937_64 random(2);
    while (!over) {
      bad.ring()->head.store(random() % kRingBytes);
      bad.ring()->data[random() % 4096] = static_cast<uint8_t>(random());
    }
  });
  for (size_t round = 0; round < times(5); ++round) {
    begin();
    end(/*quiescent=*/false);
  }
  over = true;
  scribbler.join();
}

TEST_F(Garbage, AnAgentSaysNothingOfAnothersRpcs) {
  FakeAgent bad(hub_->address(), "bad");
  ASSERT_TRUE(bad.registered());
  begin();
  RpcFinished finished;
  finished.rpc = good_->rpc(execution_);
  finished.status = 599;
  bad.emit(EventType::kRpcFinished, execution_, finished);
  // Read before the good one's own end.
  hub_->snapshot(StackLines::kOfAll);
  const ExecutionRecord record = end();
  EXPECT_EQ(record.rpcs.size(), 1u);
  EXPECT_TRUE(any_contains(record.notes, "malformed"));
  EXPECT_GT(record.lost_events, 0u);
}

}  // namespace
}  // namespace filibuster::test
