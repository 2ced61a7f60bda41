#include "daemon/wire/http1_message.h"

#include <gtest/gtest.h>

namespace filibuster::wire {
namespace {

// Each byte at a time of its own, from 1.
std::vector<HttpMessage> in_bytes(Http1Reader* reader, std::string_view bytes, size_t step = 1) {
  std::vector<HttpMessage> out;
  uint64_t time = 0;
  for (size_t at = 0; at < bytes.size(); at += step) {
    for (HttpMessage& each : reader->feed(std::string(bytes.substr(at, step)), ++time))
      out.push_back(std::move(each));
  }
  return out;
}

std::string shown(const HttpMessage& m) {
  std::string out = std::to_string(m.number) + " " + m.method + " " + m.target + " " +
                    std::to_string(m.status) + " " + m.reason + "\n";
  for (const auto& [name, value] : m.headers) out += name + "=" + value + "\n";
  out += "body=" + m.body + "\n";
  for (const auto& [name, value] : m.trailers) out += "trailer " + name + "=" + value + "\n";
  if (m.until_close) out += "until close\n";
  if (m.upgraded) out += "upgraded\n";
  return out;
}

std::string shown(const std::vector<HttpMessage>& all) {
  std::string out;
  for (const HttpMessage& each : all) out += shown(each);
  return out;
}

constexpr std::string_view kRequests =
    "\r\nPOST /orders?x=1 HTTP/1.1\r\nHost: a\r\nX-Two: 1\r\nx-two:  2  \r\n"
    "Content-Length: 3\r\n\r\nabc"
    "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
    "PUT /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
    "2;ext=1\r\nab\r\n1\r\nc\r\n0\r\nX-Sum: 7\r\n\r\n"
    "GET /last HTTP/1.0\r\n\r\n";

TEST(Http1Reader, PipelinedRequestsAreWholeMessagesUnderEverySplit) {
  for (size_t step = 1; step <= kRequests.size(); ++step) {
    Http1Reader reader(http1::Direction::kRequests);
    EXPECT_EQ(shown(in_bytes(&reader, kRequests, step)),
              "1 POST /orders?x=1 0 \nHost=a\nX-Two=1\nx-two=2\nContent-Length=3\nbody=abc\n"
              "2 GET /a 0 \nHost=a\nbody=\n"
              "3 PUT /b 0 \nTransfer-Encoding=chunked\nTrailer=X-Sum\nbody=abc\ntrailer X-Sum=7\n"
              "4 GET /last 0 \nbody=\n");
    EXPECT_EQ(reader.state(), Http1Reader::State::kBetween);
  }
}

TEST(Http1Reader, AnswersFollowTheirRequests) {
  constexpr std::string_view kAnswers =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 201 Made Here\r\nContent-Length: 2\r\n\r\nok"
      "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
      "HTTP/1.1 204 No Content\r\n\r\n"
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\nX-T: 1\r\n\r\n"
      "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end";
  for (size_t step = 1; step <= kAnswers.size(); ++step) {
    Http1Reader reader(http1::Direction::kResponses);
    for (const std::string_view method : {"POST", "HEAD", "DELETE", "GET", "GET"})
      reader.expect_answer_to(method);
    std::vector<HttpMessage> all = in_bytes(&reader, kAnswers, step);
    EXPECT_EQ(all.size(), 4u) << step;
    EXPECT_EQ(reader.state(), Http1Reader::State::kInMessage);
    for (HttpMessage& each : reader.finish(1000)) all.push_back(std::move(each));
    EXPECT_EQ(shown(all),
              "1   201 Made Here\nContent-Length=2\nbody=ok\n"
              "2   200 OK\nContent-Length=99\nbody=\n"
              "3   204 No Content\nbody=\n"
              "4   200 OK\nTransfer-Encoding=chunked\nbody=one\ntrailer X-T=1\n"
              "5   200 OK\nConnection=close\nbody=to the end\nuntil close\n");
  }
}

TEST(Http1Reader, PiecesHaveTheirTimes) {
  Http1Reader reader(http1::Direction::kResponses);
  reader.expect_answer_to("GET");
  reader.feed("HTTP/1.1 200 OK\r\nTransfer-Enc", 10);
  reader.feed("oding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n", 20);
  EXPECT_EQ(reader.open_message().body, "abc");
  const std::vector<HttpMessage> all = reader.feed("1\r\nd\r\n0\r\n\r\n", 30);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].pieces, (std::vector<HttpPiece>{{3, 20}, {1, 30}}));
  EXPECT_EQ(all[0].begun_ns, 10u);
  EXPECT_EQ(all[0].head_ns, 20u);
  EXPECT_EQ(all[0].ended_ns, 30u);
}

TEST(Http1Reader, AMessageThatBeginsBehindAnotherBeginsThen) {
  Http1Reader reader(http1::Direction::kRequests);
  EXPECT_EQ(reader.feed("GET /1 HTTP/1.1\r\n\r\nGET /2", 5).at(0).begun_ns, 5u);
  EXPECT_EQ(reader.feed(" HTTP/1.1\r\n\r\n", 9).at(0).begun_ns, 5u);
  EXPECT_EQ(reader.feed("GET /3 HTTP/1.1\r\n\r\n", 12).at(0).begun_ns, 12u);
}

TEST(Http1Reader, WhatFollowsAnUpgradeIsNotRead) {
  Http1Reader reader(http1::Direction::kResponses);
  reader.expect_answer_to("GET");
  const auto all = reader.feed("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n\x01\x02", 1);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].upgraded);
  EXPECT_EQ(reader.state(), Http1Reader::State::kUpgraded);
  EXPECT_TRUE(reader.feed("HTTP/1.1 200 OK\r\n\r\n", 2).empty());
}

TEST(Http1Reader, ABodyBeyondTheBoundIsCutAndSaysSo) {
  Http1Reader reader(http1::Direction::kRequests);
  const std::string body(kMostMessageBody + 5, 'x');
  reader.feed("POST / HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n", 1);
  const auto all = reader.feed(body + "GET /next HTTP/1.1\r\n\r\n", 2);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].too_large);
  EXPECT_EQ(all[0].body.size(), kMostMessageBody);
  EXPECT_EQ(all[1].target, "/next");
}

TEST(Http1Reader, AHeadBeyondTheBoundIsNotFollowed) {
  Http1Reader reader(http1::Direction::kRequests);
  reader.feed("GET / HTTP/1.1\r\n", 1);
  for (int i = 0; i < 300; ++i) reader.feed("X-" + std::string(1000, 'a') + ": 1\r\n", 2);
  EXPECT_EQ(reader.state(), Http1Reader::State::kInvalid);
}

TEST(Http1Reader, BytesThatWentByUnseenAreCounted) {
  Http1Reader reader(http1::Direction::kResponses);
  reader.expect_answer_to("GET");
  reader.feed("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab", 1);
  const auto all = reader.skip(8, 2);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].unseen, 8u);
  EXPECT_EQ(all[0].body, "ab");
  EXPECT_EQ(reader.state(), Http1Reader::State::kBetween);
}

TEST(Http1Reader, WhatIsNoHttpIsNotGuessed) {
  Http1Reader reader(http1::Direction::kRequests);
  EXPECT_TRUE(reader.feed("*1\r\n$4\r\nPING\r\n", 1).empty());
  EXPECT_EQ(reader.state(), Http1Reader::State::kInvalid);
}

TEST(Http1Bytes, ARequestComesBack) {
  for (const bool chunked : {false, true}) {
    HttpMessage sent;
    sent.method = "POST";
    sent.target = "/a?b=c";
    sent.headers = {{"Host", "x"}, {"Content-Type", "text/plain"}};
    sent.body = "hello";
    sent.chunked = chunked;
    if (chunked) sent.trailers = {{"X-Sum", "1"}};
    Http1Reader reader(http1::Direction::kRequests);
    const auto read = reader.feed(http1_request_bytes(sent), 1);
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].target, sent.target);
    EXPECT_EQ(read[0].body, sent.body);
    EXPECT_EQ(read[0].trailers, sent.trailers);
    EXPECT_EQ(read[0].headers[1], sent.headers[1]);
  }
}

TEST(Http1Bytes, AnswersWithoutABodyHaveNone) {
  HttpMessage answer;
  answer.status = 200;
  answer.body = "hello";
  EXPECT_EQ(http1_answer_bytes(answer, "GET"), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(http1_answer_bytes(answer, "HEAD"), "HTTP/1.1 200 OK\r\n\r\n");
  answer.status = 304;
  EXPECT_EQ(http1_answer_bytes(answer, "GET"), "HTTP/1.1 304 Not Modified\r\n\r\n");
  answer.status = 200;
  answer.chunked = true;
  EXPECT_EQ(http1_answer_bytes(answer, "GET"),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
}

}  // namespace
}  // namespace filibuster::wire
