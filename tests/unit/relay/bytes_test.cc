// What passes to the byte, the header table of before the hand-off, and what makes no sense.
#include <gtest/gtest.h>

#include "core/http2/whole_frames.h"
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
  Relay relay(r.state, "\xff\xff\xff\xff\xff\xff\xff", {}, &r);
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

// As HEADERS and CONTINUATION.
std::string in_two_frames(std::string_view headers) {
  http2::FrameHeader h = http2::read_frame_header(headers.data());
  const std::string_view block = headers.substr(http2::kFrameHeaderSize);
  const uint8_t flags = h.flags & static_cast<uint8_t>(~http2::kFlagEndHeaders);
  return http2::frame(h.type, flags, h.stream, block.substr(0, 5)) +
         http2::frame(http2::FrameType::kContinuation, http2::kFlagEndHeaders, h.stream,
                      block.substr(5));
}

// An answer of which the client has read `cut` bytes at the hand-off. False: it has read all.
bool hand_off_within_an_answer(size_t cut) {
  const FieldList fields = {{":status", "200"}, {"x-of-old", "of old"}, {"x-same", "same"}};
  Relayed r;
  int32_t old = 0;
  const auto answer = r.answer;
  r.answer = [](int32_t) {};
  r.before_hand_off([&] { old = r.client.request(kGet); });
  r.server.respond(old, fields, "the answer", {{"x-trailer", "t"}});
  nghttp2_submit_ping(r.server.session, 0, nullptr);
  std::string down;
  std::vector<std::string> frames = r.server.frames();
  for (const std::string& frame : frames) {
    const bool headers = http2::read_frame_header(frame.data()).type == http2::FrameType::kHeaders;
    down += headers ? in_two_frames(frame) : frame;
  }
  if (cut == down.size()) return false;

  http2::WholeFrames whole;
  struct Nothing final : http2::FrameHandler {
  } nothing;
  http2::FrameParser seen(http2::Direction::kResponses, &nothing);
  std::string given;
  whole.feed(down.data(), cut, [&](const char* data, size_t size) { given.append(data, size); });
  const std::string past = http2::settings();
  seen.feed(past.data(), past.size());
  seen.feed(given.data(), given.size());
  for (size_t at = 0; const std::string& frame : frames) {
    const bool headers = http2::read_frame_header(frame.data()).type == http2::FrameType::kHeaders;
    at += headers ? in_two_frames(frame).size() : frame.size();
    if (at <= given.size()) r.table.frame(frame);
  }
  r.client.receive(down.substr(0, cut));
  r.half_read = whole.kept();
  r.state.response_bytes_left = seen.bytes_left();
  r.state.last_request = static_cast<uint32_t>(old);
  r.state.open_requests = 1;
  r.hand_off();

  r.answer = answer;
  const int32_t faulted = r.faulted(kGet, fault_of("status:503"));
  const int32_t other = r.client.request(kGet);
  r.step();
  r.relay->from_server(down.substr(cut), r.now);
  r.run();
  EXPECT_EQ(r.client.streams[old].data, "the answer");
  EXPECT_EQ(r.client.streams[old].field("x-of-old"), "of old");
  EXPECT_TRUE(r.client.streams[old].ended);
  EXPECT_EQ(r.client.streams[faulted].field(":status"), "503");
  EXPECT_EQ(r.client.streams[other].field("x-same"), "same");
  EXPECT_EQ(r.client.lines, std::vector<std::string>{"ping"});
  EXPECT_TRUE(r.said.empty());
  return true;
}

TEST(Relay, BeginsAtAnyByteOfTheAnswers) {
  size_t cut = 0;
  while (hand_off_within_an_answer(cut)) {
    ASSERT_FALSE(HasFailure()) << cut;
    ++cut;
  }
  EXPECT_GT(cut, 100u);
}

TEST(Relay, AGoawayThatIsHalfReadIsKnown) {
  Relayed r;
  r.goaways_allowed = true;
  r.answer = [](int32_t) {};
  int32_t old = 0;
  r.before_hand_off([&] { old = r.client.request(kGet); });
  nghttp2_submit_goaway(r.server.session, 0, old, NGHTTP2_NO_ERROR, nullptr, 0);
  std::string goaway;
  for (const std::string& frame : r.server.frames()) goaway += frame;
  r.client.receive(goaway.substr(0, 11));
  r.half_read = goaway.substr(0, 11);
  r.state.last_request = static_cast<uint32_t>(old);
  r.state.open_requests = 1;
  r.hand_off();
  r.relay->from_server(goaway.substr(11), r.now);
  EXPECT_EQ(r.relay->to_client().view(), goaway.substr(11));
  r.plan.push_back(fault_of("status:503"));
  std::string order(kOrderFrameSize, '\0');
  write_order(static_cast<uint32_t>(old) + 2, {}, order.data());
  r.relay->from_client(order, r.now);
  ASSERT_EQ(r.said.size(), 1u);
  EXPECT_EQ(r.said[0],
            "harmed: a fault was ordered on an HTTP/2 connection that its server had closed");
}

TEST(Relay, MoreThanAFrameIsNotHalfRead) {
  for (const std::string& bytes : {http2::ping(), http2::ping() + http2::ping().substr(0, 3)}) {
    Relayed r;
    r.state.server_settings_seen = 1;
    Relay relay(r.state, {}, bytes, &r);
    EXPECT_FALSE(relay.ok());
  }
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
