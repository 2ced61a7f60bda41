// How streams and connections end: executions, the server's end, GOAWAYs, retirement.
#include <gtest/gtest.h>

#include "daemon/relay/relay.h"
#include "tests/unit/relay/relayed.h"
#include "tests/unit/relay/requests.h"

namespace filibuster {
namespace {

using http2::ErrorCode;

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
  r.start_with_open(kGet);
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

TEST(Relay, AGoawayThatTellsOfAnErrorPassesAsItIs) {
  Relayed r;
  r.answer = [](int32_t) {};
  r.goaways_allowed = true;
  r.start();
  const int32_t taken = r.client.request(kGet);
  r.faulted(kGet, fault_of("timeout"));
  r.run();
  nghttp2_submit_goaway(r.server.session, 0, taken, NGHTTP2_ENHANCE_YOUR_CALM, nullptr, 0);
  std::string goaway;
  for (const std::string& frame : r.server.frames()) goaway += frame;
  r.relay->from_server(goaway, r.now);
  EXPECT_EQ(r.relay->to_client().view(), goaway);
  r.run();
  EXPECT_EQ(r.client.goaway_last, taken);
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

}  // namespace
}  // namespace filibuster
