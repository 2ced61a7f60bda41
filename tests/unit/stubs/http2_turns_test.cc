// A call of gRPC whose client sends and receives in turns: its answer leaves while its request is open.
#include <gtest/gtest.h>

#include "core/grpc/message_reader.h"
#include "daemon/stubs/stub_connection.h"
#include "daemon/wire/http2_message.h"
#include "tests/unit/core/http2/peer.h"
#include "tests/unit/core/http2/wire.h"

namespace filibuster::stubs {
namespace {

using enum http2::FrameType;
using http2::frame;

std::string prefixed(std::string_view message) {
  char prefix[grpc::kPrefixSize];
  grpc::write_prefix(false, static_cast<uint32_t>(message.size()), prefix);
  return std::string(prefix, sizeof prefix) + std::string(message);
}

class Turns : public testing::Test {
 protected:
  Turns() : connection_(make_http_connection("pricing")) {
    say(http2::client_start());
    say(frame(kHeaders, http2::kFlagEndHeaders, 1,
              encoder_.block({{":method", "POST"},
                              {":scheme", "http"},
                              {":path", "/shop.Prices/Talk"},
                              {":authority", "x"},
                              {"content-type", "application/grpc"}})));
  }

  // What the client says. The calls that are told for it; open ones are "open". The server answers them before anything leaves.
  std::string say(std::string_view bytes) {
    connection_->feed(bytes);
    reader_.feed(true, bytes, 1);
    std::string out;
    for (const OpenCall& call : connection_->take_calls()) {
      number_ = call.number;
      out += call.is_open ? "open" : "whole " + call.call.path;
    }
    return out;
  }
  std::string message(std::string_view text, bool ends = false) {
    return say(frame(kData, ends ? http2::kFlagEndStream : 0, 1, prefixed(text)));
  }
  void reply(const Reply& reply) {
    connection_->reply(number_, reply);
    hear();
  }
  // All that may leave now.
  void hear() {
    while (const auto due = connection_->take_due()) connection_->send_part(due->number);
    for (wire::Http2Message& each : reader_.feed(false, connection_->take_output(), 1)) {
      if (!each.is_request) answer_ = std::move(each.message);
    }
  }
  std::string heard() const {
    if (!answer_.body.empty()) return answer_.body;
    const wire::HttpMessage* open = reader_.open_answer(1);
    return open == nullptr ? "nothing" : open->body;
  }
  std::string trailer() const {
    return answer_.trailers.empty() ? "none" : answer_.trailers[0].second;
  }

  static Reply in_turns() {
    Reply out;
    out.is_http = true;
    out.answer.headers = {{"content-type", "application/grpc"}};
    out.answer.body = prefixed("1") + prefixed("2");
    out.trailers = {{"grpc-status", "0"}};
    out.parts = {{6, {}, 1}, {6, {}, 2}};
    return out;
  }

  std::unique_ptr<StubConnection> connection_;
  wire::Http2Reader reader_;
  http2::Encoder encoder_;
  uint64_t number_ = 0;
  wire::HttpMessage answer_;
};

TEST_F(Turns, EachPartLeavesBehindTheMessagesThatItWaitsFor) {
  EXPECT_EQ(message("a"), "open");
  hear();
  ASSERT_NE(connection_->open_call(1), nullptr);
  EXPECT_EQ(connection_->open_call(1)->body, prefixed("a"));
  EXPECT_EQ(heard(), "nothing");
  reply(in_turns());
  EXPECT_EQ(heard(), prefixed("1"));
  EXPECT_EQ(message("b"), "open");
  hear();
  EXPECT_EQ(heard(), prefixed("1") + prefixed("2"));
  EXPECT_EQ(trailer(), "none") << "the end waits for that of the request";
  EXPECT_EQ(say(frame(kData, http2::kFlagEndStream, 1, "")), "whole /shop.Prices/Talk");
  EXPECT_EQ(connection_->open_call(1), nullptr);
  reply(in_turns());
  EXPECT_EQ(trailer(), "0");
}

TEST_F(Turns, ACallThatIsNotAnsweredOpenIsAnsweredWhole) {
  EXPECT_EQ(message("a"), "open");
  EXPECT_EQ(message("b", true), "whole /shop.Prices/Talk");
  reply(in_turns());
  EXPECT_EQ(heard(), prefixed("1") + prefixed("2"));
  EXPECT_EQ(trailer(), "0");
}

TEST_F(Turns, WhatGoesOnInAnotherWayEndsWithAnError) {
  message("a");
  reply(in_turns());
  message("c", true);
  Reply none;
  none.problem = "no recorded call answers it";
  reply(none);
  EXPECT_EQ(heard(), prefixed("1"));
  EXPECT_EQ(trailer(), "12");
}

TEST_F(Turns, AnotherAnswerThatBeganInTheSameWayGoesOn) {
  message("a");
  reply(in_turns());
  message("c", true);
  Reply other = in_turns();
  other.answer.body = prefixed("1") + prefixed("three");
  reply(other);
  EXPECT_EQ(heard(), prefixed("1") + prefixed("three"));
  EXPECT_EQ(trailer(), "0");
}

}  // namespace
}  // namespace filibuster::stubs
