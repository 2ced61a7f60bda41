#include "daemon/proxy/farewell.h"

#include <gtest/gtest.h>

#include "core/http2/frame.h"

namespace filibuster::proxy {
namespace {

constexpr std::string_view kRequest = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
constexpr std::string_view kLast =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";

// What the client gets of `bytes`, which the server sends in pieces of `size`.
std::string answered(Farewell* farewell, std::string_view bytes, size_t size) {
  std::string out, edited;
  while (!bytes.empty()) {
    out += farewell->answers(bytes.substr(0, size), &edited);
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
  return out;
}

std::string frame(http2::FrameType type, uint8_t flags, uint32_t stream, std::string_view payload) {
  char header[http2::kFrameHeaderSize];
  http2::write_frame_header({static_cast<uint32_t>(payload.size()), type, flags, stream}, header);
  return std::string(header, sizeof header) + std::string(payload);
}

const std::string kSettings = frame(http2::FrameType::kSettings, 0, 0, "");
const std::string kGoaway =
    frame(http2::FrameType::kGoaway, 0, 0, std::string_view("\x7f\xff\xff\xff\0\0\0\0", 8));

std::string opening() {
  return std::string(http2::kClientPreface) + kSettings +
         frame(http2::FrameType::kHeaders, http2::kFlagEndHeaders | http2::kFlagEndStream, 1, "h");
}

TEST(Farewell, WithoutItNothingChanges) {
  for (size_t size : {1, 7, 1000}) {
    Farewell farewell;
    farewell.requests(kRequest);
    EXPECT_EQ(answered(&farewell, kAnswer, size), kAnswer);
    EXPECT_TRUE(farewell.is_idle());
    EXPECT_FALSE(farewell.is_over());
  }
}

TEST(Farewell, TheNextAnswerSaysThatItIsTheLast) {
  Farewell farewell;
  farewell.requests(kRequest);
  EXPECT_EQ(answered(&farewell, kAnswer, 1000), kAnswer);
  EXPECT_EQ(farewell.begin(), "");
  EXPECT_FALSE(farewell.is_over());
  farewell.requests(kRequest);
  EXPECT_FALSE(farewell.is_idle());
  EXPECT_EQ(answered(&farewell, kAnswer, 1000), kLast);
  EXPECT_TRUE(farewell.is_over());
  EXPECT_TRUE(farewell.ends_at_once());
}

TEST(Farewell, AnAnswerInPiecesSaysItOnceWhereverItIsSplit) {
  for (size_t size = 1; size < kAnswer.size(); ++size) {
    Farewell farewell;
    farewell.begin();
    farewell.requests(kRequest);
    const std::string got = answered(&farewell, kAnswer, size);
    if (!farewell.is_over()) {
      EXPECT_EQ(got, kAnswer) << "the blank line was split: the next answer says it";
      continue;
    }
    EXPECT_EQ(got.size(), kLast.size()) << size;
    const size_t field = got.find("\r\nConnection: close\r\n");
    ASSERT_NE(field, std::string::npos) << size;
    EXPECT_EQ(got.substr(0, field + 2) + got.substr(field + 21), kAnswer) << size;
    EXPECT_LT(field, got.find("\r\n\r\n")) << size;
  }
}

TEST(Farewell, AnAnswerThatIsUnderWayIsNotChanged) {
  Farewell farewell;
  farewell.requests(kRequest);
  std::string got = answered(&farewell, kAnswer.substr(0, kAnswer.size() - 1), 1000);
  farewell.begin();
  got += answered(&farewell, kAnswer.substr(kAnswer.size() - 1), 1000);
  EXPECT_EQ(got, kAnswer);
  EXPECT_FALSE(farewell.is_over());
}

TEST(Farewell, RequestsThatWereSentAlreadyAreAnsweredFirst) {
  Farewell farewell;
  farewell.begin();
  farewell.requests(std::string(kRequest) + std::string(kRequest));
  EXPECT_EQ(answered(&farewell, kAnswer, 1000), kAnswer);
  EXPECT_EQ(answered(&farewell, kAnswer, 1000), kLast);
  EXPECT_TRUE(farewell.is_over());
}

TEST(Farewell, Http1MayEndBehindItsFirstAnswerWhileHttp2GoesOn) {
  Farewell http1;
  http1.end_http1();
  http1.requests(kRequest);
  EXPECT_EQ(answered(&http1, kAnswer, 1000), kLast);
  EXPECT_TRUE(http1.ends_at_once());
  Farewell http2;
  http2.end_http1();
  http2.requests(opening());
  EXPECT_EQ(answered(&http2, kSettings, 1000), kSettings);
  EXPECT_FALSE(http2.is_over());
}

TEST(Farewell, AnInterimAnswerIsNotTheAnswer) {
  Farewell farewell;
  farewell.begin();
  farewell.requests("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(answered(&farewell, kContinue, 1000), kContinue);
  farewell.requests("x");
  EXPECT_EQ(answered(&farewell, kAnswer, 1000), kLast);
}

TEST(Farewell, AServerThatSaysItItselfIsBelieved) {
  Farewell farewell;
  farewell.begin();
  farewell.requests(kRequest);
  EXPECT_EQ(answered(&farewell, kLast, 1000), kLast);
  EXPECT_TRUE(farewell.is_over());
}

TEST(Farewell, WhatIsSomethingElsePasses) {
  for (const std::string_view first : {"\x16\x03\x01\x02", "*1\r\n$4\r\nPING\r\n"}) {
    Farewell farewell;
    farewell.begin();
    farewell.requests(first);
    EXPECT_EQ(answered(&farewell, kAnswer, 1000), kAnswer);
    EXPECT_FALSE(farewell.is_over());
    EXPECT_FALSE(farewell.is_idle());
  }
  Farewell speaks_first;
  speaks_first.begin();
  EXPECT_EQ(answered(&speaks_first, "220 mail\r\n", 1000), "220 mail\r\n");
  EXPECT_FALSE(speaks_first.is_idle());
}

TEST(Farewell, AnHttp2ClientGetsAGoawayBetweenTwoFrames) {
  Farewell farewell;
  farewell.requests(opening());
  EXPECT_EQ(answered(&farewell, kSettings, 1000), kSettings);
  EXPECT_FALSE(farewell.is_idle());
  EXPECT_EQ(farewell.begin(), kGoaway);
  EXPECT_FALSE(farewell.is_over()) << "a stream is open";
  const std::string answer = frame(http2::FrameType::kHeaders, http2::kFlagEndHeaders, 1, "h") +
                             frame(http2::FrameType::kData, http2::kFlagEndStream, 1, "body");
  EXPECT_EQ(answered(&farewell, answer, 3), answer);
  EXPECT_TRUE(farewell.is_over());
  EXPECT_FALSE(farewell.ends_at_once()) << "a request may be on its way";
}

TEST(Farewell, AGoawayWaitsForTheEndOfAFrameAndOfAHeaderBlock) {
  const std::string block = frame(http2::FrameType::kHeaders, 0, 1, "h") +
                            frame(http2::FrameType::kContinuation, http2::kFlagEndHeaders, 1, "c");
  for (size_t split = 1; split < block.size(); ++split) {
    Farewell farewell;
    farewell.requests(opening());
    std::string got = answered(&farewell, kSettings + block.substr(0, split), 1000);
    EXPECT_EQ(farewell.begin(), "");
    got += answered(&farewell, block.substr(split), 1000);
    EXPECT_EQ(got, kSettings + block + kGoaway) << split;
  }
}

TEST(Farewell, BeforeTheServersFirstFrameThereIsNoGoaway) {
  Farewell farewell;
  farewell.requests(opening());
  EXPECT_EQ(farewell.begin(), "");
  EXPECT_EQ(answered(&farewell, kSettings, 4), kSettings + kGoaway);
}

TEST(Farewell, AServersOwnGoawayIsEnough) {
  Farewell farewell;
  farewell.requests(opening());
  answered(&farewell, kSettings + kGoaway, 1000);
  EXPECT_EQ(farewell.begin(), "");
}

}  // namespace
}  // namespace filibuster::proxy
