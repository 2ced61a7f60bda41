// Flow control: what is taken away is given back, what is placed keeps to the windows.
#include <gtest/gtest.h>

#include "daemon/relay/relay.h"
#include "tests/unit/relay/relayed.h"
#include "tests/unit/relay/requests.h"

namespace filibuster {
namespace {

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

}  // namespace
}  // namespace filibuster
