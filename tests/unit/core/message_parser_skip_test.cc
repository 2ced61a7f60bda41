#include <gtest/gtest.h>

#include "core/http1/message_parser.h"
#include "tests/unit/core/http1_trace.h"

namespace filibuster::http1 {
namespace {

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

}  // namespace
}  // namespace filibuster::http1
