#include "daemon/explore/observation.h"

#include <gtest/gtest.h>

#include "daemon/explore/judgement.h"

namespace filibuster {
namespace {

RpcRecord rpc_with(RpcOutcome outcome, uint16_t status = 0) {
  RpcRecord rpc;
  rpc.open = false;
  rpc.outcome = outcome;
  rpc.status = status;
  return rpc;
}

FaultSpec fault(const std::string& text) {
  return parse_fault(text).value();
}

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

TEST(OutcomeText, SaysWhatTheCallerSaw) {
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kAnswered, 200)), "ok:200:" + to_hex(Hash128{}));
  RpcRecord degraded = rpc_with(RpcOutcome::kAnswered, 200);
  degraded.response = hash_text("nothing to show");
  EXPECT_NE(outcome_text(degraded), outcome_text(rpc_with(RpcOutcome::kAnswered, 200)));
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kAnswered, 404)), "status:404");
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kRefused)), "refused");
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kReset)), "reset");
  // Other clients tell an end from a reset than those that the published reduction is for.
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kClosed)), "reset=closed");
  EXPECT_EQ(status_alone("reset=closed"), "reset");
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kTimedOut)), "timeout");
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kGarbled)), "garbled");
  for (const RpcOutcome outcome :
       {RpcOutcome::kTimedOut, RpcOutcome::kReset, RpcOutcome::kClosed}) {
    RpcRecord left = rpc_with(outcome);
    left.begun = 200;
    EXPECT_NE(outcome_text(left), outcome_text(rpc_with(outcome)))
        << "the caller has read the head of an answer";
    EXPECT_EQ(status_alone(outcome_text(left)), status_alone(outcome_text(rpc_with(outcome))));
  }
  EXPECT_EQ(outcome_text(RpcRecord{}), "");
}

TEST(OutcomeText, InWordsIsWhatAPersonLooksFor) {
  const std::pair<const char*, const char*> rows[] = {{"", "open"},
                                                      {"ok:200:0123abcd", "200"},
                                                      {"ok:204", "204"},
                                                      {"ok", "answered"},
                                                      {"ok:0123abcd", "answered"},
                                                      {"status:503=0123abcd", "503"},
                                                      {"status:404", "404"},
                                                      {"timeout=within 200", "timeout"},
                                                      {"grpc:UNAVAILABLE=x", "grpc:UNAVAILABLE"}};
  for (const auto& [outcome, words] : rows) {
    EXPECT_EQ(outcome_in_words(outcome), words) << outcome;
    EXPECT_EQ(is_good_outcome(outcome), std::string_view(outcome).starts_with("ok")) << outcome;
  }
}

TEST(OutcomeText, OfAnAnswerThatWasNotReadIsItsStatus) {
  RpcRecord left = rpc_with(RpcOutcome::kNotRead, 200);
  left.begun = 200;
  RpcRecord read = rpc_with(RpcOutcome::kAnswered, 200);
  read.response = hash_text("all of it");
  EXPECT_EQ(outcome_text(left), "ok:200=not read");
  EXPECT_NE(outcome_text(left), outcome_text(read));
  EXPECT_EQ(outcome_text(left, true), outcome_text(read, true));
  EXPECT_TRUE(may_be_same(outcome_text(left), outcome_text(read)));
  EXPECT_TRUE(may_be_same(outcome_text(read, true), outcome_text(left)));
  RpcRecord other = read;
  other.response = hash_text("something else");
  EXPECT_FALSE(may_be_same(outcome_text(read), outcome_text(other)));
  RpcRecord failed = rpc_with(RpcOutcome::kNotRead, 503);
  EXPECT_FALSE(may_be_same(outcome_text(left), outcome_text(failed)));
  EXPECT_FALSE(may_be_same(outcome_text(left), "timeout"));
  RpcRecord said = rpc_with(RpcOutcome::kAnswered, 503);
  said.response = hash_text("it is down");
  EXPECT_TRUE(may_be_same(outcome_text(said), outcome_text(failed)));
  EXPECT_EQ(outcome_text(said, true), outcome_text(failed, true));
  EXPECT_EQ(status_alone(outcome_text(failed)), "status:503");
  EXPECT_TRUE(failed.answered_with_error());
  EXPECT_TRUE(left.answered());
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

RpcRecord grpc_call(uint8_t code, uint16_t status = 200) {
  RpcRecord rpc = rpc_with(RpcOutcome::kAnswered, status);
  rpc.flags = kRpcHttp2 | kRpcGrpc;
  rpc.method = "POST";
  rpc.target = "/shop.CartService/GetCart";
  rpc.grpc_status = code;
  return rpc;
}

TEST(OutcomeText, OfAGrpcCallIsItsStatusWhateverHttpSays) {
  EXPECT_EQ(outcome_text(grpc_call(14)), "grpc:UNAVAILABLE");
  EXPECT_EQ(outcome_text(grpc_call(14)), fault_key(fault("grpc:14")));
  RpcRecord told = grpc_call(14);
  told.response = hash_text("try later");
  EXPECT_EQ(outcome_text(told), "grpc:UNAVAILABLE=" + to_hex(hash_text("try later")));
  EXPECT_EQ(status_alone(outcome_text(told)), outcome_text(grpc_call(14)));
  EXPECT_NE(outcome_text(grpc_call(13)), outcome_text(grpc_call(14)));
  EXPECT_EQ(outcome_text(grpc_call(0)), "ok:200:" + to_hex(Hash128{}));
  EXPECT_EQ(outcome_text(grpc_call(0), true), "ok:200");
  EXPECT_EQ(outcome_text(grpc_call(kNoGrpcStatus)), "no grpc-status");
  // A proxy's answer, which clients map.
  EXPECT_EQ(outcome_text(grpc_call(14, 503)), fault_key(fault("status:503")));
}

RpcRecord command(const std::string& method, const std::string& key) {
  RpcRecord rpc = rpc_with(RpcOutcome::kAnswered);
  rpc.flags = kRpcRedis;
  rpc.method = method;
  rpc.target = key;
  rpc.response = hash_text("$1\r\na\r\n");
  return rpc;
}

TEST(OutcomeText, OfACommandToRedisIsItsErrorOrItsReply) {
  RpcRecord rpc = command("GET", "user:*");
  EXPECT_EQ(outcome_text(rpc), "ok:" + to_hex(rpc.response));
  EXPECT_EQ(outcome_text(rpc, true), "ok");
  EXPECT_FALSE(rpc.answered_with_error());
  rpc.code_space = CodeSpace::kRedis;
  rpc.code = "LOADING";
  EXPECT_TRUE(rpc.answered_with_error());
  EXPECT_EQ(outcome_text(rpc), "redis:LOADING=" + to_hex(rpc.response));
  EXPECT_EQ(outcome_text(rpc, true), "redis:LOADING=varies");
  EXPECT_EQ(status_alone(outcome_text(rpc)), fault_key(fault("redis:LOADING")));
  rpc.outcome = RpcOutcome::kRefused;
  EXPECT_EQ(outcome_text(rpc), "refused");
}

TEST(OutcomeText, OfAStreamThatWasResetNamesTheErrorCode) {
  RpcRecord rpc = grpc_call(kNoGrpcStatus, 0);
  rpc.outcome = RpcOutcome::kReset;
  EXPECT_EQ(outcome_text(rpc), "reset");  // the connection
  rpc.stream_error = 7;
  EXPECT_EQ(outcome_text(rpc), "reset:REFUSED_STREAM");
  rpc.stream_error = 77;
  EXPECT_EQ(outcome_text(rpc), "reset:error 77");
}

TEST(OutcomeText, OfAnInjectedFaultIsTheFaultAlsoWhileOpen) {
  RpcRecord rpc;
  rpc.injected = true;
  rpc.fault = fault("timeout:after");
  EXPECT_EQ(outcome_text(rpc), "timeout:after");
}

TEST(OutcomeText, OrganicAndInjectedStatusesAreEqualUnlessTheBodyDiffers) {
  EXPECT_EQ(fault_key(fault("status:503")), outcome_text(rpc_with(RpcOutcome::kAnswered, 503)));
  FaultSpec with_body = fault("status:503");
  with_body.body = "{}";
  EXPECT_NE(fault_key(with_body), "status:503");
  FaultSpec with_header = fault("status:503");
  with_header.headers = {{"Retry-After", "1"}};
  EXPECT_NE(fault_key(with_header), fault_key(with_body));
  // Nothing of it is a part of its status, so the published reduction keeps it apart, too.
  EXPECT_EQ(status_alone(fault_key(with_body)), fault_key(with_body));

  RpcRecord empty = rpc_with(RpcOutcome::kAnswered, 503);
  empty.response = hash_text("");
  EXPECT_EQ(outcome_text(empty), "status:503");
  RpcRecord told = empty;
  told.response = hash_text("no stock");
  EXPECT_EQ(outcome_text(told), "status:503=" + to_hex(hash_text("no stock")));
  EXPECT_EQ(status_alone(outcome_text(told)), "status:503");
  // What varies is unlike what says nothing.
  EXPECT_EQ(outcome_text(told, true), "status:503=varies");
  EXPECT_EQ(outcome_text(empty, true), "status:503");
}

TEST(OutcomeText, OfAnAnswerThatVariesSaysSoForFailuresOnlyWhereFailuresVaried) {
  RpcRecord rpc = rpc_with(RpcOutcome::kAnswered, 500);
  rpc.caller = "front";
  rpc.service = "a";
  rpc.response = hash_text("it failed");
  UnstableRpcs unstable;
  UnstableKind kind{"front", "a", rpc.method, "", {}, "the answer varies"};
  kind.answer = true;
  unstable.add(kind);
  EXPECT_FALSE(unstable.answer_varies(rpc));
  kind.failed = true;
  unstable.add(kind);
  EXPECT_TRUE(unstable.answer_varies(rpc));
  const auto again = UnstableRpcs::from_json(unstable.to_json());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again.value().answer_varies(rpc));
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
  EXPECT_EQ(out.left_out.at("users -> bookings GET /bookings"), "its cause is not known");
  EXPECT_NE(out.left_out.at("bookings -> movies GET /movies").find("caused by"), std::string::npos);
}

TEST_F(ObservationTest, ACallAfterAGivingUpSaysThatThisIsWhyItsCauseIsNotKnown) {
  ExecutionRecord record = cinema();
  record.rpcs[1].cause = record.rpcs[2].cause = Cause::kNone;
  record.rpcs[1].flags = kRpcAfterGivingUp;
  const Observation out = seen(record);
  EXPECT_EQ(out.left_out.at("users -> bookings GET /bookings"), kNotKnownAfterGivingUp);
  EXPECT_EQ(out.left_out.at("users -> movies GET /movies"), kCauseNotKnown);
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

ExecutionResult result_with_exit(int code) {
  ExecutionResult result;
  result.exit = ExitStatus{false, code};
  return result;
}

TEST(Judgement, APassIsAPassAndAFailureAFailure) {
  EXPECT_EQ(judge(result_with_exit(0), {}).verdict, Verdict::kPassed);
  EXPECT_EQ(judge(result_with_exit(1), {}).verdict, Verdict::kFailed);
  EXPECT_EQ(judge(result_with_exit(1), {}).detail, "exit status 1");
}

TEST(Judgement, AFailureWithoutItsFaultIsNoFinding) {
  PlannedRpcFault planned;
  planned.index = Hash128{1, 2};
  planned.fault = fault("refused");
  EXPECT_EQ(judge(result_with_exit(1), {planned}).verdict, Verdict::kPlanNotMet);
  EXPECT_EQ(judge(result_with_exit(0), {planned}).verdict, Verdict::kPlanNotMet);
  ExecutionResult result = result_with_exit(1);
  RpcRecord rpc;
  rpc.index = planned.index;
  rpc.injected = true;
  result.record.rpcs = {rpc};
  EXPECT_EQ(judge(result, {planned}).verdict, Verdict::kFailed);
  result.record.not_injected = {{NoConclusion::kBusyMachine, "lease expired"}};
  EXPECT_EQ(judge(result, {planned}).verdict, Verdict::kPlanNotMet);
}

TEST(Judgement, LostEventsAndNewNamesAreNeverAPass) {
  ExecutionResult lost = result_with_exit(0);
  lost.record.lost_events = 1;
  EXPECT_EQ(judge(lost, {}).verdict, Verdict::kIncomplete);
  ExecutionResult named = result_with_exit(0);
  named.record.names_changed = true;
  EXPECT_EQ(judge(named, {}).verdict, Verdict::kIncomplete);
}

TEST(Judgement, WhatWentUnseenIsRepeatedAndThenListed) {
  ExecutionResult result = result_with_exit(0);
  EXPECT_TRUE(is_settled(result.record));
  result.record.unseen = {{"users", "127.0.0.1:5001", "movies", 2},
                          {"users", "127.0.0.1:5002", "", 1}};
  const Judgement judgement = judge(result, {});
  EXPECT_EQ(judgement.verdict, Verdict::kIncomplete);
  EXPECT_NE(judgement.detail.find("2 of users to movies; 1 of users to 127.0.0.1:5002"),
            std::string::npos)
      << judgement.detail;
  EXPECT_FALSE(is_settled(result.record));
  KeptConnections kept;
  kept.leave_out(&result.record);
  EXPECT_FALSE(is_settled(result.record));
  ExecutionResult next = result;
  next.record.unseen.push_back({"users", "127.0.0.1:5003", "", 1});
  kept.settle_as_it_is(&result.record);
  EXPECT_TRUE(is_settled(result.record));
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kPassed);
  ASSERT_EQ(result.record.not_interposed.size(), 2u);
  EXPECT_EQ(result.record.not_interposed[0].target_service, "movies");
  EXPECT_EQ(result.record.not_interposed[0].reason, "http2-open-before");
  EXPECT_EQ(result.record.not_interposed[0].times, 2u);
  kept.leave_out(&next.record);
  ASSERT_EQ(next.record.unseen.size(), 1u) << "only those that were listed";
  EXPECT_EQ(next.record.unseen[0].peer, "127.0.0.1:5003");
}

TEST(Judgement, ConnectionsOfAnAttachedServiceFromBeforeAreAReasonToRepeatHoweverOftenTheyComeUp) {
  ExecutionResult result = result_with_exit(0);
  result.record.unseen = {{"users", "", "", 2, /*attached=*/true}};
  EXPECT_TRUE(uses_old_connections(result.record));
  KeptConnections kept;
  kept.settle_as_it_is(&result.record);
  kept.leave_out(&result.record);
  EXPECT_FALSE(is_settled(result.record)) << "each of them ends, so they grow fewer";
  const Judgement judgement = judge(result, {});
  EXPECT_EQ(judgement.verdict, Verdict::kIncomplete);
  EXPECT_EQ(judgement.cause, NoConclusion::kOpenBefore);
  EXPECT_EQ(
      judgement.detail,
      "requests from or to users were not seen, since they went over connections that were open before it was attached");
  result.record.unseen.clear();
  EXPECT_FALSE(uses_old_connections(result.record));
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kPassed);
}

TEST(Judgement, ACrashIsNamedWithItsSignalEvenIfTheTestPasses) {
  ExecutionResult result = result_with_exit(0);
  result.ended = {{"users", ExitStatus{true, 11}, ""}, {"movies", ExitStatus{false, 3}, ""}};
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kCrashed);
  EXPECT_EQ(judge(result, {}).detail, "users ended by SIGSEGV; movies ended with exit status 3");
}

TEST(Judgement, ACrashIsAFindingWhicheverFaultsFired) {
  PlannedRpcFault planned;
  planned.index = Hash128{1, 2};
  planned.fault = fault("refused");
  ExecutionResult result = result_with_exit(0);
  result.ended = {{"users", ExitStatus{true, 11}, ""}};
  const Judgement judgement = judge(result, {planned});
  EXPECT_EQ(judgement.verdict, Verdict::kCrashed);
  EXPECT_FALSE(judgement.plan_met);
  EXPECT_NE(judgement.detail.find("users ended by SIGSEGV; plan not met: "), std::string::npos);
}

TEST(Judgement, AServiceStartedByHandThatEndedIsNamed) {
  ExecutionResult result = result_with_exit(0);
  result.ended = {{"users", {}, "", true}};
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kCrashed);
  EXPECT_EQ(judge(result, {}).detail, "users (started by hand) ended");
}

TEST(Judgement, ASilenceThatLastedUntilTheHangLimitIsAFinding) {
  ExecutionResult result = result_with_exit(0);
  RpcRecord rpc;
  rpc.caller = "users";
  rpc.hang_limit = {HangLimit::Reached::kBySilence, 6'000'000'000};
  result.record.rpcs = {rpc};
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kNoTimeout);
  EXPECT_EQ(judge(result, {}).detail, "users: caller has no timeout (hang limit 6.0 s reached)");
}

TEST(Judgement, OfATestThatFailsItSaysWhoStillWaited) {
  ExecutionResult result = result_with_exit(1);
  RpcRecord rpc;
  rpc.caller = "users";
  rpc.hang_limit = {HangLimit::Reached::kByStall, 6'000'000'000};
  result.record.rpcs = {RpcRecord{}, rpc};
  const Judgement judgement = judge(result, {});
  EXPECT_EQ(judgement.verdict, Verdict::kFailed);
  EXPECT_EQ(judgement.detail,
            "exit status 1; users: caller still waited after 6 s for the rest of the body");
}

TEST(Judgement, ATestThatDoesNotEndIsAFinding) {
  ExecutionResult result;
  result.timed_out = true;
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kTestTimeout);
}

TEST(Judgement, OpenRpcsAfterAPassAreNotQuiescent) {
  ExecutionResult result = result_with_exit(0);
  result.record.quiescent = false;
  result.record.still_open = {"users -> movies"};
  EXPECT_EQ(judge(result, {}).verdict, Verdict::kNotQuiescent);
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
}  // namespace filibuster
