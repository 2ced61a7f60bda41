// Records of agents become cases: whole ones in every order and split, and partial ones that say why.
#include "daemon/record/assembler.h"

#include <gtest/gtest.h>

#include "tests/unit/record/records.h"

namespace filibuster::record {
namespace {

AssemblerOptions of_orders() {
  AssemblerOptions out;
  out.service = "orders";
  out.epoch_ns = 1'796'030'047'000'000'000;
  return out;
}

Assembled assembled(Records* records, Mix mix = Mix::kInTurns,
                    AssemblerOptions options = of_orders()) {
  Assembler assembler(std::move(options));
  return records->give(&assembler, mix);
}

std::string reason(Records* records, Mix mix = Mix::kInTurns) {
  const Assembled out = assembled(records, mix);
  return out.cases.size() == 1 ? out.cases[0].value.partial : "there is no single case";
}

TEST(Assembler, MakesTheSameCaseOfEveryOrderAndSplit) {
  for (const Mix mix : {Mix::kEventsFirst, Mix::kTapeFirst, Mix::kInTurns}) {
    for (const size_t split : {size_t{1}, size_t{7}, SIZE_MAX}) {
      Records records(split);
      write_order(&records);
      const Assembled out = assembled(&records, mix);
      ASSERT_EQ(out.cases.size(), 1u);
      const cases::Case& value = out.cases[0].value;
      EXPECT_EQ(value.partial, "");
      EXPECT_EQ(value.service, "orders");
      EXPECT_EQ(value.base_us, 1'796'030'048'000'000);
      EXPECT_EQ(value.request.method, "POST");
      EXPECT_EQ(value.request.target, "/orders");
      EXPECT_EQ(value.request.body, R"({"item": 7})");
      EXPECT_TRUE(value.request.headers.empty())
          << "our field and those of the connection are left out";
      EXPECT_EQ(value.answer.status, 201);
      EXPECT_EQ(value.answer.body, R"({"id":7})");
      ASSERT_EQ(value.calls.size(), 3u);
      EXPECT_EQ(value.calls[0].input.to, "cache");
      EXPECT_EQ(value.calls[0].input.command, nlohmann::json({"GET", "price:7"}));
      EXPECT_EQ(value.calls[0].reply, nlohmann::json());
      EXPECT_EQ(value.calls[1].input.http.target, "/prices/7");
      EXPECT_EQ(value.calls[1].answer.body, R"({"cents":950})");
      EXPECT_EQ(value.calls[2].input.command, nlohmann::json({"SET", "price:7", "950"}));
      EXPECT_EQ(value.calls[2].reply, nlohmann::json({{"status", "OK"}}));
      EXPECT_TRUE(value.calls[0].after.empty());
      EXPECT_EQ(value.calls[1].after, std::vector<size_t>{0});
      EXPECT_EQ(value.calls[2].after, std::vector<size_t>{1});
      EXPECT_EQ(out.cases[0].stacks[0], std::vector<std::string>{"F /srv/orders.py:31 price"});
    }
  }
}

TEST(Assembler, WaitsUntilTimeHasPassedSinceTheLastEnd) {
  Records records;
  write_order(&records);
  Assembler assembler(of_orders());
  records.run(&assembler, Mix::kInTurns);
  assembler.passed(records.now() + kSettledNs);
  EXPECT_TRUE(assembler.take().cases.empty());
  assembler.passed(records.now() + kSettledNs + 1);
  EXPECT_EQ(assembler.take().cases.size(), 1u);
}

TEST(Assembler, ACallThatGoesOnBehindTheAnswerIsWaitedFor) {
  Records records;
  write_order(&records);
  records.issued(110, 3, 2, "pricing", "POST", "/log", {100});
  records.bytes(3, true, http_request("POST /log"));
  Assembler assembler(of_orders());
  records.run(&assembler, Mix::kEventsFirst);
  assembler.passed(records.now() + 10 * kSettledNs);
  EXPECT_TRUE(assembler.take().cases.empty());
  records.after_ms(3000);
  records.bytes(3, false, http_answer(200, ""));
  records.finished(110);
  const Assembled out = records.give(&assembler, Mix::kInTurns);
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].value.partial, "");
  EXPECT_EQ(out.cases[0].value.calls.size(), 4u);
}

TEST(Assembler, EntriesThatNoAgentHasSentAreCasesToo) {
  Records records;
  records.connection(1, true, StreamProtocol::kHttp1);
  records.bytes(1, true, http_request("GET /orders/7"));
  records.entered(100, 1, 1, "GET", "/orders/7");
  records.bytes(1, false, http_answer(404, "none"));
  records.answered(100, 404);
  const Assembled out = assembled(&records);
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].value.partial, "");
  EXPECT_EQ(out.cases[0].value.answer.body, "none");
}

TEST(Assembler, SeveralRequestsOfAConnectionAreToldApart) {
  for (const Mix mix : {Mix::kEventsFirst, Mix::kTapeFirst}) {
    Records records;
    write_order(&records, 1, 100);
    write_order(&records, 2, 200);
    const Assembled out = assembled(&records, mix);
    ASSERT_EQ(out.cases.size(), 2u);
    for (const RecordedCase& each : out.cases) {
      EXPECT_EQ(each.value.partial, "");
      EXPECT_EQ(each.value.calls.size(), 3u);
    }
  }
}

// Two requests at once, and two calls at once for one of them: each gets its own answer.
TEST(Assembler, WhatIsUnderWayTogetherIsJoinedByItsCause) {
  Records records;
  for (const uint64_t id : {1, 2}) {
    records.connection(id, true, StreamProtocol::kHttp1);
    records.bytes(id, true, http_request("GET /total?of=" + std::to_string(id)));
    records.received(100 * id, id, 1);
  }
  const auto call = [&](uint64_t parent, uint64_t id, const std::string& item) {
    records.connection(id, false, StreamProtocol::kHttp1, "pricing");
    records.issued(100 + id, id, 1, "pricing", "GET", "/" + item, {parent, 5});
    records.bytes(id, true, http_request("GET /" + item));
  };
  call(100, 13, "pear");
  call(200, 12, "plum");
  call(100, 11, "fig");
  records.after_ms(5);
  for (const auto& [id, body] : {std::pair{11, "1"}, {12, "2"}, {13, "3"}}) {
    records.bytes(static_cast<uint64_t>(id), false, http_answer(200, body));
    records.finished(100 + static_cast<uint64_t>(id));
  }
  for (const uint64_t id : {1, 2}) {
    records.bytes(id, false, http_answer(200, "ok"));
    records.answered(100 * id, 200);
  }
  const Assembled out = assembled(&records);
  ASSERT_EQ(out.cases.size(), 2u);
  const cases::Case& first = out.cases[0].value;
  ASSERT_EQ(first.calls.size(), 2u);
  EXPECT_EQ(first.calls[0].input.http.target, "/fig") << "ordered by nothing that chance decides";
  EXPECT_EQ(first.calls[0].answer.body, "1");
  EXPECT_EQ(first.calls[1].input.http.target, "/pear");
  EXPECT_EQ(first.calls[1].answer.body, "3");
  EXPECT_TRUE(first.calls[1].after.empty());
  ASSERT_EQ(out.cases[1].value.calls.size(), 1u);
  EXPECT_EQ(out.cases[1].value.calls[0].answer.body, "2");
}

TEST(Assembler, ACallThatComesAfterSeveralAtOnceWaitsForThem) {
  std::vector<DraftCall> calls(4);
  const uint64_t times[][2] = {{1, 5}, {2, 6}, {8, 9}, {10, 11}};
  for (size_t i = 0; i < calls.size(); ++i) {
    calls[i].call.input.http.target = "/" + std::to_string(i);
    calls[i].issued_ns = times[i][0];
    calls[i].finished_ns = times[i][1];
    calls[i].thread = 1;
  }
  calls[3].thread = 2;
  const RecordedCase out = make_case({}, calls, {}, 1);
  EXPECT_EQ(out.value.calls[2].after, (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(out.value.calls[3].after.empty()) << "what other threads do is ordered by chance";
}

TEST(Assembler, AttemptsOfACallAreOneGroup) {
  std::vector<DraftCall> calls(4);
  for (size_t i = 0; i < calls.size(); ++i) {
    calls[i].call.input.http.target = "/pay";
    calls[i].issued_ns = 10 * i + 1;
    calls[i].finished_ns = 10 * i + 2;
    calls[i].ending.status = i < 2 ? 503 : 200;
  }
  const RecordedCase out = make_case({}, calls, {});
  EXPECT_EQ(out.value.calls[1].attempt_of, std::optional<size_t>(0));
  EXPECT_EQ(out.value.calls[2].attempt_of, std::optional<size_t>(0));
  EXPECT_EQ(out.value.calls[3].attempt_of, std::nullopt) << "the one before it did not fail";
}

TEST(Assembler, ATransactionIsOneCall) {
  for (const Mix mix : {Mix::kEventsFirst, Mix::kTapeFirst}) {
    for (const uint64_t named : {3, 5}) {
      Records records(5);
      records.connection(1, true, StreamProtocol::kHttp1);
      records.bytes(1, true, http_request("GET /"));
      records.received(100, 1, 1);
      records.connection(2, false, StreamProtocol::kRedis, "cache");
      records.bytes(2, true, "*2\r\n$4\r\nAUTH\r\n$1\r\ns\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n");
      records.bytes(2, false, "+OK\r\n+OK\r\n");
      records.bytes(2, true, "*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n");
      records.issued(101, 2, named, "cache", "MULTI", "INCR n", {100, 1, kRpcRedis});
      records.bytes(2, true, "*1\r\n$4\r\nEXEC\r\n*2\r\n$3\r\nGET\r\n$1\r\nn\r\n");
      records.issued(102, 2, 6, "cache", "GET", "n", {100, 1, kRpcRedis});
      records.bytes(2, false, "+OK\r\n+QUEUED\r\n*1\r\n:4\r\n$1\r\n4\r\n");
      records.finished(101);
      records.finished(102);
      records.bytes(1, false, http_answer(200, "4"));
      records.answered(100, 200);
      const Assembled out = assembled(&records, mix);
      ASSERT_EQ(out.cases.size(), 1u);
      const cases::Case& value = out.cases[0].value;
      EXPECT_EQ(value.partial, "");
      ASSERT_EQ(value.calls.size(), 2u);
      EXPECT_EQ(value.calls[0].input.command, nlohmann::json::parse(R"(["MULTI", ["INCR", "n"]])"));
      EXPECT_EQ(value.calls[0].reply, nlohmann::json({4}));
      EXPECT_EQ(value.calls[1].reply, nlohmann::json("4"));
      const auto& openings = out.openings.at("cache");
      ASSERT_EQ(openings.size(), 2u);
      EXPECT_EQ(openings[1].command, nlohmann::json({"SELECT", "3"}));
    }
  }
}

TEST(Assembler, CallsWithoutARequestBelongToTheProcess) {
  Records records;
  records.connection(3, false, StreamProtocol::kHttp1, "pricing");
  records.issued(50, 3, 1, "pricing", "GET", "/config", {});
  records.bytes(3, true, http_request("GET /config"));
  records.bytes(3, false, http_answer(200, "{}"));
  records.finished(50);
  records.connection(1, true, StreamProtocol::kHttp1);
  records.bytes(1, true, http_request("GET /"));
  records.received(100, 1, 1);
  records.issued(51, 3, 2, "pricing", "GET", "/poll", {0, 4, kRpcBackground});
  records.bytes(3, true, http_request("GET /poll"));
  records.bytes(3, false, http_answer(200, "{}"));
  records.finished(51);
  records.bytes(1, false, http_answer(200, "4"));
  records.answered(100, 200);
  const Assembled out = assembled(&records);
  ASSERT_EQ(out.process.size(), 2u);
  EXPECT_EQ(out.process[0].value.input.http.target, "/config");
  EXPECT_EQ(out.process[1].value.input.http.target, "/poll");
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].value.partial, "");
}

TEST(Assembler, RequestsWhileTheServicesStartAreNoCases) {
  AssemblerOptions options = of_orders();
  options.startup_execution = 2;
  Records records;
  write_order(&records);
  const Assembled out = assembled(&records, Mix::kInTurns, options);
  EXPECT_TRUE(out.cases.empty());
  EXPECT_TRUE(out.process.empty()) << "what the probe of readiness causes belongs to nothing";
}

// --- partial ones

TEST(Assembler, ACallOfUnknownCauseSpoilsWhatIsOpen) {
  Records records;
  records.connection(3, false, StreamProtocol::kHttp1, "pricing");
  records.connection(1, true, StreamProtocol::kHttp1);
  records.bytes(1, true, http_request("GET /"));
  records.received(100, 1, 1);
  records.issued(51, 3, 1, "pricing", "GET", "/x", {});
  records.bytes(3, true, http_request("GET /x"));
  records.bytes(3, false, http_answer(200, "{}"));
  records.finished(51);
  records.bytes(1, false, http_answer(200, "4"));
  records.answered(100, 200);
  EXPECT_EQ(reason(&records),
            "the cause of a call to pricing (GET /x) that was made while it was open is not known");
}

TEST(Assembler, BytesThatWentByUnseenAreNamed) {
  for (const Mix mix : {Mix::kEventsFirst, Mix::kTapeFirst, Mix::kInTurns}) {
    Records records;
    records.connection(1, true, StreamProtocol::kHttp1);
    records.bytes(1, true, http_request("GET /file"));
    records.entered(100, 1, 1, "GET", "/file");
    records.bytes(1, false, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
    records.gap(1, false, 5000, NotInterposedReason::kSpliced);
    records.answered(100, 200);
    EXPECT_EQ(reason(&records, mix),
              "a part of a body went by unseen (sendfile or splice, docs/preload.md)");
  }
}

TEST(Assembler, BytesThatAFullTapeHasLostSpoilTheirCaseAlone) {
  Records records;
  write_order(&records, 1, 100);
  records.lose(3, false, 100);
  write_order(&records, 2, 200);
  const Assembled out = assembled(&records);
  ASSERT_EQ(out.cases.size(), 2u);
  EXPECT_EQ(out.cases[0].value.partial, "");
  EXPECT_EQ(out.cases[1].value.partial,
            "its call to pricing (GET /prices/7): bytes of its connection were lost, since the "
            "tape was full");
}

TEST(Assembler, AConnectionOfBeforeIsReadFromItsNextMessage) {
  for (const auto from : {SeenFrom::kAMessage, SeenFrom::kTheMiddle}) {
    Records records;
    records.connection(1, true, StreamProtocol::kHttp1, "", from, 41);
    records.bytes(1, true, http_request("GET /"));
    records.received(100, 1, 42);
    records.bytes(1, false, http_answer(200, "4"));
    records.answered(100, 200);
    EXPECT_EQ(reason(&records), from == SeenFrom::kAMessage
                                    ? ""
                                    : "its connection was joined in the middle of a message");
  }
}

TEST(Assembler, WhatTheRecordingCutsOffIsPartial) {
  Records records;
  records.connection(1, true, StreamProtocol::kHttp1);
  records.bytes(1, true, http_request("GET /"));
  records.received(100, 1, 1);
  EXPECT_EQ(reason(&records), "the recording ended before its answer");
}

TEST(Assembler, AConnectionThatIsNotFollowedSpoilsWhatComesAfterIt) {
  Records records;
  NotInterposed event;
  event.reason = NotInterposedReason::kUnknownProtocol;
  event.service = "db";
  event.peer = "127.0.0.1:5432";
  records.event(EventType::kNotInterposed, event);
  write_order(&records);
  const Assembled out = assembled(&records);
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].value.partial,
            "not all that the service asks is followed: the connection to db (127.0.0.1:5432): "
            "unknown-protocol");
  EXPECT_EQ(out.not_followed.size(), 1u);
}

AssemblerOptions with_parts(std::set<std::string> parts) {
  AssemblerOptions out = of_orders();
  out.parts = std::move(parts);
  return out;
}

TEST(Assembler, CallsToAPartOfTheServiceAreInNoCase) {
  for (const Mix mix : {Mix::kEventsFirst, Mix::kTapeFirst, Mix::kInTurns}) {
    Records records;
    NotInterposed event;
    event.reason = NotInterposedReason::kUnknownProtocol;
    event.service = "store";
    event.peer = "127.0.0.1:11211";
    event.outgoing = 1;
    records.event(EventType::kNotInterposed, event);
    write_order(&records);
    const Assembled out = assembled(&records, mix, with_parts({"cache", "store"}));
    ASSERT_EQ(out.cases.size(), 1u);
    const cases::Case& value = out.cases[0].value;
    EXPECT_EQ(value.partial, "");
    ASSERT_EQ(value.calls.size(), 1u);
    EXPECT_EQ(value.calls[0].input.to, "pricing");
    EXPECT_TRUE(out.openings.empty());
    EXPECT_TRUE(out.not_followed.empty()) << "what goes to a part needs not be known";
    EXPECT_EQ(out.calls_without_case, 0u);
  }
}

// Its agent may tell of its own call before the service's agent tells of the call that led to it.
TEST(Assembler, WhatAPartCallsIsCalledForTheRequestThatLedToIt) {
  constexpr uint64_t kOfPart = uint64_t{9} << 32 | 102;  // by its agent
  for (const bool part_first : {false, true}) {
    Records records;
    const auto of_service = [&] {
      records.writer = "orders";
      records.connection(2, false, StreamProtocol::kHttp1, "side");
      records.issued(101, 2, 1, "side", "GET", "/prices/7", {100});
      records.bytes(2, true, http_request("GET /prices/7"));
    };
    const auto of_part = [&] {
      records.writer = "side";
      records.connection(1, true, StreamProtocol::kHttp1);
      records.bytes(1, true, http_request("GET /prices/7"));
      records.connection(3, false, StreamProtocol::kHttp1, "pricing");
      records.issued(kOfPart, 3, 1, "pricing", "GET", "/of/7", {101});
      records.bytes(3, true, http_request("GET /of/7"));
      records.bytes(3, false, http_answer(200, "9"));
      records.finished(kOfPart);
    };
    records.connection(1, true, StreamProtocol::kHttp1);
    records.bytes(1, true, http_request("GET /orders/7"));
    records.received(100, 1, 1);
    part_first ? of_part() : of_service();
    part_first ? of_service() : of_part();
    records.writer = "orders";
    records.bytes(2, false, http_answer(200, "9"));
    records.finished(101);
    records.bytes(1, false, http_answer(200, "ok"));
    records.answered(100, 200);
    const Assembled out = assembled(&records, Mix::kEventsFirst, with_parts({"side"}));
    ASSERT_EQ(out.cases.size(), 1u);
    const cases::Case& value = out.cases[0].value;
    EXPECT_EQ(value.partial, "");
    EXPECT_EQ(value.request.target, "/orders/7");
    ASSERT_EQ(value.calls.size(), 1u);
    EXPECT_EQ(value.calls[0].input.http.target, "/of/7");
    EXPECT_EQ(value.calls[0].answer.body, "9");
    EXPECT_EQ(out.untold_requests, 0u);
  }
}

// The tables of an agent may be full: then it tells nothing of a call.
TEST(Assembler, ACallOfWhichNothingWasToldSpoilsWhatWasOpen) {
  for (const Mix mix : {Mix::kEventsFirst, Mix::kTapeFirst}) {
    for (const bool by_library : {false, true}) {
      Records records;
      write_order(&records, 1, 100);
      records.after_ms(1000);
      records.bytes(1, true, http_request("GET /orders/1"));
      records.received(200, 1, 2);
      records.bytes(2, true,
                    by_library ? "*1\r\n$4\r\nPING\r\n" : "*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
      records.bytes(2, false, by_library ? "+PONG\r\n" : "$1\r\n7\r\n");
      records.bytes(1, false, http_answer(200, "7"));
      records.answered(200, 200);
      records.bytes(1, true, http_request("GET /orders/2"));
      records.bytes(1, false, http_answer(200, "7"));
      const Assembled out = assembled(&records, mix);
      ASSERT_EQ(out.cases.size(), 2u);
      EXPECT_EQ(out.cases[0].value.partial, "");
      EXPECT_EQ(out.cases[1].value.partial,
                by_library ? ""
                           : "nothing was told of a call to cache (GET) that was made while it was "
                             "open");
      EXPECT_EQ(out.untold_requests, 1u);
    }
  }
}

TEST(Assembler, LostRecordsSpoilWhatIsNotWrittenYet) {
  Records records;
  write_order(&records);
  Assembler assembler(of_orders());
  records.run(&assembler, Mix::kInTurns);
  assembler.lost(records.source("orders"), 3);
  assembler.finish();
  const Assembled out = assembler.take();
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].value.partial, "records of its process were lost");
  EXPECT_EQ(out.lost, 3u);
}

TEST(Assembler, ACaseHasABound) {
  AssemblerOptions options = of_orders();
  options.bounds.most_bytes = 20;
  Records records;
  write_order(&records);
  const Assembled out = assembled(&records, Mix::kInTurns, options);
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].value.partial, "it is larger than 20 bytes");
  EXPECT_EQ(out.cases[0].value.request.body, "");
}

TEST(Assembler, ACaseHasABoundOfCalls) {
  AssemblerOptions options = of_orders();
  options.bounds.most_calls = 2;
  Records records;
  write_order(&records);
  const Assembled out = assembled(&records, Mix::kInTurns, options);
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].value.partial, "it makes more than 2 calls");
  EXPECT_EQ(out.cases[0].value.calls.size(), 2u);
}

TEST(Assembler, AMessageThatNeverEndsHasABound) {
  AssemblerOptions options = of_orders();
  options.most_kept = 1000;
  Records records(100);
  records.connection(1, true, StreamProtocol::kHttp1);
  records.received(100, 1, 1);
  records.bytes(1, true,
                "POST /big HTTP/1.1\r\nContent-Length: 9000\r\n\r\n" + std::string(5000, 'x'));
  records.answered(100, 413);
  const Assembled out = assembled(&records, Mix::kInTurns, options);
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].value.partial, "more was under way than is kept (0 MiB)");
}

TEST(Assembler, WhatIsUnderWayHasABound) {
  AssemblerOptions options = of_orders();
  options.most_kept = 1000;
  Records records;
  records.connection(1, true, StreamProtocol::kHttp1);
  records.bytes(1, true, http_request("POST /big", std::string(5000, 'x')));
  records.received(100, 1, 1);
  records.bytes(1, false, http_answer(200, "4"));
  records.answered(100, 200);
  const Assembled out = assembled(&records, Mix::kInTurns, options);
  ASSERT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases[0].value.partial, "more was under way than is kept (0 MiB)");
}

// --- endings of calls

cases::Answer answer_of_call(RpcOutcome outcome, std::string_view answer, int error) {
  Records records;
  records.connection(1, true, StreamProtocol::kHttp1);
  records.bytes(1, true, http_request("GET /"));
  records.received(100, 1, 1);
  records.connection(3, false, StreamProtocol::kHttp1, "pricing");
  records.issued(101, 3, 1, "pricing", "GET", "/x", {100});
  records.bytes(3, true, http_request("GET /x"));
  records.bytes(3, false, answer);
  records.closed(3, outcome != RpcOutcome::kTimedOut, error);
  records.finished(101, outcome, 0);
  records.bytes(1, false, http_answer(502, ""));
  records.answered(100, 502);
  const Assembled out = assembled(&records);
  EXPECT_EQ(out.cases.size(), 1u);
  EXPECT_EQ(out.cases.at(0).value.partial, "");
  return out.cases.at(0).value.calls.at(0).answer;
}

TEST(Assembler, AnEndInThePlaceOfAnAnswerIsKept) {
  const cases::Answer reset = answer_of_call(RpcOutcome::kReset, "", ECONNRESET);
  EXPECT_EQ(reset.status, 0);
  EXPECT_EQ(reset.ends, cases::Ends::kReset);
  const cases::Answer cut =
      answer_of_call(RpcOutcome::kClosed, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 0);
  EXPECT_EQ(cut.status, 200);
  EXPECT_EQ(cut.body, "abc");
  EXPECT_EQ(cut.ends, cases::Ends::kClosed);
  EXPECT_TRUE(answer_of_call(RpcOutcome::kTimedOut, "", 0).silence);
  const cases::Answer until_close =
      answer_of_call(RpcOutcome::kAnswered, "HTTP/1.1 200 OK\r\n\r\nto the end", 0);
  EXPECT_EQ(until_close.body, "to the end");
}

TEST(Assembler, KeepsNothingOfWhatIsOver) {
  Records records;
  AssemblerOptions options = of_orders();
  // Much more than this goes through.
  options.most_kept = 20'000;
  Assembler bounded(options);
  for (uint64_t i = 1; i <= 200; ++i) {
    write_order(&records, i, 100 * i);
    records.run(&bounded, i % 2 == 0 ? Mix::kEventsFirst : Mix::kTapeFirst);
    records.after_ms(1000);
    bounded.passed(records.now());
    const Assembled out = bounded.take();
    ASSERT_EQ(out.cases.size(), 1u) << i;
    ASSERT_EQ(out.cases[0].value.partial, "") << i;
  }
}

}  // namespace
}  // namespace filibuster::record
