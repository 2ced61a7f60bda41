#include "daemon/observe/observation.h"

#include <gtest/gtest.h>

#include "daemon/report/unknown_cause.h"
#include "tests/unit/observe/record_recipe.h"

namespace filibuster::test {
namespace {

RpcRecord call(uint64_t id, uint64_t parent_id, const std::string& caller,
               const std::string& service) {
  RpcRecord rpc = rpc_with(RpcOutcome::kAnswered, 200);
  rpc.rpc = id;
  rpc.parent_rpc = parent_id;
  rpc.index = Hash128{1, id};
  rpc.parent = parent_id == 0 ? Hash128{} : Hash128{1, parent_id};
  rpc.caller = caller;
  rpc.service = service;
  rpc.method = "GET";
  rpc.target = "/" + service + "?q=1";
  rpc.cause = parent_id == 0 ? Cause::kEntry : Cause::kThread;
  rpc.stack_text = {service + ".py:1 (f)"};
  return rpc;
}

// test -> users -> bookings, and users -> movies
ExecutionRecord cinema() {
  ExecutionRecord record;
  record.rpcs = {call(1, 0, "test", "users"), call(2, 1, "users", "bookings"),
                 call(3, 1, "users", "movies")};
  return record;
}

class ObservationTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = search::SearchStore::open(":memory:");
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(opened).value();
    outcomes_ = std::make_unique<OutcomeTable>(store_.get());
  }
  Observation seen(const ExecutionRecord& record) {
    auto out = observe(config_, record, outcomes_.get());
    EXPECT_TRUE(out.ok());
    return std::move(out).value();
  }
  Config config_;
  std::unique_ptr<search::SearchStore> store_;
  std::unique_ptr<OutcomeTable> outcomes_;
};

TEST_F(ObservationTest, NamesRpcsByWhatTheMasksLeave) {
  ExecutionRecord record = cinema();
  RpcRecord& rpc = record.rpcs[1];
  rpc.target = "/orders/7f3a/items";
  NondeterminismRule rule;
  rule.path = "/orders/*/items";
  rule.path_segments = {2};
  EXPECT_EQ(describe_rpc(rpc), "users -> bookings GET /orders/7f3a/items");
  EXPECT_EQ(describe_rpc(rpc, {rule}), "users -> bookings GET /orders/*/items");
  const auto out = observe(config_, record, outcomes_.get(), {}, {rule});
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(out.value().faulted.contains("users -> bookings GET /orders/*/items"));
}

// What varies from run to run says nothing of a change.
TEST_F(ObservationTest, AnOutcomeThatVariesIsNamed) {
  ExecutionRecord record = cinema();
  record.rpcs[0].flags |= kRpcEntry;
  EXPECT_EQ(seen(record).outcome_varies, (std::vector<bool>{false, false, false}));
  UnstableRpcs unstable;
  const RpcRecord& rpc = record.rpcs[1];
  UnstableKind kind{rpc.caller, rpc.service, rpc.method, "", rpc.stack, "how it ends"};
  kind.answer = kind.ending = true;
  unstable.add(kind);
  const auto again = UnstableRpcs::from_json(unstable.to_json());
  ASSERT_TRUE(again.ok());
  const auto out = observe(config_, record, outcomes_.get(), again.value());
  ASSERT_TRUE(out.ok());
  // Whom its caller carries no agent for was answered with what it made of that.
  EXPECT_TRUE(out->outcome_varies[0]);
  EXPECT_TRUE(out->outcome_varies[1]);
}

// Nobody saw the body of what it was answered: what the service had to make it of stands for that.
TEST_F(ObservationTest, TheAnswerToACallerWithoutAnAgentCountsByWhatItWasMadeOf) {
  ExecutionRecord record = cinema();
  record.rpcs[0].flags |= kRpcEntry;
  const search::OutcomeId whole = seen(record).rpcs[0].outcome;
  EXPECT_EQ(seen(record).rpcs[0].outcome, whole);
  std::swap(record.rpcs[1], record.rpcs[2]);  // they are concurrent
  EXPECT_EQ(seen(record).rpcs[0].outcome, whole);
  record.rpcs[1].response = hash_text("a part of it is missing");
  const search::OutcomeId degraded = seen(record).rpcs[0].outcome;
  EXPECT_NE(degraded, whole);
  EXPECT_EQ(status_alone(store_->outcome_text(degraded)),
            status_alone(store_->outcome_text(whole)));
}

TEST_F(ObservationTest, TheTestsOwnCallsAreNotFaulted) {
  const Observation out = seen(cinema());
  ASSERT_EQ(out.rpcs.size(), 3u);
  EXPECT_TRUE(out.rpcs[0].faults.empty());
  EXPECT_EQ(out.rpcs[1].faults.size(), 5u);
  EXPECT_EQ(out.rpcs[2].faults.size(), 5u);
  EXPECT_EQ(out.rpcs[1].parent, out.rpcs[0].index);
  EXPECT_TRUE(out.left_out.empty());
}

TEST_F(ObservationTest, TheTestsOwnCallsAreFaultedWhereTheConfigurationSaysSo) {
  config_.fault_test_calls = true;
  EXPECT_EQ(seen(cinema()).rpcs[0].faults.size(), 5u);
  config_.fault_test_calls = false;
  FaultRule rule;
  rule.caller = "test";
  rule.inject = {fault("refused")};
  config_.faults = {rule};
  EXPECT_EQ(seen(cinema()).rpcs[0].faults.size(), 1u);
}

TEST_F(ObservationTest, FaultsKeepTheirConfiguredOrderAndTheirIds) {
  const Observation out = seen(cinema());
  std::vector<std::string> texts;
  for (const search::OutcomeId id : out.rpcs[1].faults) {
    ASSERT_NE(outcomes_->fault(id), nullptr);
    texts.push_back(to_text(*outcomes_->fault(id)));
  }
  const std::vector<std::string> expected{"refused", "timeout", "status:500", "status:502",
                                          "status:503"};
  EXPECT_EQ(texts, expected);
}

TEST_F(ObservationTest, AGrpcCallGetsTheFaultsOfItsProtocol) {
  ExecutionRecord record = cinema();
  record.rpcs[1].flags |= kRpcHttp2 | kRpcGrpc;
  record.rpcs[1].target = "/shop.CartService/GetCart";
  const Observation out = seen(record);
  ASSERT_EQ(out.rpcs[1].faults.size(), 5u);
  EXPECT_EQ(to_text(*outcomes_->fault(out.rpcs[1].faults[0])), "grpc:UNAVAILABLE");
  EXPECT_EQ(to_text(*outcomes_->fault(out.rpcs[2].faults[0])), "refused");
  EXPECT_EQ(describe_rpc(record.rpcs[1]), "users -> bookings shop.CartService/GetCart");
}

TEST_F(ObservationTest, ACommandToRedisGetsTheFaultsOfItsProtocol) {
  FaultRule rule;
  rule.service = "movies";
  rule.inject = {fault("status:503"), fault("redis:nil")};
  config_.faults = {rule};
  ExecutionRecord record = cinema();
  for (const size_t i : {1, 2}) {
    record.rpcs[i].flags |= kRpcRedis;
    record.rpcs[i].method = "SET";
    record.rpcs[i].target = "what?:*";
  }
  const Observation out = seen(record);
  ASSERT_EQ(out.rpcs[1].faults.size(), 5u);
  EXPECT_EQ(to_text(*outcomes_->fault(out.rpcs[1].faults[4])), "redis:OOM");
  ASSERT_EQ(out.rpcs[2].faults.size(), 1u);
  EXPECT_EQ(to_text(*outcomes_->fault(out.rpcs[2].faults[0])), "redis:nil");
  ASSERT_EQ(out.not_applicable.size(), 1u);
  EXPECT_EQ(out.not_applicable.begin()->first, "status:503 at users -> movies SET what?:*");
  EXPECT_EQ(out.not_applicable.begin()->second, "does not apply: it is no HTTP request");
  const InjectedFault known = describe_for_report(rpcs_by_id(record), record.rpcs[1]);
  EXPECT_EQ(known.protocol, Protocol::kRedis);
  EXPECT_EQ(known.path, "what?:*");
}

TEST_F(ObservationTest, AResumedSearchKnowsTheDefaultsOfRedis) {
  ASSERT_TRUE(outcomes_->add_faults(config_).ok());
  const auto id = outcomes_->id(std::string("redis:OOM"));
  ASSERT_TRUE(id.ok());
  ASSERT_NE(outcomes_->fault(id.value()), nullptr);
  EXPECT_EQ(outcomes_->fault(id.value())->reply, "OOM");
}

TEST_F(ObservationTest, TheSearchTakesAnOrganicGrpcStatusForTheFault) {
  // users asks bookings by gRPC, which has no stock, and says so: as a fault it shows nothing new.
  ExecutionRecord record = cinema();
  record.rpcs.pop_back();
  record.rpcs[1].flags |= kRpcHttp2 | kRpcGrpc;
  record.rpcs[1].target = "/shop.CartService/GetCart";
  record.rpcs[1].grpc_status = 14;
  search::Search search({}, nullptr);
  ASSERT_TRUE(search.executed(search::kReference, seen(record).rpcs).ok());
  std::vector<std::string> executed;
  while (const auto next = search.next()) {
    const FaultSpec& injected = *outcomes_->fault(next->faults.at(0).fault);
    executed.push_back(to_text(injected));
    ExecutionRecord under = record;
    under.rpcs[1].injected = true;
    under.rpcs[1].fault = injected;
    under.rpcs[1].grpc_status = static_cast<uint8_t>(injected.code);
    ASSERT_TRUE(search.executed(next->id, seen(under).rpcs).ok());
  }
  EXPECT_EQ(executed, (std::vector<std::string>{"grpc:UNKNOWN", "grpc:UNIMPLEMENTED",
                                                "grpc:INTERNAL", "grpc:DEADLINE_EXCEEDED"}));
  EXPECT_EQ(search.counts().redundant, 1u);
}

TEST_F(ObservationTest, AGrpcStatusWhereNoGrpcIsIsListedAndNotScheduled) {
  FaultRule rule;
  rule.inject = {fault("grpc:UNAVAILABLE"), fault("status:503")};
  config_.faults = {rule};
  ExecutionRecord record = cinema();
  record.rpcs[1].flags |= kRpcHttp2 | kRpcGrpc;
  const Observation out = seen(record);
  EXPECT_EQ(out.rpcs[1].faults.size(), 2u);
  ASSERT_EQ(out.rpcs[2].faults.size(), 1u);
  EXPECT_EQ(to_text(*outcomes_->fault(out.rpcs[2].faults[0])), "status:503");
  ASSERT_EQ(out.not_applicable.size(), 1u);
  EXPECT_EQ(out.not_applicable.begin()->first, "grpc:UNAVAILABLE at users -> movies GET /movies");
  EXPECT_TRUE(out.left_out.empty());
}

TEST_F(ObservationTest, AnRpcWithoutAKnownCauseIsListedAndNotSearched) {
  ExecutionRecord record = cinema();
  record.rpcs[1].cause = Cause::kNone;
  record.rpcs[1].parent_rpc = 0;
  record.rpcs.push_back(call(4, 2, "bookings", "movies"));  // caused by it
  const Observation out = seen(record);
  EXPECT_EQ(out.rpcs.size(), 2u);
  ASSERT_EQ(out.left_out.size(), 2u);
  EXPECT_EQ(out.left_out.at("users -> bookings GET /bookings"),
            why_cause_not_known(record.rpcs[1]));
  EXPECT_NE(out.left_out.at("bookings -> movies GET /movies").find("caused by"), std::string::npos);
}

TEST_F(ObservationTest, ACallAfterAGivingUpSaysThatThisIsWhyItsCauseIsNotKnown) {
  ExecutionRecord record = cinema();
  record.rpcs[1].cause = record.rpcs[2].cause = Cause::kNone;
  record.rpcs[1].flags = kRpcAfterGivingUp;
  const Observation out = seen(record);
  EXPECT_NE(out.left_out.at("users -> bookings GET /bookings").find("a client had given up"),
            std::string::npos);
  EXPECT_NE(out.left_out.at("users -> movies GET /movies").find("several requests were open"),
            std::string::npos);
}

TEST_F(ObservationTest, ACallOfABackgroundTaskSaysWhereItIsMade) {
  ExecutionRecord record = cinema();
  record.rpcs[1].cause = Cause::kNone;
  record.rpcs[1].flags = kRpcBackground;
  record.rpcs[1].stack_text = {"users.py:16 (refresh)", "users.py:30 (main)"};
  const std::string why = seen(record).left_out.at("users -> bookings GET /bookings");
  EXPECT_TRUE(why.starts_with("made by a background task of users: ")) << why;
  EXPECT_NE(why.find(" the call at users.py:16 (refresh), "), std::string::npos) << why;
  EXPECT_TRUE(says_cause_not_known(why));
  EXPECT_FALSE(says_cause_not_known("seen in 1 of 4 executions"));
}

TEST_F(ObservationTest, LateRpcsBelongToAnotherExecution) {
  ExecutionRecord record = cinema();
  record.rpcs[2].flags = kRpcLate;
  EXPECT_EQ(seen(record).rpcs.size(), 2u);
}

TEST_F(ObservationTest, AnIndexThatStayedPreliminaryIsNotFaulted) {
  ExecutionRecord record = cinema();
  record.rpcs[2].flags = kRpcPreliminary;
  const Observation out = seen(record);
  EXPECT_TRUE(out.rpcs[2].faults.empty());
  EXPECT_EQ(out.left_out.size(), 1u);
}

TEST_F(ObservationTest, AnEntryFormedOnArrivalIsTheTestsOwnCall) {
  ExecutionRecord record = cinema();
  record.rpcs[0].caller = "users";
  record.rpcs[0].flags = kRpcEntry;
  EXPECT_TRUE(seen(record).rpcs[0].faults.empty());
  EXPECT_EQ(describe_rpc(record.rpcs[0]), "test -> users GET /users");
}

TEST_F(ObservationTest, ServicePathAndCallSiteAreForPeople) {
  const ExecutionRecord record = cinema();
  const InjectedFault described = describe_for_report(rpcs_by_id(record), record.rpcs[1]);
  const std::vector<std::string> path{"test", "users", "bookings"};
  EXPECT_EQ(described.service_path, path);
  EXPECT_EQ(described.call_site, "bookings.py:1 (f)");
  EXPECT_EQ(described.path, "/bookings");
}

TEST_F(ObservationTest, ARecordThatGoesInACircleEnds) {
  ExecutionRecord record = cinema();
  record.rpcs[0].parent_rpc = 2;
  record.rpcs[0].caller = "bookings";
  EXPECT_TRUE(seen(record).rpcs.empty());
  EXPECT_LE(describe_for_report(rpcs_by_id(record), record.rpcs[1]).service_path.size(), 6u);
}

TEST_F(ObservationTest, KnownRpcsSurviveInTheStore) {
  ExecutionRecord record = cinema();
  record.rpcs[1].flags = kRpcOpensConnection;
  record.rpcs[1].connect_key = Hash128{7, 8};
  ASSERT_TRUE(KnownRpcs(store_.get()).learn(record).ok());
  KnownRpcs resumed(store_.get());
  const InjectedFault* found = resumed.find(record.rpcs[1].index);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->service, "bookings");
  const PlannedRpcFault planned = plan_fault(*found, fault("refused"));
  EXPECT_EQ(planned.service, "bookings");
  EXPECT_EQ(planned.connect_key, (Hash128{7, 8}));
  EXPECT_EQ(resumed.find(Hash128{9, 9}), nullptr);
}

TEST_F(ObservationTest, ARefusedRpcKeepsTheConnectionItHadBefore) {
  ExecutionRecord record = cinema();
  record.rpcs[1].flags = kRpcOpensConnection;
  record.rpcs[1].connect_key = Hash128{7, 8};
  KnownRpcs known(store_.get());
  ASSERT_TRUE(known.learn(record).ok());
  record.rpcs[1].injected = true;
  record.rpcs[1].flags = 0;
  record.rpcs[1].connect_key = {};
  ASSERT_TRUE(known.learn(record).ok());
  EXPECT_EQ(known.find(record.rpcs[1].index)->connect_key, (Hash128{7, 8}));
}

// A loop over three items: GETs of one call site under one path.
ExecutionRecord loop(KnownRpcs* known, std::vector<search::ObservedRpc>* prefix) {
  ExecutionRecord record = cinema();
  const RpcRecord first = record.rpcs[1];
  record.rpcs = {first, first, first};
  for (uint64_t i = 0; i < 3; ++i) {
    RpcRecord& rpc = record.rpcs[i];
    rpc.index = {70, i};
    rpc.thread = 5;
    rpc.issued_ns = 10 * i + 10;
    rpc.finished_ns = 10 * i + 15;
    prefix->push_back({rpc.index, rpc.parent, 1, 0, {}});
  }
  EXPECT_TRUE(known->learn(record).ok());
  return record;
}

TEST_F(ObservationTest, AnRpcIsNumberedInTheExecutionThatIsPlanned) {
  KnownRpcs known(store_.get());
  std::vector<search::ObservedRpc> prefix;
  const ExecutionRecord record = loop(&known, &prefix);
  InjectedFault third = *known.find(Hash128{70, 2});
  known.number(prefix, &third);
  EXPECT_EQ(third.number, 3u);
  // Where the first one failed, it is asked for again, and then the second one.
  RpcRecord again = record.rpcs[0];
  again.index = {70, 3};
  ExecutionRecord other = record;
  other.rpcs = {again};
  ASSERT_TRUE(known.learn(other).ok());
  prefix.insert(prefix.begin() + 1, {again.index, again.parent, 1, 0, {}});
  known.number(prefix, &third);
  EXPECT_EQ(third.number, 4u);
  EXPECT_EQ(third.service_number, 4u);
  prefix.insert(prefix.begin(), {Hash128{71, 1}, again.parent, 1, 0, {}});
  known.number(prefix, &third);
  EXPECT_EQ(third.number, 0u) << "an RPC that is not known may be of the same call site";
}

TEST_F(ObservationTest, WhereRpcsRunConcurrentlyNoneIsNumbered) {
  KnownRpcs known(store_.get());
  std::vector<search::ObservedRpc> prefix;
  ExecutionRecord record = loop(&known, &prefix);
  record.rpcs[1].finished_ns = record.rpcs[2].issued_ns + 1;
  ASSERT_TRUE(known.learn(record).ok());
  InjectedFault third = *known.find(Hash128{70, 2});
  known.number(prefix, &third);
  EXPECT_EQ(third.number, 0u);
  EXPECT_EQ(third.service_number, 0u);
  KnownRpcs resumed(store_.get());
  third = *resumed.find(Hash128{70, 2});
  resumed.number(prefix, &third);
  EXPECT_EQ(third.number, 0u) << "the session knows it still";
}

TEST_F(ObservationTest, ARefusalThatWasAResetCountsAsWhatItsCallerSaw) {
  RpcRecord rpc = cinema().rpcs[1];
  rpc.open = false;
  rpc.injected = true;
  rpc.fault = fault("refused");
  rpc.outcome = RpcOutcome::kRefused;
  EXPECT_EQ(outcome_text(rpc), "refused");
  rpc.outcome = RpcOutcome::kReset;
  EXPECT_EQ(outcome_text(rpc), "reset");
}

TEST(Observation, AQueryIsNamedWhereOnlyItTellsACallFromAnother) {
  const auto call = [](uint64_t id, const char* target, const char* method = "GET") {
    RpcRecord out;
    out.rpc = id;
    out.caller = "front";
    out.service = "back";
    out.method = method;
    out.target = target;
    return out;
  };
  ExecutionRecord record;
  record.rpcs = {call(1, "/search?kind=book"), call(2, "/search?kind=film"), call(3, "/search"),
                 call(4, "/other?kind=book"),  call(5, "/once?a=1"),         call(6, "/once?a=1"),
                 call(7, "/once?a=2", "POST")};
  const std::vector<std::string> expected = {"?kind=book", "?kind=film", "", "", "", "", ""};
  const auto rpcs = rpcs_by_id(record);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(describe_for_report(rpcs, record.rpcs[i]).query, expected[i]) << i;
}

TEST(Observation, WhetherConnectionsAreKept) {
  ExecutionRecord record;
  RpcRecord rpc;
  rpc.caller = "front";
  rpc.service = "back";
  for (const uint32_t flags :
       {uint32_t{kRpcOpensConnection}, uint32_t{kRpcRefusedAtConnect}, uint32_t{kRpcEntry}}) {
    rpc.flags = flags;
    record.rpcs.push_back(rpc);
  }
  EXPECT_FALSE(keeps_connections(record, "front", "back"));
  rpc.flags = 0;
  record.rpcs.push_back(rpc);
  EXPECT_TRUE(keeps_connections(record, "front", "back"));
  EXPECT_FALSE(keeps_connections(record, "front", "other"));
  EXPECT_FALSE(keeps_connections(record, "back", "back"));
}

}  // namespace
}  // namespace filibuster::test
