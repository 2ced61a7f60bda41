#include "core/http1/message_parser.h"

#include <gtest/gtest.h>

#include "core/protocol/header_field.h"
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

Tracer* responses(std::string_view bytes, std::vector<std::string> methods = {"GET"}) {
  static std::unique_ptr<Tracer> tracer;
  tracer = std::make_unique<Tracer>(Direction::kResponses);
  for (const auto& method : methods) tracer->parser.expect_response_to(method);
  tracer->feed(bytes);
  return tracer.get();
}

// --- requests ----------------------------------------------------------------------------------

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
  EXPECT_EQ(t->parser.message_bytes(), 0u);
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
  EXPECT_EQ(t->parser.message_bytes(), 10u);
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

// --- responses ---------------------------------------------------------------------------------

TEST(Responses, WithALength) {
  const std::string bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  Tracer* t = responses(bytes);
  const TracedMessage& m = t->messages.at(0);
  EXPECT_EQ(m.head.status, 200);
  EXPECT_EQ(m.head.method, "");
  EXPECT_EQ(m.head.after_start_line, 17u);
  EXPECT_EQ(m.body, "hi");
  EXPECT_EQ(m.end, bytes.size());
  EXPECT_TRUE(m.head.keep_alive);
}

TEST(Responses, WithoutALengthEndWithTheStream) {
  Tracer* t = responses("HTTP/1.0 200 OK\r\n\r\nsome");
  EXPECT_EQ(t->feed(" bytes\r\n"), ParseState::kBody);
  EXPECT_FALSE(t->messages.at(0).head.keep_alive);
  EXPECT_FALSE(t->messages.at(0).complete);
  EXPECT_EQ(t->parser.body_bytes(), 12u);
  EXPECT_EQ(t->parser.message_bytes(), 31u);
  EXPECT_EQ(t->parser.finish(), ParseState::kStart);
  EXPECT_TRUE(t->messages[0].complete);
  EXPECT_EQ(t->messages[0].body, "some bytes\r\n");
  EXPECT_EQ(t->messages[0].digest, hash_text("some bytes\r\n"));
}

TEST(Responses, AnEmptyBodyThatEndsWithTheStream) {
  Tracer* t = responses("HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(t->parser.state(), ParseState::kBody);
  EXPECT_EQ(t->parser.finish(), ParseState::kStart);
  EXPECT_EQ(t->messages.at(0).digest, hash_text(""));
}

TEST(Responses, ATransferCodingThatIsNotChunkedEndsWithTheStream) {
  Tracer* t = responses("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab");
  EXPECT_EQ(t->feed("c"), ParseState::kBody);
  EXPECT_EQ(t->parser.finish(), ParseState::kStart);
  EXPECT_EQ(t->messages.at(0).digest, hash_text("abc"));
}

TEST(Responses, ToHeadAndOf204And304HaveNoBodyWhateverTheySay) {
  const std::string length = "Content-Length: 100\r\n\r\n";
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  Tracer* t = responses("HTTP/1.1 200 OK\r\n" + length + "HTTP/1.1 304 Not Modified\r\n" + length +
                            "HTTP/1.1 204 No Content\r\n" + length +
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
                            "HTTP/1.1 200 OK\r\n\r\n" + ok,
                        {"HEAD", "GET", "GET", "HEAD", "HEAD", "GET"});
  ASSERT_EQ(t->messages.size(), 6u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(t->messages[i].complete) << i;
    EXPECT_EQ(t->messages[i].size, 0u) << i;
    EXPECT_TRUE(t->messages[i].head.keep_alive) << i;
  }
  EXPECT_EQ(t->messages[0].head.content_length, 100u);
  EXPECT_EQ(t->messages[5].body, "hi");
}

TEST(Responses, InterimOnesAreNotReportedAndAnswerNothing) {
  const std::string interim =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
  Tracer* t = responses(interim + "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" + interim +
                            "HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx",
                        {"HEAD", "POST"});
  ASSERT_EQ(t->messages.size(), 2u);
  EXPECT_EQ(t->messages[0].head.status, 200);
  EXPECT_EQ(t->messages[0].head_end - t->messages[0].head.head_size, interim.size());
  EXPECT_EQ(t->messages[1].body, "x");
}

TEST(Responses, SwitchingProtocolsEndsTheParsing) {
  for (const char* fields : {"", "Connection: Upgrade\r\nUpgrade: websocket\r\n"}) {
    Tracer* t =
        responses("HTTP/1.1 101 Switching Protocols\r\n" + std::string(fields) + "\r\n\x81\x01x");
    ASSERT_EQ(t->messages.size(), 1u);
    EXPECT_TRUE(t->messages[0].complete);
    EXPECT_EQ(t->messages[0].head.status, 101);
    EXPECT_EQ(t->parser.state(), ParseState::kUpgraded);
  }
}

TEST(Responses, AnUpgradeOfferIsNoUpgrade) {
  Tracer* t = responses(
      "HTTP/1.1 426 Upgrade Required\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
      "Content-Length: 1\r\n\r\nx");
  EXPECT_EQ(t->messages.at(0).body, "x");
  EXPECT_EQ(t->parser.state(), ParseState::kStart);
}

TEST(Responses, OnlySuccessToConnectOpensATunnel) {
  const std::string ok = "HTTP/1.1 200 Connection established\r\nContent-Length: 5\r\n\r\n";
  Tracer* t = responses(ok + "\x16\x03\x01", {"CONNECT"});
  EXPECT_EQ(t->parser.state(), ParseState::kUpgraded);
  EXPECT_EQ(t->messages.at(0).size, 0u);
  t = responses("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno" + ok,
                {"CONNECT", "CONNECT"});
  EXPECT_EQ(t->messages.size(), 2u);
  EXPECT_EQ(t->messages[0].body, "no");
  EXPECT_EQ(t->parser.state(), ParseState::kUpgraded);
}

TEST(Responses, WithoutAnExpectedRequestAreOrdinary) {
  EXPECT_EQ(responses("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", {})->messages.at(0).body,
            "x");
}

TEST(Responses, AsManyRequestsAsAllowedMayWait) {
  const std::string ordinary = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
  const std::string bare = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
  Tracer t(Direction::kResponses);
  // Three rounds with a remainder: the ring of expectations wraps.
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kMaxOutstanding; ++i)
      t.parser.expect_response_to(i % 3 ? "GET" : "HEAD");
    for (size_t i = 0; i < kMaxOutstanding; ++i) t.feed(i % 3 ? ordinary : bare);
    ASSERT_EQ(t.parser.state(), ParseState::kStart);
    t.parser.expect_response_to("HEAD");
    t.feed(bare);
  }
  EXPECT_EQ(t.messages.size(), 3 * (kMaxOutstanding + 1));
  for (size_t i = 0; i <= kMaxOutstanding; ++i) t.parser.expect_response_to("GET");
  EXPECT_EQ(t.parser.state(), ParseState::kInvalid);
}

TEST(Responses, WhatIsNotHttp1IsInvalid) {
  for (const char* bytes :
       {"ICY 200 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 x\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n", "HTTP/1.1 200 OK\rX\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\rX", "+OK\r\n", "<html>"}) {
    Tracer* t = responses(bytes);
    EXPECT_EQ(t->parser.state(), ParseState::kInvalid) << bytes;
    EXPECT_TRUE(t->messages.empty()) << bytes;
  }
}

TEST(Responses, ExpectationsAddedInACallbackEndTheParsingWhenTheyAreTooMany) {
  struct Greedy final : Handler {
    void on_head(const MessageHead&, size_t) override { ++heads; }
    void on_body(const char*, size_t) override {}
    void on_complete(size_t, Hash128, uint64_t) override {
      for (size_t i = 0; i <= kMaxOutstanding; ++i) parser->expect_response_to("GET");
    }
    MessageParser* parser = nullptr;
    int heads = 0;
  } greedy;
  MessageParser parser(Direction::kResponses, &greedy);
  greedy.parser = &parser;
  const std::string_view two = "HTTP/1.1 204 N\r\n\r\nHTTP/1.1 204 N\r\n\r\n";
  EXPECT_EQ(parser.feed(two.data(), two.size()), ParseState::kInvalid);
  EXPECT_EQ(greedy.heads, 1);
}

TEST(Stream, CutShortKeepsTheStateItWasIn) {
  Tracer head(Direction::kResponses);
  head.feed("HTTP/1.1 200 OK\r\nContent-Le");
  EXPECT_EQ(head.parser.finish(), ParseState::kHead);
  EXPECT_EQ(head.parser.message_bytes(), 27u);
  Tracer body(Direction::kResponses);
  body.feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
  EXPECT_EQ(body.parser.finish(), ParseState::kBody);
  EXPECT_EQ(body.parser.body_bytes(), 3u);
  Tracer nothing(Direction::kResponses);
  EXPECT_EQ(nothing.parser.finish(), ParseState::kStart);
  EXPECT_EQ(nothing.feed("\r\n"), ParseState::kStart);
  EXPECT_EQ(nothing.parser.message_bytes(), 0u);
  EXPECT_EQ(nothing.parser.feed(nullptr, 0), ParseState::kStart);
}

// --- bodies that go by unseen
// ---------------------------------------------------------------------

TEST(SkipBody, CountsUnseenBytesOfAKnownLength) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
  Hash128 digests[2];
  for (bool in_two : {false, true}) {
    Tracer t(Direction::kResponses);
    t.feed(head + "abc");
    if (in_two) {
      EXPECT_EQ(t.parser.skip_body(2), ParseState::kBody);
    }
    EXPECT_EQ(t.parser.skip_body(in_two ? 4 : 6), ParseState::kBody);
    EXPECT_EQ(t.parser.skip_body(0), ParseState::kBody);
    EXPECT_EQ(t.parser.body_bytes(), 9u);
    EXPECT_EQ(t.parser.skip_body(1), ParseState::kStart);
    EXPECT_TRUE(t.messages.at(0).complete);
    EXPECT_EQ(t.messages[0].size, 10u);
    digests[in_two] = t.messages[0].digest;
    t.feed("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");  // the next message is found
    EXPECT_EQ(t.messages.at(1).body, "x");
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_NE(digests[0], hash_text("abc"));
}

TEST(SkipBody, WorksRightAfterTheHeadAndBeforeSeenBytes) {
  Tracer t(Direction::kResponses);
  t.feed("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
  EXPECT_EQ(t.parser.skip_body(7), ParseState::kBody);
  EXPECT_EQ(t.feed("xyz"), ParseState::kStart);
  EXPECT_EQ(t.messages.at(0).body, "xyz");
  EXPECT_EQ(t.messages[0].size, 10u);
  t.feed("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
  EXPECT_EQ(t.parser.skip_body(10), ParseState::kStart);
  EXPECT_EQ(t.messages.at(1).size, 10u);
}

TEST(SkipBody, WorksWithinAChunkAndUntilTheEndOfTheStream) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  Tracer chunk(Direction::kResponses);
  chunk.feed(head + "5\r\n");
  EXPECT_EQ(chunk.parser.skip_body(5), ParseState::kBody);
  chunk.feed("\r\n4\r\nab");
  EXPECT_EQ(chunk.parser.skip_body(2), ParseState::kBody);
  EXPECT_EQ(chunk.feed("\r\n0\r\n\r\n"), ParseState::kStart);
  EXPECT_EQ(chunk.messages.at(0).size, 9u);
  Tracer eof(Direction::kResponses);
  eof.feed("HTTP/1.1 200 OK\r\n\r\nab");
  EXPECT_EQ(eof.parser.skip_body(1000), ParseState::kBody);
  EXPECT_EQ(eof.parser.finish(), ParseState::kStart);
  EXPECT_EQ(eof.messages.at(0).size, 1002u);
}

TEST(SkipBody, OfWhatIsNotThereIsInvalid) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const std::string& bytes :
       {std::string(), head, head + "Content-Length: 3\r\n\r\n",
        head + "Content-Length: 5\r\n\r\nab", head + "Transfer-Encoding: chunked\r\n\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc",
        head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        head + "Content-Length: 0\r\n\r\n"}) {
    Tracer t(Direction::kResponses);
    t.feed(bytes);
    EXPECT_EQ(t.parser.skip_body(4), ParseState::kInvalid) << bytes;
    for (const auto& m : t.messages)
      EXPECT_EQ(m.complete, m.head.content_length == 0 && !m.head.chunked);
  }
}

// --- every split gives the same
// --------------------------------------------------------------------

struct Case {
  Direction direction;
  std::vector<std::string> methods;
  std::string bytes;
};

std::vector<Case> corpus() {
  constexpr auto kQ = Direction::kRequests;
  constexpr auto kR = Direction::kResponses;
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
  return {
      {kQ, {}, "GET / HTTP/1.1\r\nHost: a:1\r\nx-filibuster: " + std::string(kValue) + "\r\n\r\n"},
      {kQ,
       {},
       "\r\nPOST /p?q=1 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello\r\nGET "
       "/2 HTTP/1.0\r\n\r\n"},
      {kQ,
       {},
       "POST / HTTP/1.1\r\n" + chunked +
           "3;e=\"q\"\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\nGET / HTTP/1.1\nHost: "
           "[::1]:80\n\n"},
      {kQ, {}, "GET / HTTP/1.1\r\nx-filibuster: a\r\n b\r\nx-filibuster: \t last \r\n\r\n"},
      {kQ,
       {},
       "GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nCONNECT a:1 "
       "HTTP/1.1\r\n\r\nraw"},
      {kQ, {}, "GET http://h/ RTSP/1.0\r\n\r\n"},
      {kQ, {}, "GET / HTTP/1.1\r\n\r\nnonsense follows\r\n\r\n"},
      {kQ, {}, "GET / HTTP/1.1\rGET / HTTP/1.1\r\n\r\n"},
      {kQ, {}, "POST / HTTP/1.1\r\n" + chunked + "3\r\nabcd"},
      {kQ, {}, "A HTTP/1.1\n\n"},
      {kR,
       {"HEAD", "GET"},
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nHTTP/1.1 "
       "200\r\nContent-Length: 3\r\n\r\nabc"},
      {kR, {"GET"}, "HTTP/1.0 200 OK\r\nServer: x\r\n\r\nall of this\r\n\r\nis body"},
      {kR, {"GET"}, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n\x01\x02"},
      {kR,
       {"GET", "GET", "GET"},
       "HTTP/1.1 204 N\r\n\r\nHTTP/1.1 304 N\r\nContent-Length: 7\r\n\r\nHTTP/1.1 200 OK\r\n" +
           chunked + "2\r\nhi\r\n0\r\n\r\n"},
      {kR, {"CONNECT"}, "HTTP/1.1 200 OK\r\n\r\nraw"},
      {kR, {}, "HTTP/1.1 200 OK\rX\r\n\r\n"},
      {kR, {}, "HTTP/1.1 200 OK\r\nA: b\r\n\rX"},
  };
}

struct Outcome {
  std::vector<TracedMessage> messages;
  ParseState fed, finished;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const Case& c, const std::vector<size_t>& cuts) {
  Tracer t(c.direction);
  for (const auto& method : c.methods) t.parser.expect_response_to(method);
  Outcome outcome;
  size_t from = 0;
  for (size_t cut : cuts) {
    t.feed(std::string_view(c.bytes).substr(from, cut - from));
    from = cut;
  }
  outcome.fed = t.feed(std::string_view(c.bytes).substr(from));
  outcome.finished = t.parser.finish();
  // The end of a message that the end of the stream completes has no place in a feed.
  outcome.messages = t.messages;
  if (outcome.fed != outcome.finished && !outcome.messages.empty()) outcome.messages.back().end = 0;
  return outcome;
}

TEST(EverySplit, IntoTwoOrThreeFeedsGivesTheSame) {
  for (const Case& c : corpus()) {
    const Outcome whole = run(c, {});
    for (size_t a = 0; a <= c.bytes.size(); ++a) {
      for (size_t b = a; b <= c.bytes.size(); ++b) {
        ASSERT_EQ(run(c, {a, b}), whole) << c.bytes << "\ncut at " << a << " and " << b;
      }
    }
  }
}

TEST(EverySplit, IntoSingleBytesGivesTheSame) {
  for (const Case& c : corpus()) {
    std::vector<size_t> cuts;
    for (size_t i = 1; i < c.bytes.size(); ++i) cuts.push_back(i);
    ASSERT_EQ(run(c, cuts), run(c, {})) << c.bytes;
  }
}

TEST(MessageParserSize, LetsTwoStandInEveryConnection) {
  EXPECT_LE(sizeof(MessageParser), 4608u);
}

// --- sniff
// -----------------------------------------------------------------------------------------

Sniff of(std::string_view bytes) {
  return sniff(bytes.data(), bytes.size());
}

TEST(Sniff, KnowsARequestByItsMethod) {
  for (const char* bytes : {"GET /", "GET ", "POST / HTTP/1.1\r\n", "M-SEARCH *", "PROPFIND /x",
                            "\r\n\r\nDELETE /", "CONNECT a:1"}) {
    EXPECT_EQ(of(bytes), Sniff::kHttp1Request) << bytes;
  }
  for (const char* bytes : {"", "G", "GET", "PRO", "P", "\r\n", "\n", "M-SEARCH"}) {
    EXPECT_EQ(of(bytes), Sniff::kNeedMore) << bytes;
  }
  for (const char* bytes : {"GETX", "get /", "HELO", "HTTP/1.1 200 OK\r\n", "*1\r\n", "\r\nx",
                            "GET\t/", "PLAY rtsp://x", " GET /"}) {
    EXPECT_EQ(of(bytes), Sniff::kOther) << bytes;
  }
}

TEST(Sniff, DemandsTheWholeHttp2Preface) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (size_t size = 1; size < preface.size(); ++size) {
    EXPECT_EQ(of(preface.substr(0, size)), Sniff::kNeedMore);
  }
  EXPECT_EQ(of(preface), Sniff::kHttp2Preface);
  EXPECT_EQ(of(preface + "\0\0"), Sniff::kHttp2Preface);
  EXPECT_EQ(of("PRI * HTTP/2.0\r\n\r\nXX"), Sniff::kOther);
}

TEST(Sniff, KnowsTls) {
  EXPECT_EQ(of("\x16"), Sniff::kNeedMore);
  EXPECT_EQ(of("\x16\x03"), Sniff::kNeedMore);
  EXPECT_EQ(of("\x16\x03\x01"), Sniff::kTls);
  EXPECT_EQ(of("\x16\x03\x04zz"), Sniff::kTls);
  EXPECT_EQ(of("\x16\x03\x05"), Sniff::kOther);
  EXPECT_EQ(of("\x16\x03\xff"), Sniff::kOther);
  EXPECT_EQ(of("\x16\x02"), Sniff::kOther);
  EXPECT_EQ(of("\x15\x03\x01"), Sniff::kOther);
}

}  // namespace
}  // namespace filibuster::http1
