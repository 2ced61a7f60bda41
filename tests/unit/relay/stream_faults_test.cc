// Faults of the server's own answer, and those that only HTTP/2 has.
#include <gtest/gtest.h>

#include "core/grpc/message_reader.h"
#include "daemon/relay/relay.h"
#include "tests/unit/relay/relayed.h"
#include "tests/unit/relay/requests.h"

namespace filibuster {
namespace {

using http2::ErrorCode;

const FieldList kHead = {{":status", "200"}, {"content-type", "application/grpc"}, {"x-same", "s"}};
const FieldList kTrailers = {{"grpc-status", "0"}, {"x-of", "trailers"}};

std::string message(std::string_view text) {
  char prefix[grpc::kPrefixSize];
  grpc::write_prefix(false, static_cast<uint32_t>(text.size()), prefix);
  return std::string(prefix, sizeof prefix) + std::string(text);
}

// The server answers every call with these messages.
void answer_with(Relayed& r, const std::string& data) {
  r.answer = [&r, data](int32_t id) { r.server.respond(id, kHead, data, kTrailers); };
}

TEST(StreamFaults, AResetHasItsCodeAndNeverReachesTheServer) {
  Relayed r;
  r.start();
  const int32_t plain = r.faulted(kCall, fault_of("stream-reset"));
  const int32_t other = r.client.request(kCall);
  const int32_t named = r.faulted(kCall, fault_of("stream-reset:ENHANCE_YOUR_CALM:after"));
  r.run();
  EXPECT_EQ(r.client.streams[plain].error, number(ErrorCode::kInternalError));
  EXPECT_EQ(r.client.streams[named].error, number(ErrorCode::kEnhanceYourCalm));
  EXPECT_EQ(r.client.streams[other].data, "answer " + std::to_string(other));
  EXPECT_EQ(r.server.requests, (std::vector<int32_t>{other, named}));
}

TEST(StreamFaults, AGoawayLeavesItsStreamAndLaterOnesOutAndLetsTheOthersEnd) {
  Relayed r;
  r.goaways_allowed = true;
  r.answer = [](int32_t) {};
  r.start();
  const int32_t first = r.client.request(kCall);
  r.run();
  const int32_t second = r.faulted(kCall, fault_of("goaway"));
  r.client.request(kCall);
  r.run();
  EXPECT_EQ(r.client.goaway_last, first);
  EXPECT_EQ(r.server.requests, (std::vector<int32_t>{first})) << second;
  EXPECT_FALSE(r.relay->finished());
  r.server.respond(first, {{":status", "200"}}, "late");
  r.run();
  EXPECT_EQ(r.client.streams[first].data, "late");
  EXPECT_TRUE(r.client.streams[first].ended);
  EXPECT_TRUE(r.relay->finished());
  EXPECT_TRUE(r.said.empty());
}

TEST(StreamFaults, ALatencyHoldsTheWholeAnswerAndNobodyElses) {
  Relayed r;
  answer_with(r, message("hello"));
  r.start();
  const int32_t late = r.faulted(kCall, fault_of("latency:300ms"));
  const int32_t other = r.client.request(kCall);
  r.run();
  EXPECT_EQ(r.client.streams[late].blocks, 0);
  EXPECT_EQ(r.client.streams[other].data, message("hello"));
  EXPECT_EQ(r.client.streams[other].field("grpc-status"), "0");
  EXPECT_EQ(r.relay->next_deadline_ns(), r.now + 300'000'000);
  r.relay->expire(r.now += 299'999'999);
  r.run();
  EXPECT_EQ(r.client.streams[late].blocks, 0);
  r.relay->expire(r.now += 1);
  r.run();
  const Received& got = r.client.streams[late];
  EXPECT_EQ(got.head, kHead);
  EXPECT_EQ(got.data, message("hello"));
  EXPECT_EQ(got.trailers, kTrailers);
  EXPECT_TRUE(got.ended);
  EXPECT_EQ(r.relay->next_deadline_ns(), 0u);
  EXPECT_TRUE(r.said.empty());
}

TEST(StreamFaults, MessagesAreEmptiedCorruptedAndCutInAnyPieces) {
  const std::string data = message("hello") + message(std::string(40'000, '\x0f'));
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{1} << 20}) {
    Relayed r;
    r.piece = piece;
    answer_with(r, data);
    r.start();
    const int32_t empty = r.faulted(kCall, fault_of("empty-message"));
    const int32_t corrupt = r.faulted(kCall, fault_of("corrupt-message"));
    const int32_t partial = r.faulted(kCall, fault_of("partial-message"));
    const int32_t bare = r.faulted(kCall, fault_of("no-trailers"));
    const int32_t other = r.client.request(kCall);
    r.run();
    EXPECT_EQ(r.client.streams[empty].data, message("") + message(""));
    EXPECT_EQ(r.client.streams[empty].trailers, kTrailers);
    std::string inverted = "hello";
    for (char& c : inverted) c = static_cast<char>(~c);
    const std::string& got = r.client.streams[corrupt].data;
    EXPECT_EQ(got, message(inverted) + message(std::string(40'000, '\xf0')));
    EXPECT_EQ(r.client.streams[corrupt].trailers, kTrailers);
    EXPECT_EQ(r.client.streams[partial].head, kHead);
    EXPECT_EQ(r.client.streams[partial].data, message("hello").substr(0, 5));
    EXPECT_EQ(r.client.streams[partial].error, number(ErrorCode::kInternalError));
    EXPECT_EQ(r.client.streams[bare].data, data);
    EXPECT_EQ(r.client.streams[bare].blocks, 1);
    EXPECT_TRUE(r.client.streams[bare].ended);
    EXPECT_EQ(r.client.streams[other].data, data);
    EXPECT_EQ(r.client.streams[other].trailers, kTrailers);
    EXPECT_TRUE(r.said.empty());
  }
}

TEST(StreamFaults, AtAMessageTheOnesBeforePassAndTheServerIsTold) {
  const std::string two = message("1") + message("22");
  for (const char* text : {"grpc:ABORTED@2", "stream-reset:CANCEL@2"}) {
    Relayed r;
    r.answer = [&](int32_t id) { r.server.respond(id, kHead, two + message("333"), {}, true); };
    r.start();
    const int32_t id = r.faulted(kCall, fault_of(text));
    const int32_t other = r.client.request(kCall);
    r.run();
    const Received& got = r.client.streams[id];
    EXPECT_EQ(got.data, two) << text;
    if (text[0] == 'g') {
      EXPECT_EQ(got.trailers, (FieldList{{"grpc-status", "10"},
                                         {"grpc-message", "ABORTED injected by Filibuster"}}));
      EXPECT_TRUE(got.ended);
    } else {
      EXPECT_EQ(got.error, number(ErrorCode::kCancel));
    }
    EXPECT_EQ(r.server.streams[id].error, number(ErrorCode::kCancel));
    EXPECT_EQ(r.client.streams[other].data, two + message("333"));
    EXPECT_TRUE(r.said.empty());
  }
}

TEST(StreamFaults, ALatencyAtAMessageHoldsWhatFollows) {
  Relayed r;
  answer_with(r, message("1") + message("2"));
  r.start();
  const int32_t id = r.faulted(kCall, fault_of("latency:1s@1"));
  r.run();
  EXPECT_EQ(r.client.streams[id].data, message("1"));
  r.relay->expire(r.now += kSecond);
  r.run();
  EXPECT_EQ(r.client.streams[id].data, message("1") + message("2"));
  EXPECT_EQ(r.client.streams[id].trailers, kTrailers);
}

TEST(StreamFaults, WhatDidNotComeAboutIsSaid) {
  Relayed r;
  answer_with(r, message("1"));
  r.start();
  const int32_t id = r.faulted(kCall, fault_of("grpc:ABORTED@2"));
  r.run();
  EXPECT_EQ(r.client.streams[id].trailers, kTrailers) << "the answer passes";
  EXPECT_EQ(r.said, (std::vector<std::string>{"unmet: 1001 the answer ended after 1 message"}));
  answer_with(r, "no message");
  const int32_t garbled = r.faulted(kCall, fault_of("empty-message"));
  r.run();
  EXPECT_EQ(r.client.streams[garbled].error, number(ErrorCode::kInternalError));
  EXPECT_EQ(r.said.back(), "unmet: 1003 the answer is not made of gRPC messages");
}

std::vector<nghttp2_nv> names_and_values(const FieldList& fields) {
  std::vector<nghttp2_nv> all;
  for (const auto& [name, value] : fields) {
    all.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                   reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(),
                   value.size(), 0});
  }
  return all;
}

// Also after an interim answer, which is not yet the head of theirs.
TEST(StreamFaults, TrailersOnlyLoseTheirStatusAndNothingElse) {
  for (const bool interim : {false, true}) {
    Relayed r;
    r.answer = [&](int32_t id) {
      const FieldList hint = {{":status", "103"}};
      FieldList fields = kHead;
      fields.insert(fields.end(), {{"grpc-status", "5"}, {"grpc-message", "gone"}});
      if (interim) {
        nghttp2_submit_headers(r.server.session, 0, id, nullptr, names_and_values(hint).data(), 1,
                               nullptr);
      }
      nghttp2_submit_response(r.server.session, id, names_and_values(fields).data(), fields.size(),
                              nullptr);
    };
    r.start();
    const int32_t id = r.faulted(kCall, fault_of("no-trailers"));
    r.run();
    EXPECT_EQ(r.client.streams[id].blocks, 1);
    EXPECT_EQ(r.client.streams[id].head, kHead);
    EXPECT_TRUE(r.client.streams[id].ended);
  }
}
// What does not reach the client comes back to the server's windows, again and again.
TEST(StreamFaults, WindowsStayRightWhereMessagesShrinkOrWait) {
  Relayed r;
  std::string data;
  for (int i = 0; i < 30; ++i) data += message(std::string(10'000, 'm'));
  answer_with(r, data);
  r.start();
  for (const char* text : {"empty-message", "corrupt-message", "partial-message", "grpc:INTERNAL@7",
                           "empty-message", "no-trailers"}) {
    const int32_t id = r.faulted(kCall, fault_of(text));
    r.run();
    EXPECT_TRUE(r.client.streams[id].ended || r.client.streams[id].reset) << text;
  }
  const int32_t late = r.faulted(kCall, fault_of("latency:1s"));
  const int32_t other = r.client.request(kCall);
  r.run();
  EXPECT_EQ(r.client.streams[other].data, data) << "not held up by what waits";
  EXPECT_EQ(r.client.streams[late].data, "");
  r.relay->expire(r.now += kSecond);
  r.run();
  EXPECT_EQ(r.client.streams[late].data, data);
  EXPECT_TRUE(r.said.empty());
}

}  // namespace
}  // namespace filibuster
