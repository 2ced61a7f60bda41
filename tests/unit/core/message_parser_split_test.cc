#include <gtest/gtest.h>

#include "core/http1/message_parser.h"
#include "tests/unit/core/http1_trace.h"

namespace filibuster::http1 {
namespace {

constexpr std::string_view kSplitValue =
    "1-0000abcd-0002-00000007-0000000300000009-0123456789abcdeffedcba9876543210";

TEST(Stream, CutShortKeepsTheStateItWasIn) {
  Tracer head(Direction::kResponses);
  head.feed("HTTP/1.1 200 OK\r\nContent-Le");
  EXPECT_EQ(head.parser.finish(), ParseState::kHead);
  Tracer body(Direction::kResponses);
  body.feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
  EXPECT_EQ(body.parser.finish(), ParseState::kBody);
  EXPECT_EQ(body.parser.body_bytes(), 3u);
  Tracer nothing(Direction::kResponses);
  EXPECT_EQ(nothing.parser.finish(), ParseState::kStart);
  EXPECT_EQ(nothing.feed("\r\n"), ParseState::kStart);
  EXPECT_EQ(nothing.parser.feed(nullptr, 0), ParseState::kStart);
}

// Every split gives the same.

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
      {kQ,
       {},
       "GET / HTTP/1.1\r\nHost: a:1\r\nx-filibuster: " + std::string(kSplitValue) + "\r\n\r\n"},
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
      {kQ,
       {},
       "GET / HTTP/1.1\r\nUpgrade: a, h2c\r\nHTTP2-Settings: AAMAAABk \r\n\r\nGET / "
       "HTTP/1.1\r\n\r\n"},
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
  EXPECT_LE(sizeof(MessageParser), 896u);
}

}  // namespace
}  // namespace filibuster::http1
