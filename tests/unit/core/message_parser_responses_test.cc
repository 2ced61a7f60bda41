#include <gtest/gtest.h>

#include "core/http1/message_parser.h"
#include "tests/unit/core/http1_trace.h"

namespace filibuster::http1 {
namespace {

Tracer* responses(std::string_view bytes, std::vector<std::string> methods = {"GET"}) {
  static std::unique_ptr<Tracer> tracer;
  tracer = std::make_unique<Tracer>(Direction::kResponses);
  for (const auto& method : methods) tracer->parser.expect_response_to(method);
  tracer->feed(bytes);
  return tracer.get();
}

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
  Outstanding outstanding;
  MessageParser parser(&outstanding, &greedy);
  greedy.parser = &parser;
  const std::string_view two = "HTTP/1.1 204 N\r\n\r\nHTTP/1.1 204 N\r\n\r\n";
  EXPECT_EQ(parser.feed(two.data(), two.size()), ParseState::kInvalid);
  EXPECT_EQ(greedy.heads, 1);
}

}  // namespace
}  // namespace filibuster::http1
