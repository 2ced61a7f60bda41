// Faults after effect: the server's own answer is read to its end and taken away.
#include <gtest/gtest.h>

#include "daemon/relay/relay.h"
#include "tests/unit/relay/relayed.h"
#include "tests/unit/relay/requests.h"

namespace filibuster {
namespace {

using http2::ErrorCode;

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

TEST(Relay, AnAttemptsFaultAfterEffectNeverComesUponAnError) {
  const FieldList kTrailersOnly = {
      {":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "14"}};
  for (const size_t piece : {size_t{1}, size_t{1} << 20}) {
    for (const char* fault : {"grpc:INTERNAL:after", "timeout:after", "stream-reset:after"}) {
      Relayed r;
      r.piece = piece;
      r.sparing = true;
      int32_t failing = 0;
      r.answer = [&](int32_t id) {
        if (id == failing) {
          r.server.respond(id, {{":status", "200"}, {"content-type", "application/grpc"}}, "part",
                           {{"grpc-status", "14"}, {"grpc-message", "busy"}});
        } else {
          r.server.respond(id, kTrailersOnly, "");
        }
      };
      r.start();
      failing = r.faulted_with_body(kCall, fault_of(fault), "m");
      const int32_t at_once = r.faulted_with_body(kCall, fault_of(fault), "m");
      r.run();
      EXPECT_EQ(r.client.streams[failing].data, "part");
      EXPECT_EQ(r.client.streams[failing].field("grpc-status"), "14");
      EXPECT_EQ(r.client.streams[at_once].field("grpc-status"), "14");
      EXPECT_EQ(r.said.size(), 2u) << fault;
      EXPECT_EQ(r.said[0].substr(0, 7), "spared:");
    }
  }
}

TEST(Relay, AnAttemptsFaultAfterEffectComesUponASuccessOfAnySize) {
  Relayed r;
  r.sparing = true;
  const std::string large(ChangedAnswer::kMostHeld + 100'000, 'x');
  r.answer = [&](int32_t id) { r.server.respond(id, {{":status", "200"}}, large); };
  r.start();
  const int32_t id = r.faulted(kGet, fault_of("status:502:after"));
  r.run();
  EXPECT_EQ(r.client.streams[id].field(":status"), "502");
  EXPECT_EQ(r.client.streams[id].data, "");
  EXPECT_TRUE(r.said.empty());
}

}  // namespace
}  // namespace filibuster
