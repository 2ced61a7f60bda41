// What passes to the byte, the header table of before the hand-off, and what makes no sense.
#include <gtest/gtest.h>

#include "daemon/relay/relay.h"
#include "tests/unit/core/http2/wire.h"
#include "tests/unit/relay/relayed.h"
#include "tests/unit/relay/requests.h"

namespace filibuster {
namespace {

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
