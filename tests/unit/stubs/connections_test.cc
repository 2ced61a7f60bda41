// Connections without sockets: bytes in, calls out, replies in, bytes out. Each sequence of bytes is given whole and byte by byte.
#include <gtest/gtest.h>

#include <chrono>

#include "daemon/stubs/stub_connection.h"

namespace filibuster::stubs {
namespace {

using Json = nlohmann::json;

Reply reply_of(std::string body, uint16_t status = 200) {
  Reply out;
  out.answer.status = status;
  out.answer.body = std::move(body);
  return out;
}

// Feeds `bytes` in pieces of `step`, and returns the calls.
std::vector<OpenCall> feed(StubConnection* connection, std::string_view bytes, size_t step) {
  std::vector<OpenCall> calls;
  for (size_t at = 0; at < bytes.size(); at += step) {
    connection->feed(bytes.substr(at, step));
    for (OpenCall& call : connection->take_calls()) calls.push_back(std::move(call));
  }
  return calls;
}

class Pieces : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(OfBytes, Pieces, testing::Values(1, 7, 100000));

TEST_P(Pieces, RequestsOfHttpAreReadAndAnsweredInTheirOrder) {
  const auto connection = make_http_connection("users");
  const std::vector<OpenCall> calls = feed(
      connection.get(),
      "GET /a?b=c HTTP/1.1\r\nHost: x\r\nx-filibuster: 1-2\r\n\r\n"
      "POST /d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
      "HEAD /e HTTP/1.1\r\nHost: x\r\n\r\n",
      GetParam());
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(to_text(calls[0].call), "GET /a?b=c");
  EXPECT_EQ(calls[0].call.field, "1-2");
  EXPECT_EQ(calls[1].call.body, "abcde");
  EXPECT_EQ(calls[2].call.method, "HEAD");
  connection->reply(calls[1].number, reply_of("second", 201));
  EXPECT_EQ(connection->take_output(), "");
  connection->reply(calls[0].number, reply_of("first"));
  connection->reply(calls[2].number, reply_of("12345"));
  EXPECT_EQ(connection->take_output(),
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"
            "HTTP/1.1 201 Created\r\nContent-Length: 6\r\n\r\nsecond"
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_FALSE(connection->finished());
}

TEST_P(Pieces, TheConnectionEndsWhereTheRequestSaysSo) {
  const auto connection = make_http_connection("users");
  const auto calls =
      feed(connection.get(), "GET / HTTP/1.0\r\n\r\nGET /never HTTP/1.0\r\n\r\n", GetParam());
  ASSERT_EQ(calls.size(), 1u);
  connection->reply(calls[0].number, reply_of("", 204));
  EXPECT_EQ(connection->take_output(), "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(connection->finished());
}

TEST_P(Pieces, AClientThatAsksWhetherItMaySendIsTold) {
  const auto connection = make_http_connection("users");
  auto calls = feed(
      connection.get(),
      "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", GetParam());
  EXPECT_TRUE(calls.empty());
  EXPECT_EQ(connection->take_output(), "HTTP/1.1 100 Continue\r\n\r\n");
  calls = feed(connection.get(), "ab", GetParam());
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].call.body, "ab");
}

TEST_P(Pieces, ARequestThatAsksForHttp2GetsItsAnswerInHttp1) {
  const auto connection = make_http_connection("users");
  const auto calls = feed(
      connection.get(),
      "GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n"
      "GET /b HTTP/1.1\r\nHost: x\r\n\r\n",
      GetParam());
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1].call.path, "/b");
}

TEST_P(Pieces, WhatIsNoHttpIsAnsweredWith400) {
  const auto connection = make_http_connection("users");
  feed(connection.get(), "nonsense\r\n\r\n", GetParam());
  EXPECT_TRUE(connection->take_output().starts_with("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_TRUE(connection->finished());
}

TEST_P(Pieces, ACallWithoutAStubGetsAnErrorOfItsProtocol) {
  const auto http = make_http_connection("users");
  const auto calls = feed(http.get(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", GetParam());
  Reply none;
  none.problem = "no stub of 'users' answers";
  http->reply(calls.at(0).number, none);
  const std::string bytes = http->take_output();
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 501 Not Implemented\r\n")) << bytes;
  EXPECT_TRUE(bytes.ends_with("filibuster: no stub of 'users' answers\n")) << bytes;
  const auto redis = make_redis_connection("cache");
  const auto commands = feed(redis.get(), "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", GetParam());
  redis->reply(commands.at(0).number, none);
  EXPECT_EQ(redis->take_output(), "-ERR filibuster: no stub of 'users' answers\r\n");
}

TEST_P(Pieces, CommandsOfRedisHaveTheirArguments) {
  const auto connection = make_redis_connection("cache");
  const auto calls = feed(
      connection.get(),
      "*3\r\n$3\r\nset\r\n$6\r\nuser:7\r\n$4\r\na\r\nb\r\nGET user:8\r\nPING\r\n*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n",
      GetParam());
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(to_text(calls[0].call), "SET user:7");
  EXPECT_EQ(calls[0].call.arguments, Json::array({"user:7", "a\r\nb"}));
  EXPECT_EQ(to_text(calls[1].call), "GET user:8");
  Reply set, get;
  set.answer.message = {{"status", "OK"}};
  get.answer.message = Json::array({"x", 1, nullptr, {{"error", "ERR\r\nno"}}});
  connection->reply(calls[1].number, get);
  connection->reply(calls[0].number, set);
  EXPECT_EQ(
      connection->take_output(),
      "+OK\r\n*4\r\n$1\r\nx\r\n:1\r\n$-1\r\n-ERR  no\r\n+PONG\r\n-NOPROTO unsupported protocol version\r\n");
}

TEST_P(Pieces, WhatIsNoCommandEndsTheConnection) {
  const auto connection = make_redis_connection("cache");
  feed(connection.get(), "*1\r\n:1\r\n", GetParam());
  EXPECT_TRUE(connection->take_output().starts_with("-ERR Protocol error: "));
  EXPECT_TRUE(connection->finished());
}

// What leaves with each part, and at last.
std::vector<std::string> parts_of(StubConnection* connection) {
  std::vector<std::string> out{connection->take_output()};
  while (const auto due = connection->take_due()) {
    EXPECT_FALSE(connection->take_due()) << "a part is told once";
    connection->send_part(due->number);
    out.push_back(std::to_string(due->gap.count()) + ": " + connection->take_output());
  }
  return out;
}

Reply in_parts(std::string body, std::vector<Part> parts) {
  Reply out = reply_of(std::move(body));
  out.is_http = true;
  out.parts = std::move(parts);
  return out;
}

TEST(Parts, OfAnAnswerOfHttp1AreChunks) {
  const auto connection = make_http1_connection("users");
  const auto calls =
      feed(connection.get(), "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
           1000);
  Reply reply = in_parts("onetwo", {{3, {}, {}}, {3, std::chrono::milliseconds(20), {}}});
  reply.trailers = {{"X-Sum", "6"}};
  connection->reply(calls[1].number, reply_of("second"));
  connection->reply(calls[0].number, reply);
  EXPECT_EQ(parts_of(connection.get()),
            (std::vector<std::string>{
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0: 3\r\none\r\n",
                "20: 3\r\ntwo\r\n0\r\nX-Sum: 6\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
                "6\r\n\r\nsecond"}));
}

TEST(Parts, WaitForTheirTurnOnTheConnection) {
  const auto connection = make_http1_connection("users");
  const auto calls =
      feed(connection.get(), "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
           1000);
  connection->reply(calls[1].number, in_parts("ab", {{1, {}, {}}, {1, {}, {}}}));
  EXPECT_EQ(parts_of(connection.get()), std::vector<std::string>{""});
  connection->reply(calls[0].number, reply_of(""));
  EXPECT_EQ(parts_of(connection.get()).size(), 3u);
}

TEST(Parts, HaveNoChunksInHttp10) {
  const auto connection = make_http1_connection("users");
  const auto calls = feed(connection.get(), "GET /a HTTP/1.0\r\n\r\n", 1000);
  connection->reply(calls[0].number, in_parts("ab", {{1, {}, {}}, {1, {}, {}}}));
  EXPECT_EQ(
      parts_of(connection.get()),
      (std::vector<std::string>{"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "0: a", "0: b"}));
  EXPECT_TRUE(connection->finished());
}

TEST(Parts, AnEndComesBehindWhatThereIsOfAnAnswer) {
  for (const End end : {End::kReset, End::kClosed, End::kSilence}) {
    const auto connection = make_http1_connection("users");
    const auto calls = feed(connection.get(), "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", 1000);
    Reply reply = in_parts("ab", {});
    reply.end = end;
    connection->reply(calls[0].number, reply);
    EXPECT_EQ(parts_of(connection.get()).back(), "0: 2\r\nab\r\n");
    EXPECT_EQ(connection->ended(), end == End::kSilence ? End::kNone : end);
    EXPECT_FALSE(connection->finished());
  }
}

}  // namespace
}  // namespace filibuster::stubs
