#include "daemon/model/call_name.h"
#include "tests/unit/agents/recorder_fixture.h"

namespace filibuster::test {
namespace {

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
  EXPECT_TRUE(record.rpcs[0].answered_with_error());
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
  receive(kUsers, entry);
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
  receive(kUsers, call);  // read before the caller's ring
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

TEST_F(RecorderTest, ATreeThatHasEndedIsTakenOnceAndWhatComesOfItLaterIsIgnored) {
  begin(1);
  const CallThroughUsers both = call_through_users();
  finish(kUsers, both.call.rpc);
  EXPECT_EQ(recorder_.take_ended(now_ + 1).rpcs.size(), 2u);
  IncomingFinished answered;
  answered.rpc = both.cause.rpc;
  answered.status = 200;
  emit(kUsers, EventType::kIncomingFinished, answered);
  EXPECT_EQ(recorder_.take_ended(now_ + 1).rpcs.size(), 2u);  // its cause was open until now
  finish(kTest, both.cause.rpc);
  EXPECT_EQ(recorder_.take_ended(now_).rpcs.size(), 2u);  // ended in this very moment
  const ExecutionRecord last = recorder_.take_ended(now_ + 1);
  ASSERT_EQ(last.rpcs.size(), 2u);
  EXPECT_EQ(last.rpcs[0].received_by, "users");
  EXPECT_TRUE(recorder_.snapshot().rpcs.empty());
  receive(kMovies, both.call.rpc);
  EXPECT_TRUE(recorder_.quiet());
  EXPECT_TRUE(recorder_.snapshot().notes.empty());
  EXPECT_TRUE(recorder_.end(1000).rpcs.empty());
}

TEST_F(RecorderTest, RpcsAreCountedOnFromThoseThatWereTaken) {
  begin(1);
  for (uint32_t i = 1; i <= 2; ++i) {
    RpcIssued issued = rpc(id(kTest, i), 0, {}, 5, "users", "/users");
    issued.flags = kRpcPreliminary;
    emit(kTest, EventType::kRpcIssued, issued);
    emit(kTest, EventType::kRpcFinalized, finalization(issued.rpc, key(7)));
    finish(kTest, issued.rpc);
    const ExecutionRecord record = recorder_.take_ended(now_ + 1);
    ASSERT_EQ(record.rpcs.size(), 1u);
    EXPECT_EQ(record.rpcs[0].count, i);
    EXPECT_EQ(record.rpcs[0].number, i);
    EXPECT_EQ(record.rpcs[0].service_number, i);
  }
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
  receive(kUsers, call);
  EXPECT_TRUE(recorder_.quiet());
}

TEST_F(RecorderTest, ASilenceThatOutlastsItsCauseIsNoMissingTimeout) {
  begin(1);
  const auto [cause, silent] = call_through_users();
  const HangLimit limit{HangLimit::Reached::kBySilence, 6'000'000'000, true};
  recorder_.hang_limit(1, silent.rpc, limit);
  EXPECT_TRUE(recorder_.snapshot().rpcs[1].hang_limit.has_no_timeout());
  IncomingFinished answered;
  answered.rpc = cause.rpc;
  answered.status = 200;
  emit(kUsers, EventType::kIncomingFinished, answered);
  recorder_.hang_limit(1, silent.rpc, limit);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_EQ(record.rpcs[1].hang_limit.reached, HangLimit::Reached::kLeftOpen);
}

TEST_F(RecorderTest, WhetherACallerStillWaitsIsNotKnownWhereItsOwnClientGaveUp) {
  begin(1);
  const auto [cause, silent] = call_through_users();
  IncomingFinished given_up;
  given_up.rpc = cause.rpc;
  emit(kUsers, EventType::kIncomingFinished, given_up);
  recorder_.hang_limit(1, silent.rpc, {HangLimit::Reached::kByStall, 6'000'000'000});
  const HangLimit seen = recorder_.end(1).rpcs[1].hang_limit;
  EXPECT_EQ(seen.reached, HangLimit::Reached::kOutlived);
  EXPECT_FALSE(seen.waited_on());
  EXPECT_TRUE(seen.was_still_open());
}

TEST_F(RecorderTest, AnEntryFormedOnArrivalEndsWithItsIncomingRequest) {
  begin(1);
  RpcIssued entry = rpc(id(kUsers, 1), 0, {}, 5, "users", "/");
  entry.flags = kRpcEntry;
  emit(kUsers, EventType::kRpcIssued, entry);
  receive(kUsers, entry.rpc, kRpcEntry);
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
