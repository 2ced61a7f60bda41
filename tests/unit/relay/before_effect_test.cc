// Faults before effect: nothing of the request reaches the server.
#include <gtest/gtest.h>

#include "daemon/relay/relay.h"
#include "tests/unit/relay/relayed.h"
#include "tests/unit/relay/requests.h"

namespace filibuster {
namespace {

using http2::ErrorCode;

// How long a reset waits for another stream (relay.h).
constexpr uint64_t kAlone = 20'000'000;

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
    r.start_with_open(kGet);
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
            (std::vector<std::string>{"7 1001 caller still waited after 5 s for an answer"}));
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

}  // namespace
}  // namespace filibuster
