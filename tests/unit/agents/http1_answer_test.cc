#include "daemon/agents/http1_answer.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

FaultSpec fault(const char* text) {
  return parse_fault(text).value();
}

Http1Answer::Rendered rendered(std::string_view bytes, const char* text, size_t split = 1000,
                               bool head_request = false) {
  Http1Answer answer(head_request);
  bool ended = false;
  for (size_t at = 0; at < bytes.size() && !ended; at += split)
    ended = answer.feed(bytes.data() + at, std::min(split, bytes.size() - at));
  if (!ended) answer.end_of_stream();
  return answer.render(fault(text));
}

constexpr std::string_view kPlain =
    "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 6\r\nKeep-Alive: timeout=5\r\n\r\nabcdef";
constexpr std::string_view kChunked =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
    "Content-Encoding: gzip\r\n\r\n4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\n";

std::string head(const char* fields) {
  return std::string("HTTP/1.1 200 OK\r\n") + fields + "Connection: close\r\n\r\n";
}

TEST(Http1Answer, IsChangedAsItsFaultSaysHoweverItIsSplit) {
  for (size_t split = 1; split < 40; ++split) {
    for (const auto& [text, expected] : std::map<const char*, std::string>{
             {"latency:1s", head("Server: x\r\nContent-Length: 6\r\n") + "abcdef"},
             {"partial-message", head("Server: x\r\nContent-Length: 6\r\n") + "abc"},
             {"empty-message", head("Server: x\r\nContent-Length: 0\r\n")},
             {"corrupt-message",
              head("Server: x\r\nContent-Length: 6\r\n") + "\x9e\x9d\x9c\x9b\x9a\x99"},
             {"content-length:+3", head("Server: x\r\nContent-Length: 9\r\n") + "abcdef"},
             {"content-length:-9", head("Server: x\r\nContent-Length: 0\r\n") + "abcdef"}}) {
      EXPECT_EQ(rendered(kPlain, text, split).bytes, expected) << text << " " << split;
    }
    EXPECT_EQ(rendered(kChunked, "partial-message", split).bytes,
              head("Content-Encoding: gzip\r\nContent-Length: 6\r\n") + "abc");
    EXPECT_EQ(rendered(kChunked, "empty-message", split).bytes, head("Content-Length: 0\r\n"));
  }
}

TEST(Http1Answer, TimesAreSteps) {
  const auto late = rendered(kPlain, "latency:1s");
  ASSERT_EQ(late.steps.size(), 1u);
  EXPECT_EQ(late.steps[0].wait_ns, 1'000'000'000u);
  EXPECT_EQ(late.steps[0].end, late.bytes.size());
  const auto slow = rendered(kPlain, "slow-body:600ms");
  ASSERT_EQ(slow.steps.size(), 7u);
  EXPECT_EQ(slow.steps[0].wait_ns, 0u);
  EXPECT_EQ(slow.bytes.substr(0, slow.steps[0].end), head("Server: x\r\nContent-Length: 6\r\n"));
  EXPECT_EQ(slow.steps[1].wait_ns, 100'000'000u);
  EXPECT_EQ(slow.steps[6].wait_ns, 600'000'000u);
  EXPECT_EQ(slow.steps[6].end, slow.bytes.size());
}

TEST(Http1Answer, ABodyThatStopsHasHalfOfItAtOnce) {
  const auto out = rendered(kPlain, "slow-body");
  EXPECT_TRUE(out.stalls);
  EXPECT_EQ(out.bytes, head("Server: x\r\nContent-Length: 6\r\n") + "abc");
  ASSERT_EQ(out.steps.size(), 1u);
  EXPECT_EQ(out.steps[0].wait_ns, 0u);
  EXPECT_EQ(out.steps[0].end, out.bytes.size());
  const auto one = rendered("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", "slow-body");
  EXPECT_EQ(one.bytes, head("Content-Length: 1\r\n"));
  EXPECT_FALSE(rendered(kPlain, "slow-body:1s").stalls);
  EXPECT_EQ(rendered("HTTP/1.1 204 No Content\r\n\r\n", "slow-body").problem,
            "the answer has no body");
}

TEST(Http1Answer, ABodyMayEndWithTheConnection) {
  EXPECT_EQ(rendered("HTTP/1.0 200 OK\r\n\r\nabcdef", "partial-message").bytes,
            "HTTP/1.0 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nabc");
}

TEST(Http1Answer, WhatHasNoBodyCanOnlyBeLate) {
  constexpr std::string_view kNone = "HTTP/1.1 204 No Content\r\nX: y\r\n  folded\r\n\r\n";
  EXPECT_EQ(rendered(kNone, "partial-message").problem, "the answer has no body");
  EXPECT_EQ(rendered(kNone, "latency:1s").bytes,
            "HTTP/1.1 204 No Content\r\nX: y\r\n  folded\r\nConnection: close\r\n\r\n");
  constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n";
  EXPECT_EQ(rendered(kHead, "empty-message", 1000, true).problem, "the answer has no body");
  EXPECT_EQ(rendered(kHead, "latency:1s", 1000, true).bytes, head("Content-Length: 6\r\n"));
}

TEST(Http1Answer, AnAnswerThatDoesNotComeWholeIsNotChanged) {
  for (const std::string_view bytes :
       {std::string_view(), kPlain.substr(0, 20), kPlain.substr(0, kPlain.size() - 1),
        std::string_view("SMTP ready\r\n")}) {
    const auto out = rendered(bytes, "latency:1s");
    EXPECT_EQ(out.problem, "the server's answer did not come whole") << bytes;
    EXPECT_EQ(out.bytes, "");
  }
}

}  // namespace
}  // namespace filibuster
