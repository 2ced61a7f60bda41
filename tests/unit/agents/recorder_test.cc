#include "daemon/agents/recorder.h"

#include "core/index/execution_index.h"
#include "daemon/agents/call_name.h"
#include "tests/unit/agents/fake_agent.h"

namespace filibuster::test {
namespace {

const EventSource kTest{1, 11, "test"};
const EventSource kUsers{2, 12, "users"};
const EventSource kMovies{3, 13, "movies"};

class RecorderTest : public ::testing::Test {
 protected:
  void begin(uint32_t execution, const std::vector<PlannedRpcFault>& plan = {}) {
    execution_ = execution;
    recorder_.begin(execution, plan, recorder_.expand(plan), 1);
  }
  template <typename Event>
  void emit(const EventSource& source, EventType type, const Event& event) {
    emit(source, type, event, execution_);
  }
  template <typename Event>
  void emit(const EventSource& source, EventType type, const Event& event, uint32_t execution) {
    std::vector<uint8_t> bytes(kMaxEvent);
    const size_t size = encode(event, bytes.data(), bytes.size());
    const EventHead head{static_cast<uint16_t>(type), execution, ++now_};
    EXPECT_TRUE(recorder_.event(source, head, {bytes.data(), size}));
  }
  static uint64_t id(const EventSource& source, uint32_t number) {
    return uint64_t{source.agent} << 32 | number;
  }
  static RpcIssued rpc(uint64_t id, uint64_t parent, const Hash128& parent_path, uint64_t signature,
                       std::string_view service, std::string_view target) {
    RpcIssued event;
    event.rpc = id;
    event.parent_rpc = parent;
    event.parent_path = parent_path;
    event.signature = key(signature);
    event.count = 1;
    event.index = extend_path(parent_path, event.signature, 1, kIndexAll);
    event.service = service;
    event.method = "GET";
    event.target = target;
    event.stack_text = "F users.py:31 get_bookings\nF app.py:2 main";
    return event;
  }
  // Of an RPC that the test causes by itself.
  static RpcFinalized finalization(uint64_t rpc_id, const Hash128& signature, uint32_t count = 1) {
    RpcFinalized event;
    event.rpc = rpc_id;
    event.signature = signature;
    event.index = extend_path({}, signature, count, kIndexAll);
    return event;
  }
  void finish(const EventSource& source, uint64_t rpc_id, bool injected = false) {
    RpcFinished event;
    event.rpc = rpc_id;
    event.status = 200;
    event.injected = injected ? 1 : 0;
    emit(source, EventType::kRpcFinished, event);
  }
  void fire(const EventSource& source, uint64_t rpc_id, uint32_t entry,
            FaultHow how = FaultHow::kInjected) {
    FaultFired event;
    event.how = static_cast<uint8_t>(how);
    event.rpc = rpc_id;
    event.plan_entry = entry;
    emit(source, EventType::kFaultFired, event);
  }

  Recorder recorder_{kIndexAll};
  uint32_t execution_ = 0;
  uint64_t now_ = 100;
};

TEST_F(RecorderTest, KeepsTheStatusOfAGrpcCall) {
  begin(1);
  const uint64_t call = id(kTest, 1), other = id(kTest, 2);
  RpcIssued issued = rpc(call, 0, {}, 5, "users", "/shop.UserService/GetUser");
  issued.flags = kRpcHttp2 | kRpcGrpc;
  emit(kTest, EventType::kRpcIssued, issued);
  RpcFinished finished;
  finished.rpc = call;
  finished.status = 200;
  finished.grpc_status = 14;
  finished.grpc_message = "try later";
  emit(kTest, EventType::kRpcFinished, finished);
  issued.rpc = other;
  issued.signature = key(6);
  emit(kTest, EventType::kRpcIssued, issued);
  finished = {};
  finished.rpc = other;
  finished.outcome = RpcOutcome::kReset;
  finished.stream_error = 7;
  emit(kTest, EventType::kRpcFinished, finished);
  const ExecutionRecord record = recorder_.end(1000);
  ASSERT_EQ(record.rpcs.size(), 2u);
  EXPECT_TRUE(record.rpcs[0].is_grpc());
  EXPECT_EQ(record.rpcs[0].grpc_status, 14);
  EXPECT_EQ(record.rpcs[0].grpc_message, "try later");
  EXPECT_EQ(record.rpcs[1].grpc_status, kNoGrpcStatus);
  EXPECT_EQ(record.rpcs[1].stream_error, 7u);
}

TEST_F(RecorderTest, KeepsTheCodeOfAnErrorOfRedis) {
  begin(1);
  const uint64_t call = id(kTest, 1);
  RpcIssued issued = rpc(call, 0, {}, 5, "cache", "user:*");
  issued.method = "GET";
  issued.flags = kRpcRedis;
  emit(kTest, EventType::kRpcIssued, issued);
  RpcFinished finished;
  finished.rpc = call;
  finished.code_space = CodeSpace::kRedis;
  finished.code = "LOADING";
  finished.body_sample = "LOADING Redis is loading the dataset in memory";
  emit(kTest, EventType::kRpcFinished, finished);
  const ExecutionRecord record = recorder_.end(1000);
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(record.rpcs[0].protocol(), Protocol::kRedis);
  EXPECT_EQ(record.rpcs[0].code_space, CodeSpace::kRedis);
  EXPECT_EQ(record.rpcs[0].code, "LOADING");
  EXPECT_TRUE(record.rpcs[0].failed());
  EXPECT_EQ(call_name(record.rpcs[0], record.rpcs[0].target), "GET user:*");
  EXPECT_EQ(ending_name(record.rpcs[0]), "LOADING \"Redis is loading the dataset in memory\"");
}

TEST(CallName, IsThatOfItsProtocol) {
  EXPECT_EQ(call_name("GET", "/a", Protocol::kHttp), "GET /a");
  EXPECT_EQ(call_name("POST", "/shop.Cart/Get", Protocol::kGrpc), "shop.Cart/Get");
  EXPECT_EQ(call_name("PING", "", Protocol::kRedis), "PING");
  EXPECT_EQ(call_name("MULTI", "SET a, INCR b", Protocol::kRedis), "MULTI SET a, INCR b");
  EXPECT_EQ(path_of("/a?b=1", Protocol::kHttp), "/a");
  EXPECT_EQ(path_of("a?b", Protocol::kRedis), "a?b");
  for (const Protocol protocol : {Protocol::kHttp, Protocol::kGrpc, Protocol::kRedis}) {
    EXPECT_EQ(parse_protocol(protocol_name(protocol)), protocol);
  }
  EXPECT_FALSE(parse_protocol("smtp").has_value());
}

TEST(EndingName, OfACommandToRedisIsItsCodeOrThatItWasAnswered) {
  RpcRecord rpc;
  rpc.open = false;
  rpc.outcome = RpcOutcome::kAnswered;
  rpc.flags = kRpcRedis;
  EXPECT_EQ(ending_name(rpc), "answered");
  EXPECT_EQ(code_of(rpc).text, "");
  rpc.code_space = CodeSpace::kRedis;
  rpc.code = "ERR";
  EXPECT_EQ(ending_name(rpc), "ERR");
  EXPECT_EQ(code_space_name(code_of(rpc).space), "redis");
  rpc.flags = kRpcHttp2 | kRpcGrpc;
  rpc.code_space = CodeSpace::kNone;
  rpc.status = 200;
  rpc.grpc_status = 14;
  EXPECT_EQ(code_space_name(code_of(rpc).space), "grpc");
  EXPECT_EQ(code_of(rpc).text, "UNAVAILABLE");
  rpc.flags = 0;
  rpc.status = 503;
  rpc.grpc_status = kNoGrpcStatus;
  EXPECT_EQ(code_space_name(code_of(rpc).space), "http");
  EXPECT_EQ(code_of(rpc).text, "503");
}

TEST_F(RecorderTest, AnEntryGetsTheGrpcStatusOfItsAnswer) {
  begin(1);
  const uint64_t entry = id(kUsers, 1);
  RpcIssued issued = rpc(entry, 0, {}, 5, "users", "/shop.UserService/GetUser");
  issued.flags = kRpcEntry | kRpcHttp2 | kRpcGrpc;
  emit(kUsers, EventType::kRpcIssued, issued);
  RpcReceived received;
  received.rpc = entry;
  emit(kUsers, EventType::kRpcReceived, received);
  IncomingFinished answered;
  answered.rpc = entry;
  answered.status = 200;
  answered.grpc_status = 5;
  emit(kUsers, EventType::kIncomingFinished, answered);
  const ExecutionRecord record = recorder_.end(1000);
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(record.rpcs[0].grpc_status, 5);
}

TEST_F(RecorderTest, JoinsTheEventsOfOneRpcInAnyOrder) {
  begin(1);
  const uint64_t call = id(kTest, 1);
  RpcReceived received;
  received.rpc = call;
  emit(kUsers, EventType::kRpcReceived, received);  // read before the caller's ring
  EXPECT_FALSE(recorder_.quiet());
  finish(kTest, call);
  const RpcIssued issued = rpc(call, 0, {}, 5, "users", "/users/1");
  emit(kTest, EventType::kRpcIssued, issued);
  IncomingFinished answered;
  answered.rpc = call;
  answered.status = 200;
  emit(kUsers, EventType::kIncomingFinished, answered);
  EXPECT_TRUE(recorder_.quiet());
  const ExecutionRecord record = recorder_.end(999);
  ASSERT_EQ(record.rpcs.size(), 1u);
  const RpcRecord& one = record.rpcs[0];
  EXPECT_FALSE(one.open);
  EXPECT_EQ(one.caller, "test");
  EXPECT_EQ(one.received_by, "users");
  EXPECT_EQ(one.index, issued.index);
  EXPECT_EQ(one.stack_text.size(), 2u);
  EXPECT_EQ(one.stack_text[0], "F users.py:31 get_bookings");
  EXPECT_EQ(record.ended_ns, 999u);
}

TEST_F(RecorderTest, WhatARequestSentAfterItsHeadIsKnownWhileItIsOpenAndWhateverComesFirst) {
  begin(1);
  const RpcIssued stream = rpc(id(kTest, 1), 0, {}, 5, "users", "/shop.UserService/Import");
  RpcIssued other = stream;
  other.rpc = id(kTest, 2);
  other.body = "a";
  RpcBody body;
  body.rpc = stream.rpc;
  body.body = "first";
  RpcBody longer = body;
  longer.rpc = other.rpc;
  longer.body = "a long one";
  longer.truncated = 1;
  emit(kTest, EventType::kRpcIssued, stream);
  emit(kTest, EventType::kRpcBody, body);
  emit(kTest, EventType::kRpcBody, longer);
  emit(kTest, EventType::kRpcIssued, other);
  const ExecutionRecord record = recorder_.snapshot();
  ASSERT_EQ(record.rpcs.size(), 2u);
  EXPECT_TRUE(record.rpcs[0].open);
  EXPECT_EQ(record.rpcs[0].body_sample, "first");
  EXPECT_EQ(record.rpcs[0].flags & kRpcPayloadTruncated, 0);
  EXPECT_EQ(record.rpcs[1].body_sample, "a long one");
  EXPECT_NE(record.rpcs[1].flags & kRpcPayloadTruncated, 0);
}

TEST_F(RecorderTest, AnIncomingRequestAnsweredByAChildOfItsReaderIsClosed) {
  begin(1);
  const uint64_t call = id(kTest, 1);
  IncomingFinished answered;
  answered.rpc = call;
  emit(kMovies, EventType::kIncomingFinished, answered);
  RpcReceived received;
  received.rpc = call;
  emit(kUsers, EventType::kRpcReceived, received);
  EXPECT_TRUE(recorder_.quiet());
}

TEST_F(RecorderTest, EveryIndexThatContainsAPreliminaryOneIsRewritten) {
  begin(1);
  RpcIssued outer = rpc(id(kTest, 1), 0, {}, 5, "users", "/upload");
  outer.flags = kRpcPreliminary;
  RpcIssued middle = rpc(id(kUsers, 1), outer.rpc, outer.index, 6, "movies", "/m");
  RpcIssued inner = rpc(id(kMovies, 1), middle.rpc, middle.index, 7, "store", "/s");
  emit(kMovies, EventType::kRpcIssued, inner);  // whatever ring is read first
  emit(kUsers, EventType::kRpcIssued, middle);
  emit(kTest, EventType::kRpcIssued, outer);
  RpcFinalized finalized = finalization(outer.rpc, key(71));
  finalized.payload = key(70);
  emit(kTest, EventType::kRpcFinalized, finalized);

  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.rpcs.size(), 3u);
  std::unordered_map<std::string, const RpcRecord*> by_service;
  for (const RpcRecord& one : record.rpcs) by_service[one.service] = &one;
  const RpcRecord& users = *by_service.at("users");
  const RpcRecord& movies = *by_service.at("movies");
  const RpcRecord& store = *by_service.at("store");
  EXPECT_EQ(users.index, finalized.index);
  EXPECT_EQ(users.payload, key(70));
  EXPECT_EQ(users.flags & kRpcPreliminary, 0);
  EXPECT_EQ(movies.parent, users.index);
  EXPECT_EQ(movies.index, extend_path(users.index, key(6), 1, kIndexAll));
  EXPECT_NE(movies.index, middle.index);
  EXPECT_EQ(store.parent, movies.index);
  EXPECT_EQ(store.index, extend_path(movies.index, key(7), 1, kIndexAll));
}

TEST_F(RecorderTest, AStreamIsCountedAmongThoseOfItsFinalSignature) {
  // Opened as the first, second and third of what looked the same; then the payloads come.
  const Hash128 hello = key(71), world = key(72);
  const auto finals = [&](std::vector<Hash128> signatures) {
    begin(1);
    for (uint32_t n = 1; n <= signatures.size(); ++n) {
      RpcIssued stream = rpc(id(kTest, n), 0, {}, 5, "users", "/upload");
      stream.flags = kRpcPreliminary;
      stream.count = n;
      stream.index = extend_path({}, stream.signature, n, kIndexAll);
      emit(kTest, EventType::kRpcIssued, stream);
      emit(kTest, EventType::kRpcFinalized, finalization(stream.rpc, signatures[n - 1], n));
    }
    std::vector<std::pair<uint32_t, Hash128>> seen;
    for (const RpcRecord& one : recorder_.end(1).rpcs) seen.emplace_back(one.count, one.index);
    return seen;
  };
  const auto index = [](Hash128 signature, uint32_t k) {
    return std::pair(k, extend_path({}, signature, k, kIndexAll));
  };
  EXPECT_EQ(finals({hello, world, hello}),
            (std::vector{index(hello, 1), index(world, 1), index(hello, 2)}));
  EXPECT_EQ(finals({world, hello, hello}),
            (std::vector{index(world, 1), index(hello, 1), index(hello, 2)}));
}

TEST_F(RecorderTest, APlannedFaultUnderARewrittenIndexIsPlannedUnderItsWireIndexToo) {
  RpcIssued outer = rpc(id(kTest, 1), 0, {}, 5, "users", "/upload");
  outer.flags = kRpcPreliminary;
  const RpcIssued inner = rpc(id(kUsers, 1), outer.rpc, outer.index, 6, "movies", "/m");
  const RpcFinalized finalized = finalization(outer.rpc, key(71));
  begin(1);
  emit(kTest, EventType::kRpcIssued, outer);
  emit(kUsers, EventType::kRpcIssued, inner);
  emit(kTest, EventType::kRpcFinalized, finalized);
  const Hash128 wanted = recorder_.end(1).rpcs[1].index;
  ASSERT_NE(wanted, inner.index);

  PlannedRpcFault fault;
  fault.index = wanted;
  fault.number = 2;
  fault.fault = parse_fault("reset").value();
  const RpcMemory::Plan expanded = recorder_.expand({fault});
  ASSERT_EQ(expanded.rows.size(), 2u);
  EXPECT_EQ(expanded.rows[1].index, inner.index);
  EXPECT_EQ(expanded.rows[1].parent, outer.index);
  EXPECT_EQ(expanded.rows[0].number, 0u);
  EXPECT_EQ(expanded.rows[1].number, 2u);
  begin(2, {fault});
  emit(kTest, EventType::kRpcIssued, outer);
  emit(kUsers, EventType::kRpcIssued, inner);
  fire(kUsers, inner.rpc, 1);
  finish(kUsers, inner.rpc, true);
  emit(kTest, EventType::kRpcFinalized, finalized);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(record.not_injected.empty());
  EXPECT_EQ(record.rpcs[1].index, wanted);
  EXPECT_TRUE(record.rpcs[1].injected);
}

TEST_F(RecorderTest, AStreamFaultedBeforeItsFirstMessageSaidWhatItsIndexMeans) {
  RpcIssued stream = rpc(id(kTest, 1), 0, {}, 5, "users", "/shop.UserService/Import");
  stream.flags = kRpcPreliminary;
  RpcBody body;
  body.rpc = stream.rpc;
  body.body = "first";
  const RpcFinalized finalized = finalization(stream.rpc, key(71));
  begin(1);
  emit(kTest, EventType::kRpcIssued, stream);
  emit(kTest, EventType::kRpcBody, body);
  emit(kTest, EventType::kRpcFinalized, finalized);
  ASSERT_EQ(recorder_.end(1).rpcs[0].body_sample, "first");

  PlannedRpcFault fault;
  fault.index = finalized.index;
  fault.fault = parse_fault("reset").value();
  begin(2, {fault});
  emit(kTest, EventType::kRpcIssued, stream);
  EXPECT_EQ(recorder_.snapshot().rpcs[0].body_sample, "");  // nobody knows yet which one it is
  fire(kTest, stream.rpc, 1);
  EXPECT_EQ(recorder_.snapshot().rpcs[0].body_sample, "first");
  body.body = "other";
  emit(kTest, EventType::kRpcBody, body);
  EXPECT_EQ(recorder_.end(1).rpcs[0].body_sample, "other");
}

TEST_F(RecorderTest, TwoStreamsThatShareAPreliminaryIndexAreNeverGuessed) {
  begin(1);
  std::vector<Hash128> finals;
  for (uint32_t n = 1; n <= 2; ++n) {
    RpcIssued stream = rpc(id(kTest, n), 0, {}, 5, "users", "/upload");
    stream.flags = kRpcPreliminary;
    emit(kTest, EventType::kRpcIssued, stream);
    const RpcFinalized finalized = finalization(stream.rpc, key(70 + n));
    finals.push_back(finalized.index);
    emit(kTest, EventType::kRpcFinalized, finalized);
  }
  recorder_.end(1);
  PlannedRpcFault fault;
  fault.index = finals[0];
  fault.fault = parse_fault("reset").value();
  EXPECT_EQ(recorder_.expand({fault}).rows.size(), 1u);
  begin(2, {fault});
  const auto missing = recorder_.end(1).not_injected;
  EXPECT_TRUE(any_contains(missing, "share its preliminary index"));
  EXPECT_EQ(missing.at(0).why, NoConclusion::kSharedPreliminary);
}

TEST_F(RecorderTest, ABodyThatOnceCameLateIsNotLookedForBeforeItComes) {
  RpcIssued late = rpc(id(kTest, 1), 0, {}, 5, "users", "/upload?a");
  late.flags = kRpcPreliminary;
  const RpcIssued other = rpc(id(kTest, 2), 0, {}, 5, "users", "/upload?b");
  const RpcFinalized finalized = finalization(late.rpc, key(71));
  PlannedRpcFault fault;
  fault.index = finalized.index;
  fault.fault = parse_fault("reset").value();
  for (uint32_t execution = 1; execution <= 2; ++execution) {
    begin(execution, {fault});
    emit(kTest, EventType::kRpcIssued, late);
    emit(kTest, EventType::kRpcFinalized, finalized);
    EXPECT_TRUE(any_contains(recorder_.end(1).not_injected, "before its body was known"));
    EXPECT_EQ(recorder_.expand({fault}).rows.size(), execution == 1 ? 2u : 1u);
    // The first execution has only it; to the second belongs another one of that call site.
    begin(10 + execution);
    if (execution == 1) emit(kTest, EventType::kRpcIssued, other);
    recorder_.end(1);
  }
  EXPECT_FALSE(recorder_.expand({fault}).ambiguous[0]);
}

TEST_F(RecorderTest, ALongBodyIsLookedForBeforeItCame) {
  const RpcIssued small = rpc(id(kTest, 1), 0, {}, 5, "users", "/upload");
  RpcIssued large = rpc(id(kTest, 2), 0, {}, 5, "users", "/upload");
  large.flags = kRpcPreliminary | kRpcPayloadTruncated;
  const RpcFinalized finalized = finalization(large.rpc, key(71));
  begin(1);
  emit(kTest, EventType::kRpcIssued, small);
  emit(kTest, EventType::kRpcIssued, large);
  emit(kTest, EventType::kRpcFinalized, finalized);
  recorder_.end(1);
  PlannedRpcFault fault;
  fault.index = finalized.index;
  fault.fault = parse_fault("reset").value();
  EXPECT_EQ(recorder_.expand({fault}).rows.size(), 2u);
}

TEST_F(RecorderTest, WhatARequestCausesIsLookedForAsItIs) {
  // Two requests of one call site, each of which causes a call; one of them is under way before its
  // body is known.
  for (const bool long_body : {false, true}) {
    SCOPED_TRACE(long_body);
    const std::string path = long_body ? "/long" : "/short";
    const uint64_t at = long_body ? 20 : 10;
    RpcIssued late = rpc(id(kTest, 1), 0, {}, at, "users", path);
    late.flags = kRpcPreliminary;
    if (long_body) late.flags |= kRpcPayloadTruncated;
    const RpcIssued of_late = rpc(id(kUsers, 1), late.rpc, late.index, at + 1, "movies", path);
    const RpcIssued whole = rpc(id(kTest, 2), 0, {}, at + 2, "users", path);
    const RpcIssued of_whole = rpc(id(kUsers, 2), whole.rpc, whole.index, at + 1, "movies", path);
    begin(1);
    for (const RpcIssued& one : {late, whole}) emit(kTest, EventType::kRpcIssued, one);
    for (const RpcIssued& one : {of_late, of_whole}) emit(kUsers, EventType::kRpcIssued, one);
    emit(kTest, EventType::kRpcFinalized, finalization(late.rpc, key(long_body ? 71 : 72)));
    const ExecutionRecord record = recorder_.end(1);
    for (const RpcRecord& one : record.rpcs) {
      PlannedRpcFault fault;
      fault.index = one.index;
      fault.fault = parse_fault("reset").value();
      const bool under_two_names = one.index != whole.index && one.index != of_whole.index;
      EXPECT_EQ(recorder_.expand({fault}).rows.size(), under_two_names && long_body ? 2u : 1u);
    }
  }
}

class SequenceTest : public RecorderTest {
 protected:
  // The first execution shows the call, so that a fault can be planned for it in the second.
  void SetUp() override {
    first_ = rpc(id(kTest, 1), 0, {}, 5, "users", "/a");
    retry_ = rpc(id(kTest, 2), 0, {}, 6, "users", "/a");
    begin(1);
    emit(kTest, EventType::kRpcIssued, first_);
    recorder_.end(1);
    PlannedRpcFault fault;
    fault.index = first_.index;
    fault.fault = parse_fault("timeout:after, pass, status:503 when=3+").value();
    plan_ = {fault};
    begin(2, plan_);
  }
  void attempt(const RpcIssued& issued, uint32_t number, uint32_t entry, FaultHow how,
               std::string_view detail = "") {
    emit(kTest, EventType::kRpcIssued, issued);
    FaultFired event;
    event.how = static_cast<uint8_t>(how);
    event.rpc = issued.rpc;
    event.plan_entry = entry;
    event.attempt = number;
    event.grouped_by = number == 1 ? GroupedBy::kFirst : GroupedBy::kSameRequest;
    event.detail = detail;
    emit(kTest, EventType::kFaultFired, event);
  }
  RpcIssued first_, retry_;
  std::vector<PlannedRpcFault> plan_;
};

TEST_F(SequenceTest, ItsItemsAreRowsOfTheirOwnWithoutAnIndex) {
  const RpcMemory::Plan expanded = recorder_.expand({plan_[0], plan_[0]});
  ASSERT_EQ(expanded.rows.size(), 2u + 2 * 3);
  EXPECT_EQ(expanded.rows[1].group, 1u);
  const PlannedRpcFault& last = expanded.rows[7];
  EXPECT_TRUE(last.is_item && last.index.is_zero());
  EXPECT_EQ(to_text(last.fault), "status:503");
  EXPECT_EQ(last.when, (Occasions{3, 0, 1}));
  EXPECT_EQ(last.group, 1u);
  EXPECT_EQ(expanded.planned[7], 1u);
  EXPECT_TRUE(recorder_.spares_errors(1));
  EXPECT_FALSE(recorder_.spares_errors(0));
}

TEST_F(SequenceTest, EachAttemptHasWhatItGotAndThePlanIsMet) {
  attempt(first_, 1, 1, FaultHow::kInjected);
  attempt(retry_, 2, 2, FaultHow::kAttemptPasses);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(record.not_injected.empty()) << "the client gave up before the third attempt";
  ASSERT_EQ(record.rpcs.size(), 2u);
  EXPECT_TRUE(record.rpcs[0].injected);
  EXPECT_EQ(to_text(record.rpcs[0].fault), "timeout:after");
  EXPECT_EQ(record.rpcs[0].attempt, 1u);
  EXPECT_FALSE(record.rpcs[1].injected);
  EXPECT_EQ(record.rpcs[1].attempt, 2u);
  EXPECT_EQ(record.rpcs[1].attempt_of, first_.index);
  EXPECT_EQ(record.rpcs[1].grouped_by, GroupedBy::kSameRequest);
}

TEST_F(SequenceTest, ThatNeverBeganIsNoMetPlan) {
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.not_injected.size(), 1u);
  EXPECT_NE(record.not_injected[0].text.find(kNotIssued), std::string::npos);
}

TEST_F(SequenceTest, AnAttemptThatCouldNotGetItsOutcomeIsNoMetPlan) {
  attempt(first_, 1, 1, FaultHow::kInjected);
  attempt(retry_, 3, 3, FaultHow::kNotInjected, "pipelined with other requests");
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.not_injected.size(), 1u);
  EXPECT_NE(record.not_injected[0].text.find("attempt 3 of its sequence: pipelined"),
            std::string::npos)
      << record.not_injected[0].text;
}

TEST_F(SequenceTest, AnAttemptThatWasAnsweredBeforeItsRequestWasCompleteHasThatCause) {
  attempt(first_, 1, 1, FaultHow::kNotInjected, kAnsweredFirst);
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.not_injected.size(), 1u);
  EXPECT_EQ(record.not_injected[0].why, NoConclusion::kAnsweredEarly);
  EXPECT_NE(record.not_injected[0].text.find("attempt 1 of its sequence: the server answered"),
            std::string::npos)
      << record.not_injected[0].text;
}

TEST_F(RecorderTest, AFaultWhoseCallWasAnsweredBeforeItsRequestWasCompleteHasThatCause) {
  const RpcIssued one = rpc(id(kTest, 1), 0, {}, 5, "users", "/");
  PlannedRpcFault fault;
  fault.index = one.index;
  fault.fault = parse_fault("timeout:after").value();
  begin(1, {fault});
  emit(kTest, EventType::kRpcIssued, one);
  FaultFired event;
  event.how = static_cast<uint8_t>(FaultHow::kNotInjected);
  event.rpc = one.rpc;
  event.detail = kAnsweredFirst;
  emit(kTest, EventType::kFaultFired, event);
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.not_injected.size(), 1u);
  EXPECT_EQ(record.not_injected[0].why, NoConclusion::kAnsweredEarly);
}

TEST_F(SequenceTest, AnErrorOfTheServerThatPassedStandsInThePlaceOfTheFault) {
  attempt(first_, 1, 1, FaultHow::kInjected);
  recorder_.passed(2, first_.rpc, {503, kNoGrpcStatus, key(9), 4, "busy"}, 500);
  finish(kTest, first_.rpc, true);  // as the agent believes
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(record.not_injected.empty());
  const RpcRecord& rpc = record.rpcs[0];
  EXPECT_FALSE(rpc.injected);
  EXPECT_TRUE(rpc.was_error_already);
  EXPECT_EQ(rpc.status, 503);
  EXPECT_EQ(rpc.response_sample, "busy");
  EXPECT_EQ(rpc.fault, FaultSpec{});
}

TEST_F(RecorderTest, AFaultThatHitTwoRpcsIsNoMetPlan) {
  const RpcIssued first = rpc(id(kTest, 1), 0, {}, 5, "users", "/");
  PlannedRpcFault fault;
  fault.index = first.index;
  fault.fault = parse_fault("reset").value();
  begin(1, {fault});
  for (uint32_t n = 1; n <= 2; ++n) {
    const RpcIssued one = rpc(id(kTest, n), 0, {}, 5, "users", "/");
    emit(kTest, EventType::kRpcIssued, one);
    fire(kTest, one.rpc, 0);
  }
  EXPECT_TRUE(any_contains(recorder_.end(1).not_injected, "2 RPCs"));
}

TEST_F(RecorderTest, ACallThatEndsBeforeItsRequestGetsTheTextsOfTheRpcItStandsFor) {
  begin(1);
  RpcIssued full = rpc(id(kTest, 1), 0, {}, 5, "users", "/users/1?x=2");
  full.flags |= kRpcEncrypted;
  emit(kTest, EventType::kRpcIssued, full);
  finish(kTest, full.rpc);
  recorder_.end(1);

  PlannedRpcFault fault;
  fault.index = full.index;
  fault.fault = parse_fault("refused").value();
  begin(2, {fault});
  RpcIssued bare;
  bare.rpc = id(kTest, 2);
  bare.index = full.index;
  bare.signature = full.signature;
  bare.count = 1;
  bare.flags = kRpcRefusedAtConnect | kRpcOpensConnection;
  bare.service = "127.0.0.1";  // at connect there is no Host field yet
  bare.stack_text = "F socket.py:1 connect";
  emit(kTest, EventType::kRpcIssued, bare);
  fire(kTest, bare.rpc, 0);
  finish(kTest, bare.rpc, true);
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(record.rpcs[0].service, "users");
  EXPECT_EQ(record.rpcs[0].target, "/users/1?x=2");
  EXPECT_EQ(record.rpcs[0].stack_text.size(), 2u);
  EXPECT_EQ(record.rpcs[0].fault.kind, FaultKind::kRefused);
  EXPECT_NE(record.rpcs[0].flags & kRpcEncrypted, 0);
  EXPECT_TRUE(record.not_injected.empty());

  begin(3);
  bare.rpc = id(kTest, 3);
  bare.flags = kRpcEncrypted | kRpcOpensConnection;  // a fault ended its handshake
  emit(kTest, EventType::kRpcIssued, bare);
  finish(kTest, bare.rpc, true);
  const ExecutionRecord later = recorder_.end(1);
  ASSERT_EQ(later.rpcs.size(), 1u);
  EXPECT_EQ(later.rpcs[0].target, "/users/1?x=2");
}

TEST_F(RecorderTest, ASilenceThatOutlastsItsCauseIsNoMissingTimeout) {
  begin(1);
  const RpcIssued cause = rpc(id(kTest, 1), 0, {}, 5, "users", "/users/1");
  emit(kTest, EventType::kRpcIssued, cause);
  RpcReceived received;
  received.rpc = cause.rpc;
  emit(kUsers, EventType::kRpcReceived, received);
  const RpcIssued silent = rpc(id(kUsers, 1), cause.rpc, cause.index, 6, "movies", "/movies");
  emit(kUsers, EventType::kRpcIssued, silent);
  const HangLimit limit{HangLimit::Reached::kBySilence, 6'000'000'000};
  recorder_.hang_limit(1, silent.rpc, limit);
  EXPECT_TRUE(recorder_.snapshot().rpcs[1].hang_limit.has_no_timeout());
  IncomingFinished answered;
  answered.rpc = cause.rpc;
  emit(kUsers, EventType::kIncomingFinished, answered);
  recorder_.hang_limit(1, silent.rpc, limit);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_EQ(record.rpcs[1].hang_limit.reached, HangLimit::Reached::kLeftOpen);
}

TEST_F(RecorderTest, AnEntryFormedOnArrivalEndsWithItsIncomingRequest) {
  begin(1);
  RpcIssued entry = rpc(id(kUsers, 1), 0, {}, 5, "users", "/");
  entry.flags = kRpcEntry;
  emit(kUsers, EventType::kRpcIssued, entry);
  RpcReceived received;
  received.rpc = entry.rpc;
  received.flags = kRpcEntry;
  emit(kUsers, EventType::kRpcReceived, received);
  EXPECT_FALSE(recorder_.quiet());
  IncomingFinished answered;
  answered.rpc = entry.rpc;
  answered.status = 404;
  emit(kUsers, EventType::kIncomingFinished, answered);
  EXPECT_TRUE(recorder_.quiet());
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_EQ(record.rpcs[0].status, 404);
  EXPECT_EQ(record.rpcs[0].outcome, RpcOutcome::kAnswered);
  EXPECT_EQ(record.rpcs[0].caller, "");
  EXPECT_EQ(record.rpcs[0].received_by, "users");
}

TEST_F(RecorderTest, LateRpcsAreListedAndNotRecorded) {
  begin(5);
  RpcIssued flagged = rpc(id(kUsers, 1), 0, {}, 5, "movies", "/flagged");
  flagged.flags = kRpcLate;
  emit(kUsers, EventType::kRpcIssued, flagged);
  finish(kUsers, flagged.rpc);
  emit(kUsers, EventType::kRpcIssued, rpc(id(kUsers, 2), 0, {}, 5, "movies", "/old"), 4);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(record.rpcs.empty());
  EXPECT_TRUE(any_contains(record.late_calls, "/flagged"));
  EXPECT_TRUE(any_contains(record.late_calls, "/old"));
  EXPECT_TRUE(record.notes.empty());
}

TEST_F(RecorderTest, EventsOfAnRpcThatNobodyIssuedAreANote) {
  begin(1);
  finish(kTest, id(kTest, 9));
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(record.rpcs.empty());
  EXPECT_TRUE(any_contains(record.notes, "beginning was not reported"));
}

TEST_F(RecorderTest, UnseenRequestsAreCountedInTheirOwnExecution) {
  UnseenRequests event;
  event.count = 2;
  event.peer = "127.0.0.1:5001";
  event.service = "movies";
  begin(1);
  emit(kUsers, EventType::kUnseenRequests, event);
  emit(kUsers, EventType::kUnseenRequests, event);
  emit(kUsers, EventType::kUnseenRequests, event, 7);
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.unseen.size(), 1u);
  EXPECT_EQ(record.unseen[0].service, "users");
  EXPECT_EQ(record.unseen[0].target_service, "movies");
  EXPECT_EQ(record.unseen[0].requests, 4u);
  EXPECT_TRUE(record.not_interposed.empty());
  emit(kUsers, EventType::kUnseenRequests, event);
  begin(2);
  EXPECT_TRUE(recorder_.end(1).unseen.empty());
}

TEST_F(RecorderTest, WhatWasSeenWhileIdleIsInTheNextRecord) {
  NotInterposed event;
  event.reason = NotInterposedReason::kUnknownProtocol;
  event.peer = "127.0.0.1:5432";
  event.service = "database";
  emit(kUsers, EventType::kNotInterposed, event);
  emit(kUsers, EventType::kNotInterposed, event);
  Note note;
  note.text = "no libunwind";
  emit(kUsers, EventType::kNote, note);
  begin(1);
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.not_interposed.size(), 1u);
  EXPECT_EQ(record.not_interposed[0].times, 2u);
  EXPECT_EQ(record.not_interposed[0].target_service, "database");
  EXPECT_TRUE(any_contains(record.notes, "users (pid 12): no libunwind"));
  begin(2);
  EXPECT_TRUE(recorder_.end(1).not_interposed.empty());
}

TEST_F(RecorderTest, RpcsAreOrderedByTimeThenAgent) {
  begin(1);
  std::vector<uint8_t> bytes(kMaxEvent);
  const auto at = [&](const EventSource& source, uint32_t number, uint64_t time) {
    const RpcIssued event = rpc(id(source, number), 0, {}, number, "s", "/");
    const size_t size = encode(event, bytes.data(), bytes.size());
    EXPECT_TRUE(recorder_.event(source, {static_cast<uint16_t>(EventType::kRpcIssued), 1, time},
                                {bytes.data(), size}));
  };
  at(kUsers, 1, 50);
  at(kMovies, 1, 40);
  at(kTest, 1, 50);
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.rpcs.size(), 3u);
  EXPECT_EQ(record.rpcs[0].caller, "movies");
  EXPECT_EQ(record.rpcs[1].caller, "test");
  EXPECT_EQ(record.rpcs[2].caller, "users");
}

TEST_F(RecorderTest, ACircleOfParentsEnds) {
  begin(1);
  emit(kTest, EventType::kRpcIssued, rpc(id(kTest, 1), id(kTest, 2), key(1), 5, "a", "/"));
  emit(kTest, EventType::kRpcIssued, rpc(id(kTest, 2), id(kTest, 1), key(2), 6, "b", "/"));
  emit(kTest, EventType::kRpcIssued, rpc(id(kTest, 3), id(kTest, 3), key(3), 7, "c", "/"));
  EXPECT_EQ(recorder_.end(1).rpcs.size(), 3u);
}

// What came in the place of a planned RPC that was not there.
class NotIssued : public RecorderTest {
 protected:
  // Two calls of users under one request; both are known afterwards.
  void see_both() {
    begin(1);
    emit(kTest, EventType::kRpcIssued, rpc(id(kTest, 1), 0, {}, 1, "users", "/"));
    emit(kUsers, EventType::kRpcIssued, call(2, 2, "/movies/1"));
    emit(kUsers, EventType::kRpcIssued, call(3, 3, "/movies/2"));
    recorder_.end(9);
  }
  RpcIssued call(uint32_t number, uint64_t signature, std::string_view target) {
    RpcIssued out =
        rpc(id(kUsers, number), id(kTest, 1), entry().index, signature, "movies", target);
    out.cause = Cause::kThread;
    out.payload = hash_text(target);
    return out;
  }
  RpcIssued entry() { return rpc(id(kTest, 1), 0, {}, 1, "users", "/"); }
  // Why a fault planned at the second call did not come about.
  std::string reason(const std::vector<RpcIssued>& calls, const char* first_fault = "") {
    PlannedRpcFault planned;
    planned.index = call(3, 3, "/movies/2").index;
    planned.parent = entry().index;
    planned.fault = parse_fault("status:503").value();
    std::vector<PlannedRpcFault> plan = {planned};
    if (*first_fault != '\0') {
      plan.push_back(planned);
      plan.back().index = call(2, 2, "/movies/1").index;
      plan.back().fault = parse_fault(first_fault).value();
    }
    begin(2, plan);
    emit(kTest, EventType::kRpcIssued, entry());
    for (const RpcIssued& event : calls) {
      emit(kUsers, EventType::kRpcIssued, event);
      if (plan.size() < 2 || event.index != plan[1].index) continue;
      FaultFired fired;
      fired.rpc = event.rpc;
      fired.plan_entry = 1;
      emit(kUsers, EventType::kFaultFired, fired);
    }
    const ExecutionRecord record = recorder_.end(99);
    std::string all;
    for (const NotInjected& row : record.not_injected) all += row.text + "\n";
    return all;
  }
};

TEST_F(NotIssued, IsSaidWhereNothingLikeItCame) {
  see_both();
  EXPECT_TRUE(reason({call(2, 2, "/movies/1")}).ends_with("#1: its RPC was not issued\n"));
}

TEST_F(NotIssued, TellsOneWithoutACause) {
  see_both();
  RpcIssued lost = call(3, 3, "/movies/2");
  lost.parent_rpc = 0;
  lost.cause = Cause::kNone;
  lost.index = key(77);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "one like it was issued without a known cause, at users.py:31",
                      reason({lost}));
}

TEST_F(NotIssued, TellsOneOfAnotherPlace) {
  see_both();
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "one like it was issued elsewhere: at users.py:31",
                      reason({call(3, 4, "/movies/2")}));
  RpcIssued other = call(3, 3, "/movies/2");
  other.parent_rpc = 0;
  other.parent_path = key(5);
  other.index = key(78);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "one like it was issued elsewhere: for another request, at", reason({other}));
}

TEST_F(NotIssued, TellsTheClientsSecondAttempt) {
  // Both calls ask for the same; the library makes the first one again, from a place of its own.
  begin(1);
  emit(kTest, EventType::kRpcIssued, entry());
  emit(kUsers, EventType::kRpcIssued, call(2, 2, "/movies/1"));
  emit(kUsers, EventType::kRpcIssued, call(3, 3, "/movies/1"));
  recorder_.end(9);
  const std::vector<RpcIssued> calls = {call(2, 2, "/movies/1"), call(3, 9, "/movies/1")};
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "the client made the call again at which reset was injected",
                      reason(calls, "reset"));
  // After an answer no library does.
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "elsewhere", reason(calls, "status:500"));
}

TEST_F(RecorderTest, ARefusalMayComeWithTheSecondAttemptOfItsClient) {
  RpcIssued call = rpc(id(kUsers, 1), 0, {}, 5, "movies", "/m");
  PlannedRpcFault fault;
  fault.index = call.index;
  fault.fault = parse_fault("refused").value();
  begin(1, {fault});
  emit(kUsers, EventType::kRpcIssued, call);
  fire(kUsers, call.rpc, 0, FaultHow::kResetInsteadOfRefused);
  RpcFinished reset;
  reset.rpc = call.rpc;
  reset.outcome = RpcOutcome::kReset;
  reset.injected = 1;
  emit(kUsers, EventType::kRpcFinished, reset);
  EXPECT_TRUE(recorder_.snapshot().rpcs[0].refused_as_reset());
  fire(kUsers, call.rpc, 0, FaultHow::kRefusedAfterAll);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(record.not_injected.empty());
  EXPECT_EQ(record.rpcs[0].outcome, RpcOutcome::kRefused);
  EXPECT_FALSE(record.rpcs[0].refused_as_reset());
}

TEST_F(RecorderTest, AnotherRpcThatWasHitLeavesThePlanUnmetEvenIfTheFaultFired) {
  RpcIssued other = rpc(id(kUsers, 1), 0, {}, 5, "movies", "/other");
  RpcIssued call = rpc(id(kUsers, 2), 0, {}, 6, "movies", "/m");
  PlannedRpcFault fault;
  fault.index = call.index;
  fault.fault = parse_fault("refused").value();
  begin(1, {fault});
  emit(kUsers, EventType::kRpcIssued, other);
  fire(kUsers, other.rpc, 0, FaultHow::kHitAnother);
  emit(kUsers, EventType::kRpcIssued, call);
  fire(kUsers, call.rpc, 0);
  finish(kUsers, call.rpc, true);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(any_contains(record.not_injected, "/other"));
  EXPECT_FALSE(record.rpcs[0].injected);
}

TEST_F(RecorderTest, RpcsAreNumberedAtTheirCallSiteAndForTheirService) {
  begin(1);
  for (uint64_t i = 1; i <= 4; ++i) {
    RpcIssued call = rpc(id(kUsers, i), 0, {}, 10 + i, i == 3 ? "bookings" : "movies", "/m");
    call.stack = key(i == 2 ? 40 : 41);
    emit(kUsers, EventType::kRpcIssued, call);
  }
  const ExecutionRecord record = recorder_.end(1);
  std::vector<std::pair<uint32_t, uint32_t>> numbers;
  for (const RpcRecord& rpc : record.rpcs) numbers.emplace_back(rpc.number, rpc.service_number);
  EXPECT_EQ(numbers, (std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {1, 2}, {1, 1}, {2, 3}}));
}

}  // namespace
}  // namespace filibuster::test
