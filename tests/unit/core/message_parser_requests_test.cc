#include <gtest/gtest.h>

#include "core/http1/message_parser.h"
#include "core/rpc/header_field.h"
#include "tests/unit/core/http1_trace.h"

namespace filibuster::http1 {
namespace {

constexpr std::string_view kValue =
    "1-0000abcd-0002-00000007-0000000300000009-0123456789abcdeffedcba9876543210";

Tracer* requests(std::string_view bytes) {
  static std::unique_ptr<Tracer> tracer;
  tracer = std::make_unique<Tracer>(Direction::kRequests);
  tracer->feed(bytes);
  return tracer.get();
}

TEST(Requests, HeadSaysWhatWasSentAndWhere) {
  const std::string line = "POST /movies?x=1 HTTP/1.1\r\n";
  const std::string fields = "Host: movies:5001\r\nX-Filibuster:  " + std::string(kValue) +
                             " \r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\n";
  Tracer* t = requests(line + fields + "hello");
  ASSERT_EQ(t->messages.size(), 1u);
  const TracedMessage& m = t->messages[0];
  EXPECT_EQ(m.head.method, "POST");
  EXPECT_EQ(m.head.target, "/movies?x=1");
  EXPECT_FALSE(m.head.target_truncated);
  EXPECT_EQ(m.head.host, "movies");
  EXPECT_EQ(m.head.filibuster, kValue);
  EXPECT_EQ((line + fields).substr(m.head.filibuster_offset, kValue.size()), kValue);
  EXPECT_TRUE(m.head.expect_continue);
  EXPECT_TRUE(m.head.has_content_length);
  EXPECT_EQ(m.head.content_length, 5u);
  EXPECT_FALSE(m.head.chunked);
  EXPECT_TRUE(m.head.keep_alive);
  EXPECT_EQ(m.head.after_start_line, line.size());
  EXPECT_EQ(m.head.head_size, line.size() + fields.size());
  EXPECT_EQ(m.head_end, m.head.head_size);
  EXPECT_EQ(m.body, "hello");
  EXPECT_TRUE(m.complete);
  EXPECT_EQ(m.end, t->fed);
  EXPECT_EQ(m.digest, hash_text("hello"));
  EXPECT_EQ(m.size, 5u);
  EXPECT_EQ(t->parser.state(), ParseState::kStart);
}

TEST(Requests, ThatAskForHttp2SayIt) {
  const std::string line = "GET / HTTP/1.1\r\nHost: a\r\n";
  const std::string set = "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n";
  for (const char* upgrade :
       {"Upgrade: h2c", "upgrade:  websocket, H2C ", "Upgrade: x\r\nUpgrade: h2c"}) {
    Tracer* t = requests(line + set + upgrade + "\r\n\r\n");
    EXPECT_TRUE(t->messages[0].head.upgrade_h2c) << upgrade;
    EXPECT_EQ(t->messages[0].head.http2_settings, "AAMAAABkAAQCAAAAAAIAAAAA");
    EXPECT_TRUE(t->messages[0].complete) << "an ordinary message until a 101 answers";
  }
  for (const std::string& fields :
       {std::string("Upgrade: h2c\r\n"), set, set + "Upgrade: h2\r\n", set + "Upgrade: xh2c\r\n",
        set + set + "Upgrade: h2c\r\n", "HTTP2-Settings: \r\nUpgrade: h2c\r\n" + std::string(),
        "Upgrade: h2c\r\nHTTP2-Settings: " + std::string(300, 'A') + "\r\n"}) {
    Tracer* t = requests(line + fields + "\r\n");
    EXPECT_FALSE(t->messages[0].head.upgrade_h2c) << fields;
    EXPECT_EQ(t->messages[0].head.http2_settings, "");
  }
}

TEST(Requests, WithoutABodyHaveTheDigestOfNothing) {
  Tracer* t = requests("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_EQ(t->messages.size(), 1u);
  EXPECT_TRUE(t->messages[0].complete);
  EXPECT_EQ(t->messages[0].digest, hash_text(""));
  EXPECT_FALSE(t->messages[0].head.has_content_length);
  EXPECT_EQ(requests("PUT / HTTP/1.1\r\nContent-Length: 0\r\n\r\n")->messages[0].digest,
            hash_text(""));
}

TEST(Requests, HostLosesItsPort) {
  const auto host = [](std::string_view value) {
    Tracer* t = requests("GET / HTTP/1.1\r\nHost:" + std::string(value) + "\r\n\r\n");
    return t->messages.empty() ? "(invalid)" : t->messages[0].head.host;
  };
  EXPECT_EQ(host(" movies"), "movies");
  EXPECT_EQ(host("movies:80 \t"), "movies");
  EXPECT_EQ(host(" [::1]:80"), "[::1]");
  EXPECT_EQ(host(" [::1]"), "[::1]");
  EXPECT_EQ(host(" [::1"), "[::1");
  EXPECT_EQ(host(" :80"), "");
  EXPECT_EQ(host(""), "");
  EXPECT_EQ(host(" a\r\nHost: b"), "a");
  EXPECT_EQ(host(" " + std::string(255, 'h') + ":65535"), std::string(255, 'h'));
  EXPECT_EQ(host(" " + std::string(1000, 'h')), std::string(255, 'h'));
}

TEST(Requests, OfSeveralFieldsOfOursTheLastCounts) {
  const std::string bytes =
      "GET / HTTP/1.1\r\nx-filibuster: first\r\nX-FILIBUSTER: " + std::string(kValue) +
      "\r\nx-filibuster-2: no\r\nx-filibuste: no\r\n\r\n";
  const TracedHead head = requests(bytes)->messages.at(0).head;
  EXPECT_EQ(head.filibuster, kValue);
  EXPECT_EQ(head.filibuster_offset, bytes.find(kValue));
  const TracedHead empty =
      requests("GET / HTTP/1.1\r\nx-filibuster: first\r\nx-filibuster:\r\n\r\n")
          ->messages.at(0)
          .head;
  EXPECT_EQ(empty.filibuster, "");
}

TEST(Requests, AFieldOfOursThatIsFoldedOrTooLongIsNoValue) {
  const std::string half(kValue.substr(0, 30));
  const std::string rest(kValue.substr(30));
  RpcContext context;
  Tracer* t = requests("GET / HTTP/1.1\r\nx-filibuster: " + half + "\r\n " + rest + "\r\n\r\n");
  if (!t->messages.empty()) {
    EXPECT_FALSE(decode_header_value(t->messages[0].head.filibuster, &context));
  }
  const TracedHead longer =
      requests("GET / HTTP/1.1\r\nx-filibuster: " + std::string(500, '1') + "\r\n\r\n")
          ->messages.at(0)
          .head;
  EXPECT_EQ(longer.filibuster, std::string(128, '1'));
}

TEST(Requests, OnlyTheOneExpectationThatThereIsIsUnderstood) {
  const auto expects = [](std::string_view fields) {
    return requests("POST / HTTP/1.1\r\n" + std::string(fields) + "\r\n")
        ->messages.at(0)
        .head.expect_continue;
  };
  EXPECT_TRUE(expects("expect:100-CONTINUE \r\n"));
  EXPECT_TRUE(expects("Expect: 100-continue\r\nExpect: x\r\n"));
  EXPECT_FALSE(expects("Expect: 100-continue-and-more\r\n"));
  EXPECT_FALSE(expects("Expect: x\r\n"));
  EXPECT_FALSE(expects(""));
}

TEST(Requests, LongTargetsAndFieldNamesAreCutAndSaySo) {
  const std::string target = "/" + std::string(kMaxTarget, 't');
  const TracedHead head =
      requests("GET " + target + " HTTP/1.1\r\n" + std::string(100, 'n') + ": v\r\n\r\n")
          ->messages.at(0)
          .head;
  EXPECT_TRUE(head.target_truncated);
  EXPECT_EQ(head.target, target.substr(0, kMaxTarget));
  const TracedHead whole =
      requests("GET " + target.substr(1, kMaxTarget - 1).insert(0, "/") + " HTTP/1.1\r\n\r\n")
          ->messages.at(0)
          .head;
  EXPECT_FALSE(whole.target_truncated);
  EXPECT_EQ(whole.target.size(), kMaxTarget);
}

TEST(Requests, ChunkedBodiesLoseTheirCodingAndTheirTrailersCountForNothing) {
  const std::string bytes =
      "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n6\r\n world\r\n0\r\n"
      "x-filibuster: trailer\r\nHost: late\r\n\r\n";
  Tracer* t = requests(bytes);
  const TracedMessage& m = t->messages.at(0);
  EXPECT_TRUE(m.head.chunked);
  EXPECT_FALSE(m.head.has_content_length);
  EXPECT_EQ(m.head.filibuster, "");
  EXPECT_EQ(m.head.host, "");
  EXPECT_EQ(m.body, "hello world");
  EXPECT_EQ(m.digest, hash_text("hello world"));
  EXPECT_EQ(m.size, 11u);
  EXPECT_EQ(m.end, bytes.size());
}

TEST(Requests, PipelinedInOneFeedAreAllSeenWithTheirPlaces) {
  const std::string a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string b = "POST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi";
  Tracer* t = requests(a + b + "\r\n\r\n" + a + b.substr(0, 10));
  ASSERT_EQ(t->messages.size(), 3u);
  EXPECT_EQ(t->messages[0].end, a.size());
  EXPECT_EQ(t->messages[1].head.target, "/b");
  EXPECT_EQ(t->messages[1].end, a.size() + b.size());
  // The blank lines in between are no part of the third.
  EXPECT_EQ(t->messages[2].head.head_size, a.size());
  EXPECT_EQ(t->messages[2].head_end - t->messages[2].head.head_size, a.size() + b.size() + 4);
  EXPECT_EQ(t->parser.state(), ParseState::kHead);
}

TEST(Requests, AnUpgradeWishIsAnOrdinaryMessage) {
  const std::string wish =
      "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
      "Upgrade: websocket\r\n";
  Tracer* t = requests(wish + "\r\n" + wish + "Content-Length: 2\r\n\r\nhi" + wish + "\r\n");
  ASSERT_EQ(t->messages.size(), 3u);
  EXPECT_EQ(t->messages[1].body, "hi");
  EXPECT_TRUE(t->messages[2].complete);
  EXPECT_EQ(t->parser.state(), ParseState::kStart);
}

TEST(Requests, ConnectEndsTheParsingAfterItsHead) {
  Tracer* t =
      requests("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\nContent-Length: 9\r\n\r\n\x16\x03");
  ASSERT_EQ(t->messages.size(), 1u);
  EXPECT_EQ(t->messages[0].head.method, "CONNECT");
  EXPECT_TRUE(t->messages[0].complete);
  EXPECT_EQ(t->messages[0].end, t->messages[0].head_end);
  EXPECT_EQ(t->parser.state(), ParseState::kUpgraded);
  EXPECT_EQ(t->feed("GET / HTTP/1.1\r\n\r\n"), ParseState::kUpgraded);
  EXPECT_EQ(t->parser.skip_body(1), ParseState::kUpgraded);
  EXPECT_EQ(t->parser.finish(), ParseState::kUpgraded);
  t->parser.expect_response_to("GET");
  EXPECT_EQ(t->messages.size(), 1u);
}

TEST(Requests, KeepAliveFollowsTheVersion) {
  const auto keeps = [](std::string_view version, std::string_view fields) {
    return requests("GET / HTTP/" + std::string(version) + "\r\n" + std::string(fields) + "\r\n")
        ->messages.at(0)
        .head.keep_alive;
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_FALSE(keeps("1.1", "Connection: close\r\n"));
  EXPECT_TRUE(keeps("1.1", "Connection: keep-alive\r\n"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Connection: Keep-Alive\r\n"));
}

TEST(Requests, AfterConnectionCloseTheNextMessageIsStillSeen) {
  const std::string a = "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(requests(a + a)->messages.size(), 2u);
}

TEST(Requests, StartAndEmptyLineMayEndWithALineFeedAlone) {
  const std::string head = "GET / HTTP/1.1\nHost: a\r\n\n";
  const TracedMessage m = requests(head)->messages.at(0);
  EXPECT_EQ(m.head.after_start_line, 15u);
  EXPECT_EQ(m.head.head_size, head.size());
  EXPECT_EQ(m.head.host, "a");
}

TEST(Requests, WhatIsNotHttp1IsInvalidForGood) {
  for (const char* bytes :
       {"hello",
        "\x16\x03\x01",
        "GET",
        "get / HTTP/1.1\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n",
        "GET / HTTP/0.9\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / RTSP/1.0\r\n\r\n",
        "SOURCE / ICE/1.0\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\rX\n\r\n",
        "GET / HTTP/1.1\r\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\rX",
        "GET / HTTP/1.1\r\na@b: c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"}) {
    Tracer* t = requests(bytes);
    if (std::string_view(bytes) == "GET") {
      EXPECT_EQ(t->parser.state(), ParseState::kHead);
      continue;
    }
    EXPECT_EQ(t->parser.state(), ParseState::kInvalid) << bytes;
    for (const auto& m : t->messages) EXPECT_FALSE(m.complete) << bytes;
    const size_t before = t->messages.size();
    EXPECT_EQ(t->feed("GET / HTTP/1.1\r\n\r\n"), ParseState::kInvalid);
    EXPECT_EQ(t->parser.finish(), ParseState::kInvalid);
    EXPECT_EQ(t->parser.skip_body(1), ParseState::kInvalid);
    t->parser.expect_response_to("GET");
    EXPECT_EQ(t->messages.size(), before) << bytes;
  }
}

}  // namespace
}  // namespace filibuster::http1
