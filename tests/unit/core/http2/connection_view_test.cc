#include "core/http2/connection_view.h"

#include <gtest/gtest.h>

#include "tests/unit/core/http2/connection_trace.h"
#include "tests/unit/core/http2/peer.h"
#include "tests/unit/core/http2/wire.h"

namespace filibuster::http2 {
namespace {

using enum FrameType;
using Lines = std::vector<std::string>;

constexpr uint8_t kEnd = kFlagEndStream, kHead = kFlagEndHeaders;

const FieldList kViewedCall = {{":method", "POST"},         {":scheme", "http"},
                               {":path", "/shop.Cart/Get"}, {":authority", "cart:50051"},
                               {"te", "trailers"},          {"content-type", "application/grpc"}};
const FieldList kOk = {{":status", "200"}, {"content-type", "application/grpc"}};

// A connection after its preface and settings, in both directions.
class Connection : public ::testing::Test {
 protected:
  Connection() {
    t.requests(client_start());
    t.responses(settings() + settings_ack());
    t.requests(settings_ack());
  }
  std::string request(uint32_t id, const FieldList& fields, uint8_t flags = kHead) {
    return frame(kHeaders, flags, id, client.block(fields));
  }
  std::string response(uint32_t id, const FieldList& fields, uint8_t flags = kHead) {
    return frame(kHeaders, flags, id, server.block(fields));
  }
  // Without the positions, which have tests of their own.
  Lines taken() {
    Lines lines = t.take();
    for (std::string& line : lines) {
      if (const size_t at = line.find(" @"); at != std::string::npos) line.resize(at);
    }
    return lines;
  }
  ConnectionTracer t;
  Encoder client, server;
};

TEST_F(Connection, AUnaryCallFromItsHeadToItsTrailers) {
  const std::string head = request(1, kViewedCall);
  t.requests(head + frame(kData, kEnd, 1, "question"));
  EXPECT_EQ(t.take(), (Lines{"request 1 POST cart:50051 /shop.Cart/Get application/grpc @42-" +
                                 std::to_string(42 + head.size()),
                             "> data 1 question", "> end 1"}));
  t.responses(
      join({response(1, kOk), frame(kData, 0, 1, "ans"), frame(kData, 0, 1, "wer"),
            response(1, {{"grpc-status", "0"}, {"grpc-message", "fi%20ne"}}, kHead | kEnd)}));
  EXPECT_EQ(taken(), (Lines{"response 1 application/grpc 200", "< data 1 answer",
                            "< trailers 1 grpc=0:fi%20ne", "< end 1", "closed 1"}));
  EXPECT_EQ(t.view->open_streams(), 0u);
}

TEST_F(Connection, TrailersOnly) {
  t.requests(request(1, kViewedCall, kHead | kEnd));
  t.take();
  t.responses(response(1, {{":status", "200"}, {"grpc-status", "14"}, {"grpc-message", "no"}},
                       kHead | kEnd));
  EXPECT_EQ(taken(), (Lines{"response 1 200 grpc=14:no", "< end 1", "closed 1"}));
}

TEST_F(Connection, StreamsInterleave) {
  t.requests(join({request(1, kViewedCall), request(3, kViewedCall), frame(kData, kEnd, 3, "three"),
                   frame(kData, kEnd, 1, "one")}));
  EXPECT_EQ(t.view->open_streams(), 2u);
  t.take();
  t.responses(
      join({response(3, kOk), response(1, kOk), frame(kData, 0, 3, "3"), frame(kData, 0, 1, "1"),
            response(1, {{"grpc-status", "0"}}, kHead | kEnd), frame(kData, kEnd, 3, "")}));
  EXPECT_EQ(taken(), (Lines{"response 3 application/grpc 200", "response 1 application/grpc 200",
                            "< data 3 3", "< data 1 1", "< trailers 1 grpc=0:", "< end 1",
                            "closed 1", "< end 3", "closed 3"}));
}

TEST_F(Connection, AResponseMayEndBeforeItsRequest) {
  t.requests(request(1, kViewedCall));
  t.responses(response(1, {{":status", "404"}}, kHead | kEnd));
  EXPECT_EQ(t.view->open_streams(), 1u);
  t.requests(frame(kData, 0, 1, "more") + request(1, {{"x", "y"}}, kHead | kEnd));
  EXPECT_EQ(taken(),
            (Lines{"request 1 POST cart:50051 /shop.Cart/Get application/grpc", "response 1 404",
                   "< end 1", "> data 1 more", "> trailers 1", "> end 1", "closed 1"}));
}

TEST_F(Connection, InterimResponsesAreNotReported) {
  t.requests(request(1, kViewedCall, kHead | kEnd));
  t.take();
  t.responses(join({response(1, {{":status", "103"}}), response(1, {{":status", "100"}}),
                    response(1, {{":status", "204"}}, kHead | kEnd)}));
  EXPECT_EQ(taken(), (Lines{"response 1 204", "< end 1", "closed 1"}));
}

TEST_F(Connection, AResetEndsAStreamAndWhatComesLateIsNotReported) {
  t.requests(request(1, kViewedCall) + frame(kRstStream, 0, 1, u32(8)));
  t.responses(response(1, kOk) + frame(kData, kEnd, 1, "late"));
  t.requests(request(3, kViewedCall));
  t.responses(frame(kRstStream, 0, 3, u32(7)));
  t.requests(frame(kData, 0, 3, "late") + request(3, {{"late", "too"}}, kHead | kEnd));
  const std::string head = " POST cart:50051 /shop.Cart/Get application/grpc";
  EXPECT_EQ(taken(), (Lines{"request 1" + head, "> reset 1 8", "closed 1", "request 3" + head,
                            "< reset 3 7", "closed 3"}));
  // The late blocks were decoded all the same: the tables go on.
  t.requests(request(5, kViewedCall));
  t.responses(response(5, kOk));
  EXPECT_EQ(taken(), (Lines{"request 5" + head, "response 5 application/grpc 200"}));
}

TEST_F(Connection, GoawayAndPingAreReportedWithTheirSender) {
  t.responses(frame(kGoaway, 0, 0, u32(5) + u32(0) + "bye") + ping());
  t.requests(ping(true) + frame(kGoaway, 0, 0, u32(0) + u32(11)));
  EXPECT_EQ(t.take(), (Lines{"< goaway 5 0", "< ping", "> pong", "> goaway 0 11"}));
}

TEST_F(Connection, PushedStreamsPassAndTheirBlocksAreDecoded) {
  t.requests(request(1, kViewedCall));
  t.take();
  t.responses(join({frame(kPushPromise, kHead, 1, u32(2) + server.block(kViewedCall)),
                    response(2, kOk), frame(kData, kEnd, 2, "pushed"), response(1, kOk)}));
  EXPECT_EQ(taken(), Lines{"response 1 application/grpc 200"});
  EXPECT_EQ(t.view->open_streams(), 1u);
}

TEST_F(Connection, OurFieldIsTheLastOne) {
  FieldList fields = kViewedCall;
  fields.emplace_back("x-filibuster", "first");
  fields.emplace_back("x-filibuster", "second");
  t.requests(request(1, fields));
  EXPECT_NE(t.lines.at(0).find("ours=second"), std::string::npos);
}

TEST_F(Connection, LongPathsAreCutAndSayIt) {
  FieldList fields = kViewedCall;
  fields[2].second = "/" + std::string(3000, 'p');
  fields.emplace_back("content-length", "12");
  t.requests(request(1, fields));
  EXPECT_NE(t.lines.at(0).find("/" + std::string(2047, 'p') + " "), std::string::npos);
  EXPECT_NE(t.lines.at(0).find("... length=12"), std::string::npos);
}

TEST_F(Connection, WhatIsNoHttpMessageIsNotFollowed) {
  t.requests(request(1, {{"x", "y"}}));
  t.requests(join({request(3, kViewedCall), request(3, {{"x", "y"}})}));  // trailers without an end
  t.requests(join({request(5, kViewedCall, kHead | kEnd), request(7, kViewedCall, kHead | kEnd),
                   request(9, kViewedCall, kHead | kEnd)}));
  t.take();
  t.responses(join({response(5, {{"x", "y"}}), response(7, {{":status", "100"}}, kHead | kEnd),
                    frame(kData, 0, 9, "x")}));
  EXPECT_EQ(t.take(), (Lines{"< malformed 5", "closed 5", "< malformed 7", "closed 7",
                             "< malformed 9", "closed 9"}));
  EXPECT_EQ(t.view->open_streams(), 0u);
  EXPECT_FALSE(t.view->lost());
}

TEST_F(Connection, StreamNumbersThatCannotBeAreErrors) {
  EXPECT_EQ(ConnectionTracer().requests(client_start() + request(2, kViewedCall)),
            Error::kStreamId);
  for (const std::string& bytes : {frame(kData, 0, 1, "x"), frame(kRstStream, 0, 1, u32(0)),
                                   frame(kWindowUpdate, 0, 1, u32(1))}) {
    EXPECT_EQ(ConnectionTracer().requests(client_start() + bytes), Error::kIdleStream);
    EXPECT_EQ(ConnectionTracer().responses(settings() + bytes), Error::kIdleStream);
  }
  EXPECT_EQ(ConnectionTracer().responses(settings() + response(1, kOk)), Error::kIdleStream);
  EXPECT_EQ(ConnectionTracer().requests(client_start() + frame(kPriority, 0, 7, "PRIOR")),
            Error::kNone);
}

TEST_F(Connection, AfterAnErrorNothingIsReportedInEitherDirection) {
  t.requests(
      join({request(1, kViewedCall), frame(kPing, 0, 1, "12345678"), request(3, kViewedCall)}));
  EXPECT_EQ(t.take().back(), "lost: a frame of the connection on a stream (RFC 9113 6)");
  t.responses(response(1, kOk));
  t.requests(request(5, kViewedCall));
  EXPECT_EQ(t.take(), Lines{});
  size_t open = 0;
  t.view->for_each_stream([&](Stream& s) { open += s.id; });
  EXPECT_EQ(open, 1u);
}

TEST_F(Connection, AHeaderBlockThatCannotBeDecodedLosesIt) {
  t.requests(frame(kHeaders, kHead, 1, "\x80"));
  EXPECT_EQ(t.take(), Lines{"lost: a header block that cannot be decoded (RFC 7541)"});
}

TEST_F(Connection, MoreStreamsThanTheTableHoldsAreNamedAndPass) {
  for (uint32_t i = 0; i < kMaxStreams + 2; ++i) t.requests(request(1 + 2 * i, kViewedCall));
  Lines lines = taken();
  EXPECT_EQ(lines.at(kMaxStreams), "untracked " + std::to_string(1 + 2 * kMaxStreams));
  t.responses(response(1 + 2 * kMaxStreams, kOk));
  t.responses(frame(kRstStream, 0, 5, u32(0)));
  t.requests(request(1 + 2 * (kMaxStreams + 2), kViewedCall));
  lines = taken();
  EXPECT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], "closed 5");
  EXPECT_EQ(lines[2].substr(0, 12), "request 1029");
}

TEST_F(Connection, ManyStreamsInTurnUseOneSlot) {
  for (uint32_t id = 1; id < 20000; id += 2) {
    t.requests(request(id, kViewedCall, kHead | kEnd));
    t.responses(response(id, kOk, kHead | kEnd));
  }
  EXPECT_FALSE(t.view->lost());
  EXPECT_EQ(t.view->open_streams(), 0u);
  EXPECT_EQ(t.lines.size(), 5u * 10000);
}

TEST_F(Connection, TheHeaderTableFollowsTheSettings) {
  const FieldList fields = {{":method", "GET"}, {"x-custom", "in the table"}};
  t.requests(request(1, fields));
  // The server asks for a table of 0, then 1000; the client's encoder obeys before it acknowledges.
  t.responses(settings(setting(1, 0) + setting(1, 1000)));
  t.requests(request(3, fields));
  EXPECT_FALSE(t.view->lost()) << "the client may not know of it yet";
  t.requests(settings_ack());
  client.change_table_size(0);
  client.change_table_size(1000);
  t.requests(join({request(5, fields), request(7, fields)}));
  EXPECT_FALSE(t.view->lost());
  // Larger ones are used as soon as they are known.
  t.responses(settings(setting(1, 2000)) + settings(setting(1, 3000)));
  client.change_table_size(3000);
  t.requests(join({request(9, fields), settings_ack(), settings_ack(), request(11, fields)}));
  EXPECT_FALSE(t.view->lost());
  EXPECT_EQ(t.view->open_streams(), 6u);
}

TEST_F(Connection, AFloodOfSettingsIsBounded) {
  Error error = Error::kNone;
  int count = 0;
  while (error == Error::kNone && ++count < 1000) error = t.responses(settings(setting(1, 5000)));
  EXPECT_EQ(error, Error::kTooManySettings);
  EXPECT_EQ(count, 17);
  ConnectionTracer other;
  other.requests(client_start());
  for (int i = 0; i < 100000; ++i) other.responses(settings(setting(3, 5)) + ping());
  EXPECT_FALSE(other.view->lost());
}

TEST_F(Connection, WindowsAreCounted) {
  t.requests(request(1, kViewedCall));
  Stream& s = *t.view->find(1);
  EXPECT_EQ(t.view->window(Direction::kResponses, s), 65535);
  t.responses(response(1, kOk) + frame(kData, 8, 1, padded("data", 5)));
  EXPECT_EQ(t.view->window(Direction::kResponses, s), 65525);
  t.requests(frame(kWindowUpdate, 0, 0, u32(1000)));
  EXPECT_EQ(t.view->window(Direction::kResponses, s), 65525);
  t.requests(frame(kWindowUpdate, 0, 1, u32(100)));
  EXPECT_EQ(t.view->window(Direction::kResponses, s), 65625);
  t.requests(settings(setting(4, 5)));
  EXPECT_EQ(t.view->window(Direction::kResponses, s), 95);
  EXPECT_EQ(t.view->window(Direction::kRequests, s), 65535);
}

TEST_F(Connection, FramesAsLongAsTheReaderAllows) {
  t.requests(request(1, kViewedCall));
  const std::string large = frame(kData, 0, 1, std::string(20000, 'x'));
  t.responses(settings(setting(5, 20000)));
  EXPECT_EQ(t.requests(large), Error::kNone);
  EXPECT_EQ(t.responses(response(1, kOk) + large), Error::kFrameTooLarge);
}

TEST(Upgrade, TheHttp11RequestIsStreamOne) {
  ConnectionTracer t;
  Encoder server;
  // SETTINGS_INITIAL_WINDOW_SIZE = 100, SETTINGS_HEADER_TABLE_SIZE = 0, as base64url
  Stream* stream = t.view->begin_upgraded("AAQAAABkAAEAAAAA");
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->id, 1u);
  EXPECT_EQ(t.view->window(Direction::kResponses, *stream), 100);
  t.requests(client_start());
  server.change_table_size(0);
  t.responses(settings() + frame(kHeaders, kHead | kEnd, 1, server.block(kOk)));
  EXPECT_EQ(t.lines.at(0).substr(0, 34), "response 1 application/grpc 200 @9");
  EXPECT_EQ(t.lines.back(), "closed 1");
  ConnectionTracer silent;
  Encoder unaware;
  silent.view->begin_upgraded("AAQAAABkAAEAAAAA");
  silent.requests(client_start());
  EXPECT_EQ(silent.responses(settings() + frame(kHeaders, kHead | kEnd, 1, unaware.block(kOk))),
            Error::kCompression)
      << "the smaller table has to be said";
  EXPECT_NE(ConnectionTracer().view->begin_upgraded(""), nullptr);
  for (const char* bad : {"A", "AAQAAABk!", "AAQAAABkAA", "AAIAAAAC"}) {
    ConnectionTracer other;
    EXPECT_EQ(other.view->begin_upgraded(bad), nullptr) << bad;
    EXPECT_TRUE(other.view->lost());
  }
}

TEST_F(Connection, EverySplitGivesTheSame) {
  const std::string up =
      join({request(1, kViewedCall), frame(kData, kEnd, 1, "question"),
            request(3, kViewedCall).replace(4, 1, 1, '\0'), frame(kContinuation, 4, 3, ""),
            frame(kRstStream, 0, 3, u32(8)), request(5, kViewedCall, kHead | kEnd)});
  const std::string down =
      join({response(1, kOk), frame(kData, 8, 1, padded("answer", 3)),
            response(1, {{"grpc-status", "0"}}, kHead | kEnd), frame(kHeaders, kHead, 5, "\x80")});
  const auto run = [&](const Parts& pieces_up, const Parts& pieces_down) {
    ConnectionTracer c;
    for (std::string_view piece : pieces_up) c.requests(piece);
    for (std::string_view piece : pieces_down) c.responses(piece);
    return c.take();
  };
  const std::string all_up = client_start() + up, all_down = settings() + down;
  const Lines whole = run({all_up}, {all_down});
  EXPECT_EQ(whole.size(), 14u);
  EXPECT_EQ(whole.back().substr(0, 5), "lost:");
  for_every_split(all_up, [&](const Parts& p) { ASSERT_EQ(run(p, {all_down}), whole); });
  for_every_split(all_down, [&](const Parts& p) { ASSERT_EQ(run({all_up}, p), whole); });
}

}  // namespace
}  // namespace filibuster::http2
