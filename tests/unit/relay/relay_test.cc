#include "daemon/relay/relay.h"

#include <gtest/gtest.h>

#include "tests/unit/core/http2/wire.h"
#include "tests/unit/relay/relayed.h"

namespace filibuster {
namespace {

using http2::ErrorCode;

const FieldList kGet = {
    {":method", "GET"}, {":scheme", "http"}, {":path", "/a"}, {":authority", "cart:80"}};
const FieldList kCall = {{":method", "POST"},
                         {":scheme", "http"},
                         {":path", "/shop.Cart/Get"},
                         {":authority", "cart:80"},
                         {"content-type", "application/grpc"},
                         {"te", "trailers"}};

constexpr uint64_t kAlone = 20'000'000;

uint32_t number(ErrorCode code) {
  return static_cast<uint32_t>(code);
}

// --- before effect -------------------------------------------------------------------------------

TEST(Relay, AStatusBeforeEffectNeverReachesTheServerAndTheOthersGoOn) {
  Relayed r;
  r.start();
  const int32_t first = r.client.request(kGet);
  FaultSpec fault = fault_of("status:503");
  fault.body = "try later";
  fault.headers = {{"Retry-After", "7"},
                   {"Content-Type", "text/plain"},
                   {"Connection", "close"},
                   {"x-bad", "a\nb"}};
  const int32_t second = r.faulted(kGet, fault);
  const int32_t third = r.client.request(kGet);
  r.run();
  EXPECT_EQ(r.client.streams[first].data, "answer 1");
  EXPECT_EQ(r.client.streams[third].data, "answer 5");
  EXPECT_EQ(r.server.requests, (std::vector<int32_t>{first, third}));
  const Received& got = r.client.streams[second];
  EXPECT_EQ(got.head, (FieldList{{":status", "503"},
                                 {"content-length", "9"},
                                 {"retry-after", "7"},
                                 {"content-type", "text/plain"}}));
  EXPECT_EQ(got.data, "try later");
  EXPECT_TRUE(got.ended);
  EXPECT_FALSE(got.reset);
  EXPECT_TRUE(r.said.empty());
}

TEST(Relay, AGrpcStatusIsTrailersOnlyWithMessageAndDetails) {
  Relayed r;
  r.start();
  FaultSpec fault = fault_of("grpc:UNAVAILABLE");
  fault.message = "no cart today: 100%";
  fault.details = std::string("\x08\x0e\xff", 3);
  const int32_t id = r.faulted_with_body(kCall, fault, std::string("\0\0\0\0\2hi", 7));
  r.run();
  const Received& got = r.client.streams[id];
  EXPECT_EQ(got.head, (FieldList{{":status", "200"},
                                 {"content-type", "application/grpc"},
                                 {"grpc-status", "14"},
                                 {"grpc-message", "no cart today: 100%25"},
                                 {"grpc-status-details-bin", "CA7/"}}));
  EXPECT_TRUE(got.ended);
  EXPECT_FALSE(got.reset);
  EXPECT_TRUE(r.server.requests.empty());
}

TEST(Relay, HeadAndBodylessStatusesHaveNoBody) {
  for (const auto& [text, flags, length] :
       {std::tuple("status:503", uint32_t{kOrderHead}, "4"), std::tuple("status:204", 0u, "-"),
        std::tuple("status:304", 0u, "4")}) {
    Relayed r;
    r.start();
    FaultSpec fault = fault_of(text);
    fault.body = "body";
    FieldList request = kGet;
    if (flags != 0) request[0].second = "HEAD";
    const int32_t id = r.faulted(request, fault, flags);
    r.run();
    EXPECT_EQ(r.client.streams[id].data, "");
    EXPECT_EQ(r.client.streams[id].field("content-length"), length);
    EXPECT_TRUE(r.client.streams[id].ended);
  }
}

TEST(Relay, ARefusalIsRefusedStream) {
  Relayed r;
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("refused"));
  r.run();
  EXPECT_EQ(r.client.streams[id].error, number(ErrorCode::kRefusedStream));
  EXPECT_TRUE(r.server.requests.empty());
  EXPECT_FALSE(r.relay->reset());
}

TEST(Relay, AResetAmongOthersIsOfTheStreamAndAloneOfTheConnection) {
  Relayed r;
  r.answer = [](int32_t) {};  // stays open
  r.start();
  const int32_t other = r.client.request(kGet);
  const int32_t id = r.faulted(kGet, fault_of("reset"));
  r.run();
  EXPECT_EQ(r.client.streams[id].error, number(ErrorCode::kInternalError));
  EXPECT_FALSE(r.relay->reset());
  r.server.respond(other, {{":status", "200"}}, "x");
  r.run();
  EXPECT_TRUE(r.client.streams[other].ended);
  r.faulted(kGet, fault_of("reset"));
  r.run();
  EXPECT_EQ(r.relay->next_deadline_ns(), r.now + kAlone);
  r.relay->expire(r.now + kAlone - 1);
  EXPECT_FALSE(r.relay->reset());
  r.relay->expire(r.now + kAlone);
  EXPECT_TRUE(r.relay->reset());
  EXPECT_EQ(r.server.requests.size(), 1u);
}

TEST(Relay, AResetThatDoesNotStayAloneIsOfTheStream) {
  Relayed r;
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("reset:after"));
  r.run();
  const int32_t other = r.client.request(kGet);
  r.run();
  EXPECT_EQ(r.client.streams[id].error, number(ErrorCode::kInternalError));
  r.relay->expire(r.now + kAlone);
  r.run();
  EXPECT_FALSE(r.relay->reset());
  EXPECT_TRUE(r.client.streams[other].ended);
}

TEST(Relay, AResetSparesTheStreamsThatAreOlderThanTheRelay) {
  for (const bool open : {false, true}) {
    Relayed r;
    r.answer = [](int32_t) {};
    r.before_hand_off([&] { r.client.request(kGet); });
    r.state.last_request = 1;
    r.state.open_requests = 1;
    r.hand_off();
    if (!open) r.server.respond(1, {{":status", "200"}}, "late");
    r.run();
    r.faulted(kGet, fault_of("reset"));
    r.run();
    r.relay->expire(r.now + kAlone);
    EXPECT_EQ(r.relay->reset(), !open);
  }
}

TEST(Relay, ASilenceLastsUntilTheLimitAndIsSaid) {
  Relayed r;
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("timeout"));
  r.run();
  EXPECT_EQ(r.relay->next_deadline_ns(), 6 * kSecond);
  r.relay->expire(6 * kSecond - 1);
  r.run();
  EXPECT_FALSE(r.client.streams[id].reset);
  EXPECT_TRUE(r.said.empty());
  r.relay->expire(6 * kSecond);
  r.run();
  EXPECT_EQ(r.client.streams[id].error, number(ErrorCode::kCancel));
  EXPECT_EQ(r.said,
            (std::vector<std::string>{"7 1001 caller has no timeout (hang limit 5.0 s reached)"}));
  EXPECT_EQ(r.relay->next_deadline_ns(), 0u);
}

TEST(Relay, TheClientEndsASilenceByItsOwnReset) {
  Relayed r;
  r.start();
  const int32_t id = r.faulted_with_body(kGet, fault_of("timeout"), "abc");
  r.run();
  r.client.reset(id, number(ErrorCode::kCancel));
  r.run();
  EXPECT_EQ(r.relay->next_deadline_ns(), 0u);
  EXPECT_TRUE(r.said.empty());
  EXPECT_TRUE(r.server.streams.empty());
  const int32_t next = r.client.request(kGet);
  r.run();
  EXPECT_EQ(r.client.streams[next].data, "answer 3");
}

TEST(Relay, ARequestThatGoesOnIsAnsweredWhenItsClientIsQuietAndToldToStop) {
  Relayed r;
  r.start();
  r.quiet_after_reading = false;
  const int32_t id = r.faulted_with_body(kCall, fault_of("grpc:NOT_FOUND"), "part", true);
  r.run();
  EXPECT_EQ(r.client.streams[id].blocks, 0);
  r.relay->client_quiet();
  r.run();
  EXPECT_EQ(r.client.streams[id].field("grpc-status"), "5");
  EXPECT_TRUE(r.client.streams[id].ended);
  EXPECT_TRUE(r.client.streams[id].reset);
  EXPECT_EQ(r.client.streams[id].error, number(ErrorCode::kNoError));
  EXPECT_TRUE(r.server.streams.empty());
}

// --- after effect
// ----------------------------------------------------------------------------------

TEST(Relay, AfterEffectTheServerIsAskedAndItsAnswerIsSwallowed) {
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{1} << 20}) {
    Relayed r;
    r.piece = piece;
    r.start();
    // Fields that enter the tables, before, in and after the swallowed answer.
    const int32_t first = r.client.request(kGet);
    r.run();
    const int32_t second = r.faulted_with_body(kGet, fault_of("status:502:after"), "question");
    const int32_t third = r.client.request(kGet);
    r.run();
    const int32_t fourth = r.client.request(kGet);
    r.run();
    EXPECT_EQ(r.server.streams[second].data, "question");
    EXPECT_EQ(r.client.streams[second].field(":status"), "502");
    EXPECT_EQ(r.client.streams[second].field("x-same"), "-");
    EXPECT_EQ(r.client.streams[second].data, "");
    for (const int32_t id : {first, third, fourth}) {
      EXPECT_EQ(r.client.streams[id].head,
                (FieldList{{":status", "200"}, {"x-for", std::to_string(id)}, {"x-same", "same"}}));
      EXPECT_EQ(r.client.streams[id].data, "answer " + std::to_string(id));
    }
    EXPECT_TRUE(r.said.empty());
  }
}

TEST(Relay, AfterEffectGrpcAnswersWithTrailersAreSwallowedWhole) {
  Relayed r;
  r.answer = [&](int32_t id) {
    r.server.respond(id, {{":status", "200"}, {"content-type", "application/grpc"}}, "message",
                     {{"grpc-status", "0"}});
  };
  r.start();
  const int32_t faulted = r.faulted_with_body(kCall, fault_of("grpc:INTERNAL:after"), "m");
  const int32_t other = r.client.request_with_body(kCall, "m");
  r.run();
  EXPECT_EQ(r.server.requests.size(), 2u);
  EXPECT_EQ(r.client.streams[faulted].field("grpc-status"), "13");
  EXPECT_EQ(r.client.streams[faulted].data, "");
  EXPECT_EQ(r.client.streams[other].field("grpc-status"), "0");
  EXPECT_EQ(r.client.streams[other].data, "message");
}

TEST(Relay, AfterEffectTheOutcomeComesOnlyWhenTheAnswerHasEnded) {
  Relayed r;
  r.answer = [&](int32_t id) { r.server.respond(id, {{":status", "200"}}, "begun", {}, true); };
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("status:500:after"));
  r.run();
  EXPECT_EQ(r.client.streams[id].blocks, 0);
  r.server.more(id, " and done", true);
  r.run();
  EXPECT_EQ(r.client.streams[id].field(":status"), "500");
}

TEST(Relay, AfterEffectTheServersResetIsTheEndOfItsAnswer) {
  Relayed r;
  r.answer = [&](int32_t id) { r.server.reset(id, number(ErrorCode::kInternalError)); };
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("status:500:after"));
  r.run();
  EXPECT_EQ(r.client.streams[id].field(":status"), "500");
  EXPECT_TRUE(r.client.streams[id].ended);
  EXPECT_FALSE(r.client.streams[id].reset);
}

TEST(Relay, AfterEffectASilenceKeepsTheAnswer) {
  Relayed r;
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("timeout:after"));
  r.run();
  EXPECT_EQ(r.server.requests.size(), 1u);
  EXPECT_EQ(r.client.streams[id].blocks, 0);
  r.relay->expire(100 * kSecond);
  r.run();
  EXPECT_EQ(r.client.streams[id].error, number(ErrorCode::kCancel));
  EXPECT_EQ(r.said.size(), 1u);
}

TEST(Relay, AnAnswerThatDoesNotEndIsSaidAndGivenUpAtBothEnds) {
  Relayed r;
  r.answer = [](int32_t) {};
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("status:500:after"));
  r.run();
  r.relay->expire(100 * kSecond);
  r.run();
  EXPECT_EQ(r.client.streams[id].error, number(ErrorCode::kCancel));
  EXPECT_EQ(r.server.streams[id].error, number(ErrorCode::kCancel));
  EXPECT_EQ(r.said, (std::vector<std::string>{
                        "7 1001 the server's own answer did not end (hang limit 5.0 s reached)"}));
}

TEST(Relay, AfterEffectTheClientsResetReachesTheServer) {
  Relayed r;
  r.answer = [](int32_t) {};
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("timeout:after"));
  r.run();
  r.client.reset(id, number(ErrorCode::kCancel));
  r.run();
  EXPECT_EQ(r.server.streams[id].error, number(ErrorCode::kCancel));
  EXPECT_EQ(r.relay->next_deadline_ns(), 0u);
}

TEST(Relay, AfterEffectAStreamingClientIsToldToStopAndSoIsTheServer) {
  Relayed r;
  r.start();
  const int32_t id = r.faulted_with_body(kCall, fault_of("grpc:ABORTED:after"), "part", true);
  r.run();
  EXPECT_EQ(r.client.streams[id].field("grpc-status"), "10");
  EXPECT_TRUE(r.client.streams[id].reset);
  EXPECT_EQ(r.server.streams[id].error, number(ErrorCode::kCancel));
}

TEST(Relay, InterimAnswersAreSwallowedToo) {
  Relayed r;
  r.answer = [&](int32_t id) {
    nghttp2_nv nv = {reinterpret_cast<uint8_t*>(const_cast<char*>(":status")),
                     reinterpret_cast<uint8_t*>(const_cast<char*>("103")), 7, 3, 0};
    nghttp2_submit_headers(r.server.session, 0, id, nullptr, &nv, 1, nullptr);
    r.server.respond(id, {{":status", "200"}}, "x");
  };
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("status:500:after"));
  r.run();
  EXPECT_EQ(r.client.streams[id].head[0].second, "500");
  EXPECT_EQ(r.client.streams[id].data, "");
}

TEST(Relay, PushesOfASwallowedAnswerAreSwallowedAndRefusedOthersAreWrittenAnew) {
  Relayed r;
  std::vector<int32_t> promised;
  r.answer = [&](int32_t id) {
    const FieldList fields = kGet;
    std::vector<nghttp2_nv> nva;
    for (const auto& [name, value] : fields) {
      nva.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                     reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(),
                     value.size(), 0});
    }
    promised.push_back(
        nghttp2_submit_push_promise(r.server.session, 0, id, nva.data(), nva.size(), nullptr));
    r.server.respond(id, {{":status", "200"}, {"x-same", "same"}}, "answer");
    r.server.respond(promised.back(), {{":status", "200"}, {"x-same", "same"}}, "pushed");
  };
  r.start();
  r.faulted(kGet, fault_of("status:500:after"));
  r.run();
  const int32_t other = r.client.request(kGet);
  r.run();
  ASSERT_EQ(promised.size(), 2u);
  EXPECT_FALSE(r.client.streams.contains(promised[0]));
  EXPECT_TRUE(r.server.streams[promised[0]].reset);
  EXPECT_EQ(r.client.streams[other].data, "answer");
  EXPECT_EQ(r.client.streams[other].promised, static_cast<uint32_t>(promised[1]));
  EXPECT_EQ(r.client.streams[promised[1]].field(":path"), "/a");
  EXPECT_EQ(r.client.streams[promised[1]].field("x-same"), "same");
  EXPECT_EQ(r.client.streams[promised[1]].data, "pushed");
}

// --- the header table
// --------------------------------------------------------------------------------

TEST(Relay, TheClientsTableOfBeforeTheHandOffIsKnown) {
  Relayed r;
  r.before_hand_off([&] { r.client.request(kGet); });
  r.state.last_request = 1;
  r.hand_off();
  // The server refers to what entered the table before the hand-off; from the swallowed answer on
  // its blocks are written anew.
  r.faulted(kGet, fault_of("status:500:after"));
  const int32_t other = r.client.request(kGet);
  r.run();
  EXPECT_EQ(r.client.streams[other].head,
            (FieldList{{":status", "200"}, {"x-for", "5"}, {"x-same", "same"}}));
}

TEST(Relay, ATableThatMakesNoSenseIsRefused) {
  Relayed r;
  Relay relay(r.state, "\xff\xff\xff\xff\xff\xff\xff", &r);
  EXPECT_FALSE(relay.ok());
}

// --- windows
// -------------------------------------------------------------------------------------------

TEST(Relay, ASwallowedUploadIsGivenBackToTheClient) {
  Relayed r;
  r.start();
  // Several times the server's windows.
  const int32_t id = r.faulted_with_body(kGet, fault_of("status:503"), std::string(500'000, 'u'));
  r.quiet_after_reading = false;
  r.run();
  EXPECT_EQ(r.client.streams[id].field(":status"), "503");
  EXPECT_FALSE(r.client.streams[id].reset);
  const int32_t other = r.client.request_with_body(kGet, std::string(200'000, 'v'));
  r.run();
  EXPECT_EQ(r.server.streams[other].data.size(), 200'000u);
  EXPECT_EQ(r.client.streams[other].data, "answer 3");
}

TEST(Relay, ASwallowedDownloadIsGivenBackToTheServer) {
  Relayed r;
  r.answer = [&](int32_t id) {
    r.server.respond(id, {{":status", "200"}}, std::string(500'000, 'd'));
  };
  r.start();
  for (int i = 0; i < 3; ++i) {
    const int32_t id = r.faulted(kGet, fault_of("status:503:after"));
    r.run();
    EXPECT_EQ(r.client.streams[id].field(":status"), "503");
  }
  const int32_t other = r.client.request(kGet);
  r.run();
  EXPECT_EQ(r.client.streams[other].data.size(), 500'000u);
}

TEST(Relay, ALongBodyOfOursKeepsToTheClientsWindows) {
  Relayed r(20'000);
  r.start();
  FaultSpec fault = fault_of("status:503");
  fault.body.assign(300'000, 'b');
  for (int i = 0; i < 3; ++i) {
    const int32_t id = r.faulted(kGet, fault);
    r.run();
    EXPECT_EQ(r.client.streams[id].data.size(), 300'000u);
    EXPECT_TRUE(r.client.streams[id].ended);
  }
  // The server has not been told of increments for what it has not sent.
  EXPECT_LE(nghttp2_session_get_remote_window_size(r.server.session), 65'535);
}

TEST(Relay, BodiesOfOursAndOfTheServerShareTheWindow) {
  for (const size_t piece : {size_t{100}, size_t{16393}, size_t{1} << 20}) {
    Relayed r;
    r.piece = piece;
    r.answer = [&](int32_t id) {
      r.server.respond(id, {{":status", "200"}}, std::string(400'000, 'd'), {{"t", "end"}});
    };
    r.start();
    FaultSpec fault = fault_of("status:503");
    fault.body.assign(300'000, 'b');
    std::vector<int32_t> real, ours;
    for (int i = 0; i < 4; ++i) {
      real.push_back(r.client.request(kGet));
      ours.push_back(r.faulted(kGet, fault));
    }
    r.run();
    for (const int32_t id : real) {
      EXPECT_EQ(r.client.streams[id].data.size(), 400'000u) << piece;
      EXPECT_EQ(r.client.streams[id].field("t"), "end");
    }
    for (const int32_t id : ours) EXPECT_EQ(r.client.streams[id].data.size(), 300'000u) << piece;
    EXPECT_TRUE(r.client.lines.empty());
    EXPECT_TRUE(r.said.empty());
  }
}

TEST(Relay, WhatTheServerSendsBeyondTheClientsWindowWaits) {
  Relayed r(1'000'000, true);
  r.answer = [&](int32_t id) {
    r.server.respond(id, {{":status", "200"}}, std::string(60'000, 'd'), {{"t", "end"}});
  };
  r.start();
  FaultSpec fault = fault_of("status:503");
  fault.body.assign(30'000, 'b');
  const int32_t ours = r.faulted(kGet, fault);
  r.run();
  EXPECT_EQ(r.client.streams[ours].data.size(), 30'000u);
  // The server believes that 65,535 bytes fit; 35,535 do.
  const int32_t real = r.client.request(kGet);
  const int32_t bodyless = r.faulted(kGet, fault_of("status:500"));
  r.run();
  EXPECT_LE(r.client.streams[real].data.size(), 35'535u);
  EXPECT_EQ(r.client.streams[real].field("t"), "-");
  EXPECT_EQ(r.client.streams[bodyless].field(":status"), "500");  // a head needs no window
  r.client.consume(ours, 30'000);
  r.client.consume(real, r.client.streams[real].data.size());
  r.run();
  EXPECT_EQ(r.client.streams[real].data.size(), 60'000u);
  EXPECT_EQ(r.client.streams[real].field("t"), "end");
  EXPECT_TRUE(r.client.lines.empty());
}

// --- life
// ------------------------------------------------------------------------------------------------

TEST(Relay, OrdersThatAreNotPlannedEndTheStream) {
  Relayed r;
  r.start();
  const int32_t id = r.order(r.client.request(kGet), std::nullopt, 0);
  r.run();
  EXPECT_EQ(r.client.streams[id].error, number(ErrorCode::kCancel));
  EXPECT_TRUE(r.server.requests.empty());
}

TEST(Relay, AnExecutionsSilencesEndWithIt) {
  Relayed r;
  r.answer = [](int32_t) {};
  r.start();
  const int32_t silent = r.faulted(kGet, fault_of("timeout"));
  const int32_t after = r.faulted(kGet, fault_of("status:500:after"));
  const int32_t other = r.client.request(kGet);
  r.run();
  r.relay->end_execution(6);
  r.run();
  EXPECT_FALSE(r.client.streams[silent].reset);
  r.relay->end_execution(7);
  r.run();
  EXPECT_EQ(r.client.streams[silent].error, number(ErrorCode::kCancel));
  EXPECT_EQ(r.client.streams[after].error, number(ErrorCode::kCancel));
  EXPECT_EQ(r.server.streams[after].error, number(ErrorCode::kCancel));
  EXPECT_FALSE(r.client.streams[other].reset);
  EXPECT_TRUE(r.said.empty());
}

TEST(Relay, RetiredItTakesNoNewStreamAndLetsTheOpenOnesEnd) {
  Relayed r;
  r.answer = [](int32_t) {};
  r.start();
  const int32_t open = r.client.request_with_body(kGet, "a", true);
  r.run();
  r.relay->retire();
  // The client does not know yet.
  const int32_t late = r.client.request_with_body(kGet, std::string(100'000, 'l'));
  r.run();
  EXPECT_EQ(r.client.goaway_last, open);
  EXPECT_FALSE(r.relay->finished());
  EXPECT_EQ(r.server.requests, (std::vector<int32_t>{open}));
  EXPECT_FALSE(r.server.streams.contains(late));
  r.client.more(open, std::string(100'000, 'b'), true);
  r.server.respond(open, {{":status", "200"}}, "done");
  r.run();
  EXPECT_EQ(r.client.streams[open].data, "done");
  EXPECT_TRUE(r.relay->finished());
}

TEST(Relay, RetirementAlsoWaitsForOlderStreams) {
  Relayed r;
  r.answer = [](int32_t) {};
  r.before_hand_off([&] { r.client.request(kGet); });
  r.state.last_request = 1;
  r.state.open_requests = 1;
  r.hand_off();
  r.relay->retire();
  r.run();
  EXPECT_EQ(r.client.goaway_last, 1);
  EXPECT_FALSE(r.relay->finished());
  r.server.respond(1, {{":status", "200"}}, "done");
  r.run();
  EXPECT_TRUE(r.relay->finished());
  EXPECT_EQ(r.client.streams[1].data, "done");
}

TEST(Relay, TheServersEndIsTheEndOfItsAnswers) {
  Relayed r;
  r.answer = [](int32_t) {};
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("status:500:after"));
  r.run();
  r.relay->server_ended();
  r.run();
  EXPECT_EQ(r.client.streams[id].field(":status"), "500");
  EXPECT_FALSE(r.relay->answering());
}

TEST(Relay, TheServersGoawayDoesNotSendFaultedStreamsElsewhere) {
  Relayed r;
  r.answer = [](int32_t) {};
  r.goaways_allowed = true;
  r.start();
  const int32_t taken = r.client.request(kGet);
  const int32_t ignored = r.client.request(kGet);
  const int32_t silent = r.faulted(kGet, fault_of("timeout"));
  const int32_t after = r.faulted(kGet, fault_of("status:500:after"));
  r.run();
  // Of a server that has not read what came after the first; the client does not know yet.
  nghttp2_submit_goaway(r.server.session, 0, taken, NGHTTP2_NO_ERROR, nullptr, 0);
  std::string goaway;
  for (const std::string& frame : r.server.frames()) goaway += frame;
  r.relay->from_server(goaway, r.now);
  const int32_t late = r.client.request(kGet);
  const int32_t late_status = r.faulted(kGet, fault_of("status:418"));
  const int32_t late_after = r.faulted(kGet, fault_of("status:500:after"));
  r.run();
  EXPECT_EQ(r.client.goaway_last, 0x7fffffff);
  for (const int32_t id : {ignored, after, late, late_after}) {
    EXPECT_EQ(r.client.streams[id].error, number(ErrorCode::kRefusedStream)) << id;
  }
  EXPECT_EQ(r.client.streams[late_status].field(":status"), "418");
  EXPECT_FALSE(r.client.streams[silent].reset);
  EXPECT_EQ(r.said, std::vector<std::string>(2,
                                             "harmed: the server did not take a request whose "
                                             "fault was to follow its effect"));
  r.server.respond(taken, {{":status", "200"}}, "done");
  r.run();
  EXPECT_EQ(r.client.streams[taken].data, "done");
  EXPECT_TRUE(r.relay->leaving());
  r.relay->retire();
  r.run();
  EXPECT_EQ(r.client.goaway_last, late_after);
  EXPECT_FALSE(r.relay->leaving());
}

TEST(Relay, WithoutAnOrderTheServersGoawayPassesAsItIs) {
  Relayed r;
  r.answer = [](int32_t) {};
  r.goaways_allowed = true;
  r.start();
  const int32_t taken = r.client.request(kGet);
  r.client.request(kGet);
  r.run();
  nghttp2_submit_goaway(r.server.session, 0, taken, NGHTTP2_NO_ERROR, nullptr, 0);
  r.run();
  EXPECT_EQ(r.client.goaway_last, taken);
  EXPECT_FALSE(r.relay->leaving());
}

TEST(Relay, ASilenceOutlastsTheServerWhereNobodyElseWaits) {
  Relayed r;
  r.answer = [](int32_t) {};
  r.start();
  r.faulted(kGet, fault_of("timeout"));
  const int32_t other = r.client.request(kGet);
  r.run();
  r.relay->server_ended();
  EXPECT_FALSE(r.relay->answering());  // the other is to see it
  r.client.reset(other, NGHTTP2_CANCEL);
  r.run();
  EXPECT_TRUE(r.relay->answering());
  r.relay->expire(100 * kSecond);
  r.run();
  EXPECT_FALSE(r.relay->answering());
}

// --- bytes
// -------------------------------------------------------------------------------------------------

TEST(Relay, WithoutAnOrderEveryByteIsAsItWas) {
  for (const size_t piece : {size_t{1}, size_t{10}, size_t{1} << 20}) {
    Relayed r;
    r.piece = piece;
    r.start();
    std::string up, down;
    for (int i = 0; i < 5; ++i) {
      r.client.request_with_body(kCall, std::string(1000, 'q'));
      for (const std::string& frame : r.client.frames()) up += frame;
    }
    r.relay->from_client(up, 1);
    EXPECT_EQ(r.relay->to_server().view(), up);
    r.server.receive(up);
    r.serve();
    for (const std::string& frame : r.server.frames()) down += frame;
    for (size_t at = 0; at < down.size(); at += piece) {
      r.relay->from_server(std::string_view(down).substr(at, piece), r.now);
    }
    r.relay->client_quiet();
    EXPECT_EQ(r.relay->to_client().view(), down);
  }
}

TEST(Relay, NothingIsPlacedInAFrameThatIsHalfRead) {
  Relayed r;
  r.start();
  r.state.response_bytes_left = 6;
  r.hand_off();
  r.relay->from_server("abc", r.now);
  r.faulted(kGet, fault_of("status:503"));
  std::string order(kOrderFrameSize, '\0');
  for (const std::string& frame : r.client.frames()) {
    write_order(3, r.orders.begin()->second, order.data());
    http2::FrameHeader h = http2::read_frame_header(order.data());
    h.stream = http2::read_frame_header(frame.data()).stream;
    http2::write_frame_header(h, order.data());
    r.relay->from_client(order + frame, 1);
  }
  r.relay->client_quiet();
  EXPECT_EQ(r.relay->to_client().view(), "abc");
  r.relay->from_server("def", r.now);
  EXPECT_EQ(r.relay->to_client().view().substr(0, 6), "abcdef");
  EXPECT_GT(r.relay->to_client().size(), 20u);
}

TEST(Relay, BrokenBytesPassUntilThereWasAnOrderAndResetAfterwards) {
  const std::string broken = http2::frame(http2::FrameType::kContinuation, 0, 1, "unexpected");
  Relayed r;
  r.start();
  r.relay->from_server(broken, r.now);
  EXPECT_EQ(r.relay->to_client().view(), broken);
  r.relay->from_client(broken, 1);
  EXPECT_EQ(r.relay->to_server().view(), broken);
  EXPECT_FALSE(r.relay->reset());
  ASSERT_EQ(r.said.size(), 2u);
  EXPECT_EQ(r.said[0].substr(0, 5), "note:");

  Relayed s;
  s.start();
  s.faulted(kGet, fault_of("timeout"));
  s.run();
  s.relay->from_server(broken, s.now);
  EXPECT_TRUE(s.relay->reset());
  ASSERT_EQ(s.said.size(), 1u);
  EXPECT_EQ(s.said[0].substr(0, 7), "harmed:");
}

}  // namespace
}  // namespace filibuster
