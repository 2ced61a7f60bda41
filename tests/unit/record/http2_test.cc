// Streams of HTTP/2 as the messages of cases.
#include <gtest/gtest.h>

#include "daemon/record/assembler.h"
#include "tests/unit/core/http2/peer.h"
#include "tests/unit/core/http2/wire.h"
#include "tests/unit/record/records.h"

namespace filibuster::record {
namespace {

using enum http2::FrameType;
using http2::frame;

constexpr uint8_t kEnd = http2::kFlagEndStream, kHead = http2::kFlagEndHeaders;
const std::string kOneMessage("\0\0\0\0\1x", 6);

// A connection of which one end is the service.
struct Http2Side {
  Http2Side(Records* to, uint64_t id, bool is_server, std::string_view service = "")
      : records(to), connection(id) {
    to->connection(id, is_server, StreamProtocol::kHttp2, service);
    to->bytes(id, true, http2::client_start());
    to->bytes(id, false, http2::settings() + http2::settings_ack());
  }
  void ask(uint32_t stream, const std::string& path, std::string_view body, uint8_t flags = kEnd) {
    records->bytes(connection, true,
                   frame(kHeaders, kHead, stream,
                         client.block({{":method", "POST"},
                                       {":scheme", "http"},
                                       {":path", path},
                                       {":authority", "x"},
                                       {"te", "trailers"},
                                       {"grpc-timeout", "1S"},
                                       {"x-filibuster", "1-0"},
                                       {"content-type", "application/grpc"}})) +
                       frame(kData, flags, stream, body));
  }
  void answer(uint32_t stream, std::string_view body, const std::string& status) {
    begin_answer(stream, body);
    records->bytes(connection, false,
                   frame(kHeaders, kHead | kEnd, stream, server.block({{"grpc-status", status}})));
  }
  void begin_answer(uint32_t stream, std::string_view body) {
    records->bytes(connection, false,
                   frame(kHeaders, kHead, stream,
                         server.block({{":status", "200"}, {"content-type", "application/grpc"}})) +
                       frame(kData, 0, stream, body));
  }
  Records* records;
  uint64_t connection;
  http2::Encoder client, server;
};

AssemblerOptions http2_options() {
  AssemblerOptions out;
  out.service = "orders";
  return out;
}

TEST(Http2Records, StreamsOfAConnectionAreToldApart) {
  for (const Mix mix : {Mix::kEventsFirst, Mix::kTapeFirst, Mix::kInTurns}) {
    for (const size_t split : {size_t{1}, size_t{7}, SIZE_MAX}) {
      Records records(split);
      Http2Side in(&records, 1, true), out(&records, 2, false, "pricing");
      in.ask(1, "/shop.Orders/Buy", kOneMessage);
      records.received(100, 1, 1);
      records.after_ms(1);
      records.issued(101, 2, 1, "pricing", "POST", "/shop.Prices/Get",
                     {100, 1, kRpcHttp2 | kRpcGrpc});
      out.ask(1, "/shop.Prices/Get", kOneMessage);
      records.issued(102, 2, 3, "pricing", "POST", "/shop.Prices/Tax",
                     {100, 1, kRpcHttp2 | kRpcGrpc});
      out.ask(3, "/shop.Prices/Tax", "");
      records.after_ms(1);
      out.answer(3, "", "5");
      records.finished(102);
      out.answer(1, kOneMessage, "0");
      records.finished(101);
      records.after_ms(1);
      in.answer(1, kOneMessage, "0");
      records.answered(100, 200);
      Assembler assembler(http2_options());
      const Assembled made = records.give(&assembler, mix);
      ASSERT_EQ(made.cases.size(), 1u);
      const cases::Case& value = made.cases[0].value;
      EXPECT_EQ(value.partial, "");
      EXPECT_TRUE(value.request.http2);
      EXPECT_EQ(value.request.headers, (cases::Headers{{"content-type", "application/grpc"}}))
          << "our field, those of the connection and what is left of a time are left out";
      EXPECT_EQ(value.request.body, kOneMessage);
      EXPECT_EQ(value.answer.trailers, (cases::Headers{{"grpc-status", "0"}}));
      ASSERT_EQ(value.calls.size(), 2u);
      EXPECT_EQ(value.calls[0].input.http.target, "/shop.Prices/Get");
      EXPECT_EQ(value.calls[0].answer.body, kOneMessage);
      EXPECT_EQ(value.calls[1].answer.trailers, (cases::Headers{{"grpc-status", "5"}}));
    }
  }
}

// The one call of a case whose stream ends as `end` says.
cases::Case with_call(const std::function<void(Records*, Http2Side*)>& end) {
  Records records;
  Http2Side out(&records, 2, false, "pricing");
  records.connection(1, true, StreamProtocol::kHttp1);
  records.bytes(1, true, http_request("GET /x"));
  records.received(100, 1, 1);
  records.issued(101, 2, 1, "pricing", "POST", "/shop.Prices/Watch",
                 {100, 1, kRpcHttp2 | kRpcGrpc});
  end(&records, &out);
  records.bytes(1, false, http_answer(200, "ok"));
  records.answered(100, 200);
  Assembler assembler(http2_options());
  return records.give(&assembler, Mix::kInTurns).cases.at(0).value;
}

TEST(Http2Records, AStreamThatTheServerResetsHasItsCode) {
  const cases::Case of = with_call([](Records* records, Http2Side* out) {
    out->ask(1, "/shop.Prices/Watch", kOneMessage);
    out->begin_answer(1, kOneMessage);
    records->bytes(2, false, frame(kRstStream, 0, 1, std::string("\0\0\0\x0b", 4)));
    records->finished(101, RpcOutcome::kReset, 0);
  });
  EXPECT_EQ(of.partial, "");
  EXPECT_EQ(of.calls.at(0).answer.ends, cases::Ends::kReset);
  EXPECT_EQ(of.calls[0].answer.stream_error, 11u);
  EXPECT_EQ(of.calls[0].answer.body, kOneMessage) << "and what came before";
}

TEST(Http2Records, AStreamThatItsCallerLeavesIsASilenceBehindWhatCame) {
  const cases::Case of = with_call([](Records* records, Http2Side* out) {
    out->ask(1, "/shop.Prices/Watch", kOneMessage);
    out->begin_answer(1, kOneMessage);
    records->bytes(2, true, frame(kRstStream, 0, 1, std::string("\0\0\0\x08", 4)));
    records->finished(101, RpcOutcome::kTimedOut, 0);
  });
  EXPECT_EQ(of.partial, "");
  EXPECT_TRUE(of.calls.at(0).answer.silence);
  EXPECT_FALSE(of.calls[0].answer.stream_error);
  EXPECT_EQ(of.calls[0].answer.body, kOneMessage);
}

TEST(Http2Records, ARequestThatIsNotSentToItsEndIsNotWhole) {
  const cases::Case of = with_call([](Records* records, Http2Side* out) {
    out->ask(1, "/shop.Prices/Watch", kOneMessage, 0);
    out->answer(1, kOneMessage, "0");
    records->bytes(2, false, frame(kRstStream, 0, 1, std::string(4, '\0')));
    records->finished(101);
  });
  EXPECT_EQ(of.partial,
            "its call to pricing (POST /shop.Prices/Watch): its request was not sent to its end");
}

TEST(Http2Records, AConnectionOfBeforeIsNotRead) {
  for (const auto from : {SeenFrom::kAMessage, SeenFrom::kTheMiddle}) {
    Records records;
    records.connection(1, true, StreamProtocol::kHttp2, "", from, 3);
    records.bytes(1, true, frame(kHeaders, kHead | kEnd, 7, "\x82\x86\x84"));
    records.entered(100, 1, 7, "GET", "/");
    records.answered(100, 200);
    Assembler assembler(http2_options());
    const Assembled made = records.give(&assembler, Mix::kInTurns);
    EXPECT_NE(made.cases.at(0).value.partial.find("joined in the middle"), std::string::npos);
  }
}

TEST(Http2Records, WhatIsOpenOnAConnectionHasABound) {
  AssemblerOptions options = http2_options();
  options.most_kept = 100'000;
  Assembler assembler(options);
  Records records;
  Http2Side in(&records, 1, true);
  in.ask(1, "/shop.Orders/Buy", "", 0);
  records.received(100, 1, 1);
  for (int i = 0; i < 20; ++i) records.bytes(1, true, frame(kData, 0, 1, std::string(16'000, 'x')));
  in.answer(1, kOneMessage, "0");
  records.answered(100, 200);
  const Assembled made = records.give(&assembler, Mix::kInTurns);
  EXPECT_NE(made.cases.at(0).value.partial.find("more was under way than is kept"),
            std::string::npos);
}

}  // namespace
}  // namespace filibuster::record
