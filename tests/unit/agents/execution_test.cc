// The hub with agents: plan, lease, names, quiescence, ends of processes.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "core/index/execution_index.h"
#include "tests/unit/agents/fake_agent.h"

namespace filibuster::test {
namespace {

class Execution : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = AgentHub::start(hub_options(scratch_));
    ASSERT_TRUE(started.ok()) << started.error().message;
    hub_ = std::move(started).value();
  }
  bool agent_ended(uint32_t id) {
    return eventually([&] {
      for (const AgentRecord& agent : hub_->agents()) {
        if (agent.agent == id) return !agent.alive;
      }
      return false;
    });
  }
  Scratch scratch_;
  std::unique_ptr<AgentHub> hub_;
};

FaultSpec status_fault(uint16_t status, std::string body) {
  FaultSpec fault;
  fault.kind = FaultKind::kStatus;
  fault.status = status;
  fault.body = std::move(body);
  return fault;
}

PlannedRpcFault planned(const Hash128& index, const std::string& fault) {
  PlannedRpcFault out;
  out.index = index;
  out.fault = parse_fault(fault).value();
  return out;
}

TEST_F(Execution, ThePlanIsInLaneMemoryWhenItBegins) {
  FakeAgent agent(hub_->address(), "users");
  ASSERT_TRUE(agent.registered());
  PlannedRpcFault refused = planned(key(1), "refused");
  refused.connect_key = key(50);
  refused.service = "movies";
  refused.number = 4;
  refused.service_number = 7;
  refused.signature = key(51);
  refused.parent = key(52);
  refused.count = 3;
  PlannedRpcFault answer;
  answer.index = key(2);
  answer.fault = status_fault(503, "{\"down\":true}");
  const uint32_t before = agent.lane()->plan_sequence.load();
  ASSERT_TRUE(hub_->begin_execution(1, {refused, answer}).ok());
  const LaneMemory* lane = agent.lane();
  EXPECT_EQ(lane->state.load(), static_cast<uint32_t>(LaneState::kExecuting));
  EXPECT_EQ(lane->execution.load(), 1u);
  EXPECT_EQ(lane->plan_sequence.load() % 2, 0u);
  EXPECT_NE(lane->plan_sequence.load(), before);
  ASSERT_EQ(lane->plan_count, 2u);
  EXPECT_EQ(lane->plan[0].index, key(1));
  EXPECT_EQ(lane->plan[0].connect_key, key(50));
  EXPECT_EQ(lane->plan[0].parent_path, key(52));
  EXPECT_EQ(lane->plan[0].service_place, call_place(key(52), hash_text("movies"), Hash128{}));
  EXPECT_EQ(lane->plan[0].number, 0u) << "its connect is made elsewhere than its request";
  EXPECT_EQ(lane->plan[0].service_number, 7u);
  EXPECT_EQ(lane->connects_planned.load(), 1u);
  EXPECT_EQ(lane->plan[0].count, 3u);
  EXPECT_EQ(lane->plan[0].kind, static_cast<uint8_t>(FaultKind::kRefused));
  EXPECT_EQ(lane->plan[1].id, 1u);
  const auto* blob = reinterpret_cast<const char*>(lane->blob) + lane->plan[1].blob_offset;
  EXPECT_EQ(std::string(blob, lane->plan[1].blob_size), render_http_response(answer.fault, false));
  const std::string head(blob, lane->plan[1].blob_head_size);
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;

  hub_->end_execution();
  EXPECT_EQ(lane->state.load(), static_cast<uint32_t>(LaneState::kIdle));
}

TEST_F(Execution, WhatRedisShallSayIsInLaneMemory) {
  FakeAgent agent(hub_->address(), "users");
  ASSERT_TRUE(agent.registered());
  PlannedRpcFault error = planned(key(2), "redis:READONLY");
  error.fault.message = "not\nhere";
  ASSERT_TRUE(hub_->begin_execution(
                      1, {planned(key(1), "redis:LOADING"), error, planned(key(3), "redis:nil")})
                  .ok());
  const LaneMemory* lane = agent.lane();
  ASSERT_EQ(lane->plan_count, 3u);
  const auto line = [&](size_t i) {
    return std::string(reinterpret_cast<const char*>(lane->blob) + lane->plan[i].blob_offset,
                       lane->plan[i].blob_size);
  };
  EXPECT_EQ(lane->plan[0].kind, static_cast<uint8_t>(FaultKind::kRedis));
  EXPECT_EQ(line(0), "LOADING Redis is loading the dataset in memory");
  EXPECT_EQ(line(1), "READONLY not here");
  EXPECT_EQ(line(2), "");
  EXPECT_EQ(lane->plan[2].kind, static_cast<uint8_t>(FaultKind::kRedis));
  EXPECT_EQ(lane->options & kOptionLibraryCommands, 0u);
  hub_->end_execution();
}

TEST(LaneOptionsTest, SayWhetherWhatLibrariesSayIsAnRpc) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.library_commands = true;
  options.fast_timeouts = false;
  auto hub = AgentHub::start(options);
  ASSERT_TRUE(hub.ok()) << hub.error().message;
  FakeAgent agent(hub.value()->address(), "users");
  ASSERT_TRUE(agent.registered());
  EXPECT_EQ(agent.lane()->options, static_cast<uint32_t>(kOptionLibraryCommands));
}

TEST_F(Execution, CountersOfEarlierOnesAreClearedWhenTheyTakeTooMuchRoom) {
  FakeAgent agent(hub_->address(), "users");
  ASSERT_TRUE(agent.registered());
  LaneMemory* lane = agent.lane();
  lane->counters[5].key.store(99);
  lane->counters[5].count.store(4);
  lane->sites[5].key.store(98);
  lane->counters_used.store(kCounterSlots / 4);
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  EXPECT_EQ(lane->counters[5].key.load(), 99u);
  hub_->end_execution();
  lane->counters_used.fetch_add(1);
  ASSERT_TRUE(hub_->begin_execution(2, {}).ok());
  EXPECT_EQ(lane->counters[5].key.load(), 0u);
  EXPECT_EQ(static_cast<uint32_t>(lane->counters[5].count.load()), 0u);
  EXPECT_EQ(lane->counters_used.load(), 0u);
  EXPECT_EQ(lane->sites[5].key.load(), 98u) << "call sites are of the session";
}

TEST_F(Execution, APlanThatDoesNotFitIsAnError) {
  std::vector<PlannedRpcFault> many(kMaxPlanEntries + 1, planned(key(1), "reset"));
  EXPECT_FALSE(hub_->begin_execution(1, many).ok());
  PlannedRpcFault large;
  large.fault = status_fault(500, std::string(kBlobSize, 'x'));
  EXPECT_FALSE(hub_->begin_execution(1, {large}).ok());
  EXPECT_TRUE(hub_->begin_execution(1, {}).ok());
  EXPECT_FALSE(hub_->begin_execution(2, {}).ok()) << "1 is still running";
  hub_->end_execution();
  EXPECT_FALSE(hub_->begin_execution(1, {}).ok()) << "numbers grow";
}

TEST_F(Execution, TheLeaseIsRenewed) {
  FakeAgent agent(hub_->address(), "users");
  ASSERT_TRUE(agent.registered());
  const uint64_t lease = agent.lane()->lease_ns.load();
  EXPECT_LT(clock_ns() - lease, kLeaseNs);
  EXPECT_TRUE(eventually([&] { return agent.lane()->lease_ns.load() > lease; }));
}

// Somebody holds the hub's lock for longer than a lease: no fault must expire by that.
TEST_F(Execution, TheLeaseIsRenewedWhileTheHubIsBusy) {
  FakeAgent agent(hub_->address(), "users");
  ASSERT_TRUE(agent.registered());
  std::vector<TargetRow> rows;
  for (uint16_t port = 1; port <= kMaxTargets; ++port)
    rows.push_back({"127.0.0.1", port, "", "users", kTargetInApplication});
  hub_->add_targets(rows);
  rows = {rows.back(), rows.back()};
  rows.back().flags = kTargetThirdParty;  // each of them changes the table
  for (uint64_t took = 0; took < 2 * kLeaseNs;) {
    const uint64_t began = clock_ns();
    hub_->add_targets(rows);
    const uint64_t ended = clock_ns(), lease = agent.lane()->lease_ns.load();
    took = ended - began;
    EXPECT_LT(lease < ended ? ended - lease : 0, kLeaseNs);
    for (size_t count = rows.size(), i = 0; i < count; ++i) rows.push_back(rows[i]);
  }
}

TEST_F(Execution, ListeningSocketsAndConfiguredRowsBecomeTargets) {
  FakeAgent agent(hub_->address(), "users");
  ASSERT_TRUE(agent.registered());
  hub_->add_targets({{"", 6000, "", "daemon", kTargetNever}});
  agent.listen(5000, "users");
  agent.listen(6000, "users");  // configured otherwise: the configuration wins
  hub_->freeze_names();
  const LaneMemory* lane = agent.lane();
  ASSERT_EQ(lane->target_count, 2u);
  EXPECT_EQ(lane->target_version.load() % 2, 0u);
  EXPECT_EQ(lane->targets[0].flags, static_cast<uint32_t>(kTargetNever));
  EXPECT_EQ(lane->targets[1].port, 5000);
  EXPECT_EQ(lane->targets[1].flags, static_cast<uint32_t>(kTargetInApplication));
  EXPECT_EQ(std::string(lane->targets[1].service, lane->targets[1].service_size), "users");
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  EXPECT_FALSE(hub_->end_execution().names_changed);
}

TEST_F(Execution, ANameThatAnRpcShouldHaveHadIsReported) {
  FakeAgent agent(hub_->address(), "users");
  hub_->freeze_names();
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  agent.finish(1, agent.issue(1, 1, "localhost:5000", "/", "127.0.0.1:5000"));
  agent.listen(5000, "users");
  EXPECT_TRUE(hub_->end_execution().names_changed);
  ASSERT_TRUE(hub_->begin_execution(2, {}).ok());
  agent.finish(2, agent.issue(2, 2, "users", "/", "127.0.0.1:5000"));
  agent.listen(5000, "users");  // known by now
  EXPECT_FALSE(hub_->end_execution().names_changed);
}

TEST_F(Execution, ANameThatNobodyNeededBeforeChangesNothing) {
  FakeAgent agent(hub_->address(), "test");
  hub_->freeze_names();
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  agent.finish(1, agent.issue(1, 1, "users", "/", "127.0.0.1:5000"));
  agent.listen(40001, "test");
  agent.finish(1, agent.issue(1, 2, "test", "/", "127.0.0.1:40001"));
  EXPECT_FALSE(hub_->end_execution().names_changed);
}

TEST_F(Execution, AddressesOfAnEndedProcessMakeRoom) {
  FakeAgent first(hub_->address(), "users");
  FakeAgent second(hub_->address(), "movies");
  for (uint32_t i = 0; i < kMaxTargets; ++i) {
    first.listen(static_cast<uint16_t>(1000 + i), "users");
  }
  hub_->freeze_names();  // reads the rings
  const uint32_t id = first.welcome().agent;
  first.leave();
  ASSERT_TRUE(agent_ended(id));
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  second.listen(5000, "movies");
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_TRUE(std::any_of(second.lane()->targets, second.lane()->targets + kMaxTargets,
                          [](const Target128& row) { return row.port == 5000; }));
  EXPECT_FALSE(any_contains(record.notes, "table of services is full"));
}

TEST_F(Execution, EventsOfTwoProcessesBecomeOneRecord) {
  FakeAgent test(hub_->address(), "test");
  FakeAgent users(hub_->address(), "users");
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  const uint64_t rpc = test.issue(1, 1, "users", "/users/1");
  users.receive(1, rpc);
  const ExecutionRecord running = hub_->snapshot(StackLines::kOfAll);
  ASSERT_EQ(running.rpcs.size(), 1u);
  EXPECT_TRUE(running.rpcs[0].open);
  EXPECT_TRUE(running.rpcs[0].incoming_open);
  users.answer(1, rpc);
  test.finish(1, rpc);
  EXPECT_TRUE(hub_->wait_quiescent(milliseconds(2000)));
  const ExecutionRecord record = hub_->end_execution();
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(record.rpcs[0].caller, "test");
  EXPECT_EQ(record.rpcs[0].received_by, "users");
  EXPECT_EQ(record.rpcs[0].status, 200);
  EXPECT_FALSE(record.rpcs[0].open);
  EXPECT_TRUE(record.quiescent);
  EXPECT_EQ(record.lost_events, 0u);
}

TEST_F(Execution, OneMayFollowAnotherWithoutAnIdleLaneBetweenThem) {
  FakeAgent test(hub_->address(), "test");
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  const uint64_t first = test.issue(1, 1, "users", "/1");
  test.finish(1, first);
  test.lane()->counters_lost.store(3);
  const ExecutionRecord record = hub_->next_execution(2);
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_FALSE(record.rpcs[0].open);
  EXPECT_EQ(record.lost_events, 3u);
  EXPECT_EQ(test.lane()->execution.load(), 2u);
  EXPECT_EQ(test.lane()->state.load(), static_cast<uint32_t>(LaneState::kExecuting));
  EXPECT_TRUE(hub_->snapshot(StackLines::kOfAll).rpcs.empty());
  test.finish(2, test.issue(2, 2, "users", "/2"));
  const ExecutionRecord next = hub_->end_execution();
  ASSERT_EQ(next.rpcs.size(), 1u);
  EXPECT_EQ(next.rpcs[0].target, "/2");
  EXPECT_EQ(next.lost_events, 0u);
}

TEST_F(Execution, QuiescenceWaitsForAnOpenRpc) {
  FakeAgent test(hub_->address(), "test");
  FakeAgent users(hub_->address(), "users");
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  const uint64_t rpc = test.issue(1, 1, "users", "/");
  users.receive(1, rpc);
  test.finish(1, rpc);
  EXPECT_FALSE(hub_->wait_quiescent(milliseconds(5))) << "users has not answered";
  std::thread later([&] { users.answer(1, rpc); });
  EXPECT_TRUE(hub_->wait_quiescent(milliseconds(5000)));
  later.join();
  EXPECT_TRUE(hub_->end_execution().quiescent);
}

TEST_F(Execution, WhatIsStillOpenIsListed) {
  FakeAgent test(hub_->address(), "test");
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  const uint64_t rpc = test.issue(1, 1, "users", "/slow");
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_FALSE(record.quiescent);
  EXPECT_TRUE(any_contains(record.still_open, "/slow"));
  // Its end comes during the next one and is not of it.
  ASSERT_TRUE(hub_->begin_execution(2, {}).ok());
  test.finish(1, rpc);
  test.issue(1, 2, "users", "/later");
  EXPECT_TRUE(hub_->wait_quiescent(milliseconds(1000)));
  const ExecutionRecord next = hub_->end_execution();
  EXPECT_TRUE(next.rpcs.empty());
  EXPECT_TRUE(any_contains(next.late_calls, "/later"));
}

TEST_F(Execution, TheEndOfAProcessEndsWhatItHasOpen) {
  FakeAgent caller(hub_->address(), "test");
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  const uint64_t outer = caller.issue(1, 1, "users", "/outer");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FakeAgent users(hub_->address(), "users");
    users.receive(1, outer);
    users.issue(1, 2, "movies", "/inner");
    if (::write(ready[1], "x", 1) == 1) {
      for (;;) ::pause();
    }
    ::_exit(1);
  }
  ASSERT_GT(child, 0);
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(hub_->has_agent(static_cast<uint32_t>(child)));
  EXPECT_FALSE(hub_->wait_quiescent(milliseconds(5)));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  caller.finish(1, outer);
  EXPECT_TRUE(hub_->wait_quiescent(milliseconds(5000)));
  EXPECT_FALSE(hub_->has_agent(static_cast<uint32_t>(child)));
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_EQ(record.rpcs.size(), 2u) << "events survive their process";
  EXPECT_TRUE(any_contains(record.notes, "process ended"));
  EXPECT_EQ(record.lost_events, 0u);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(Execution, AnEventThatItsProcessDidNotFinishIsLost) {
  FakeAgent agent(hub_->address(), "users");
  const uint32_t id = agent.welcome().agent;
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  agent.ring()->head.fetch_add(64);  // reserved, never published
  EXPECT_FALSE(hub_->wait_quiescent(milliseconds(5)));
  agent.leave();
  ASSERT_TRUE(agent_ended(id));
  EXPECT_TRUE(hub_->wait_quiescent(milliseconds(1000)));
  EXPECT_EQ(hub_->end_execution().lost_events, 1u);
}

TEST_F(Execution, DroppedEventsAndLostCountersMakeItIncomplete) {
  FakeAgent agent(hub_->address(), "users");
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  agent.ring()->dropped.fetch_add(3);
  agent.lane()->lost(Incomplete::kCounters);
  agent.lane()->lost(Incomplete::kPlan);
  ExecutionRecord record = hub_->end_execution();
  EXPECT_EQ(record.lost_events, 5u);
  EXPECT_NE(record.lost_why.find(": 3 events did not fit into the ring"), std::string::npos)
      << record.lost_why;
  ASSERT_TRUE(hub_->begin_execution(2, {}).ok());
  agent.lane()->lost(Incomplete::kReadBeforeFault);
  agent.lane()->lost(Incomplete::kPlan);
  record = hub_->end_execution();
  EXPECT_EQ(record.lost_events, 2u);
  EXPECT_EQ(record.lost_why, incomplete_text(Incomplete::kReadBeforeFault)) << "the first reason";
  EXPECT_EQ(record.lost_cause, NoConclusion::kAnsweredEarly);
  ASSERT_TRUE(hub_->begin_execution(3, {}).ok());
  record = hub_->end_execution();
  EXPECT_EQ(record.lost_events, 0u);
  EXPECT_EQ(record.lost_why, "");
}

TEST_F(Execution, ACorruptedRingIsDroppedAndEveryExecutionOfItIsIncomplete) {
  FakeAgent bad(hub_->address(), "users");
  FakeAgent good(hub_->address(), "movies");
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  bad.issue(1, 1, "movies", "/");
  bad.ring()->head.store(~uint64_t{7});
  EXPECT_TRUE(hub_->wait_quiescent(milliseconds(1000))) << "its RPCs count as ended";
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_GT(record.lost_events, 0u);
  EXPECT_TRUE(any_contains(record.notes, "malformed"));
  ASSERT_TRUE(hub_->begin_execution(2, {}).ok());
  good.finish(2, good.issue(2, 1, "users", "/"));
  const ExecutionRecord next = hub_->end_execution();
  EXPECT_EQ(next.rpcs.size(), 1u);
  EXPECT_GT(next.lost_events, 0u) << "while it lives";
}

TEST_F(Execution, AMalformedEventOrMessageDropsItsAgent) {
  FakeAgent bad(hub_->address(), "users");
  ASSERT_TRUE(hub_->begin_execution(1, {}).ok());
  const uint8_t garbage[] = {1, 2, 3};
  bad.write(static_cast<uint16_t>(EventType::kRpcIssued), 1, garbage, 0);
  EXPECT_GT(hub_->end_execution().lost_events, 0u);

  FakeAgent talker(hub_->address(), "movies");
  ASSERT_TRUE(talker.send_bytes("nonsense", 8));
  EXPECT_TRUE(eventually([&] {
    const bool known = hub_->has_agent(static_cast<uint32_t>(::getpid()));
    return !known;
  }));
  FakeAgent good(hub_->address(), "good");
  EXPECT_TRUE(good.registered());
}

TEST_F(Execution, APlannedFaultThatDidNotFireSaysWhy) {
  FakeAgent test(hub_->address(), "test");
  ASSERT_TRUE(hub_->begin_execution(1, {planned(key(1), "reset"), planned(key(2), "timeout"),
                                        planned(key(3), "status:503")})
                  .ok());
  const uint64_t first = test.issue(1, 1, "users", "/1");
  test.fire(1, first, 0, FaultHow::kInjected);
  test.finish(1, first, true);
  const uint64_t second = test.issue(1, 2, "users", "/2");
  test.fire(1, second, 1, FaultHow::kLeaseExpired);
  test.finish(1, second);
  const ExecutionRecord record = hub_->end_execution();
  ASSERT_EQ(record.not_injected.size(), 2u);
  EXPECT_TRUE(any_contains(record.not_injected, "the daemon's lease is older than 1 s"));
  EXPECT_TRUE(
      std::any_of(record.not_injected.begin(), record.not_injected.end(),
                  [](const NotInjected& row) { return row.why == NoConclusion::kBusyMachine; }));
  EXPECT_TRUE(any_contains(record.not_injected, "its RPC was not issued"));
  ASSERT_EQ(record.rpcs.size(), 2u);
  EXPECT_TRUE(record.rpcs[0].injected);
  EXPECT_EQ(record.rpcs[0].fault.kind, FaultKind::kReset);
  EXPECT_FALSE(record.rpcs[1].injected);
}

}  // namespace
}  // namespace filibuster::test
