#include <gtest/gtest.h>

#include "core/grpc/call.h"
#include "core/grpc/response.h"
#include "tests/unit/core/grpc/message_trace.h"
#include "tests/unit/core/http2/connection_trace.h"
#include "tests/unit/core/http2/peer.h"
#include "tests/unit/core/http2/wire.h"

namespace filibuster::grpc {
namespace {

std::string message(std::string_view bytes, bool compressed = false) {
  char prefix[kPrefixSize];
  write_prefix(compressed, static_cast<uint32_t>(bytes.size()), prefix);
  return std::string(prefix, sizeof prefix) + std::string(bytes);
}

TEST(Messages, EverySplitGivesTheSame) {
  const std::string bytes = message("one") + message("") + message("three", true) + message("4");
  const std::vector<TracedMessage> expected = {{0, false, 3, 0, "one", true},
                                               {1, false, 0, 8, "", true},
                                               {2, true, 5, 13, "three", true},
                                               {3, false, 1, 23, "4", true}};
  http2::for_every_split(bytes, [&](const http2::Parts& pieces) {
    MessageTracer t;
    for (std::string_view piece : pieces) EXPECT_TRUE(t.feed(piece));
    ASSERT_EQ(t.messages, expected);
    ASSERT_TRUE(t.reader.between_messages());
    ASSERT_EQ(t.reader.messages(), 4u);
  });
}

TEST(Messages, CutShortIsSeen) {
  for (size_t size : {1, 4, 5, 7}) {
    MessageTracer t;
    t.feed(message("abc").substr(0, size));
    EXPECT_FALSE(t.reader.between_messages()) << size;
    EXPECT_EQ(t.reader.messages(), 0u);
  }
  EXPECT_TRUE(MessageTracer().reader.between_messages());
}

TEST(Messages, ALengthOf4GiBIsOnlyCounted) {
  MessageTracer t;
  EXPECT_TRUE(
      t.feed(std::string("\0\xff\xff\xff\xff"
                         "ab",
                         7)));
  EXPECT_EQ(t.messages.at(0).size, 0xffffffffu);
  EXPECT_FALSE(t.reader.between_messages());
}

TEST(Messages, AnotherFlagIsNotGrpc) {
  MessageTracer t;
  EXPECT_FALSE(t.feed(message("one") + "\x02"));
  EXPECT_TRUE(t.reader.failed());
  EXPECT_FALSE(t.feed(message("two")));
  EXPECT_EQ(t.messages.size(), 1u);
  EXPECT_FALSE(t.reader.between_messages());
}

TEST(Calls, ContentTypesOfGrpc) {
  for (const char* type : {"application/grpc", "application/grpc+proto", "application/grpc+json",
                           "application/grpc;charset=utf-8", "Application/gRPC"}) {
    EXPECT_TRUE(is_grpc(type)) << type;
  }
  for (const char* type : {"", "application/grp", "application/json", "application/grpc-web",
                           "application/grpcx", "text/application/grpc"}) {
    EXPECT_FALSE(is_grpc(type)) << type;
  }
}

TEST(Calls, ServiceAndMethod) {
  EXPECT_EQ(split_path("/shop.CartService/GetCart"), (Method{"shop.CartService", "GetCart"}));
  EXPECT_EQ(split_path("/S/M"), (Method{"S", "M"}));
  EXPECT_EQ(split_path("/a/b/C"), (Method{"a/b", "C"}));  // some servers nest them
  for (const char* path : {"", "/", "/a", "//a", "/a/", "a/b", "*", "//"}) {
    EXPECT_FALSE(split_path(path)) << path;
  }
}

TEST(Calls, Codes) {
  for (size_t i = 0; i < kCodes; ++i) {
    const auto code = static_cast<Code>(i);
    EXPECT_EQ(parse_code(to_name(code)), code);
    EXPECT_EQ(parse_code(std::to_string(i)), code);
    EXPECT_EQ(parse_status(std::to_string(i)), code);
  }
  EXPECT_EQ(to_name(Code::kUnavailable), "UNAVAILABLE");
  EXPECT_EQ(to_name(static_cast<Code>(77)), "UNKNOWN");
  for (const char* text : {"", "17", "-1", "unavailable", "014", "1 "}) {
    EXPECT_FALSE(parse_code(text)) << text;
    EXPECT_EQ(parse_status(text), Code::kUnknown) << text;
  }
  EXPECT_EQ(parse_status("OK"), Code::kUnknown) << "only numbers are sent";
  EXPECT_EQ(code_of_http_status(503), Code::kUnavailable);
  EXPECT_EQ(code_of_http_status(404), Code::kUnimplemented);
  EXPECT_EQ(code_of_http_status(200), Code::kUnknown);
}

TEST(Calls, MessagesArePercentEncoded) {
  const auto decoded = [](std::string_view text, size_t capacity = 100) {
    char out[100];
    return std::string(out, decode_message(text, out, capacity));
  };
  const auto encoded = [](std::string_view text, size_t capacity = 100) {
    char out[100];
    return std::string(out, encode_message(text, out, capacity));
  };
  EXPECT_EQ(decoded("caf%C3%a9 100%25"), "café 100%");
  EXPECT_EQ(decoded("50% of %zz and %4"), "50% of %zz and %4");
  EXPECT_EQ(decoded("%41%42%43", 2), "AB");
  EXPECT_EQ(encoded("café 100%\n~"), "caf%C3%A9 100%25%0A~");
  EXPECT_EQ(encoded("ab\n", 4), "ab");
  std::string all;
  for (int i = 0; i < 256; i += 8) all += static_cast<char>(i);
  EXPECT_EQ(decoded(encoded(all)), all);
}

// --- answers that no server gave -----------------------------------------------------------------

class GrpcAnswers : public ::testing::Test {
 protected:
  GrpcAnswers() {
    t.requests(http2::client_start() +
               http2::frame(http2::FrameType::kHeaders, 5, 1, client.block({{":method", "POST"}})));
    t.responses(http2::settings());
    t.keep_fields = true;
    t.take();
  }
  void server_sends_head() {
    http2::Encoder server;
    t.responses(
        http2::frame(http2::FrameType::kHeaders, 4, 1,
                     server.block({{":status", "200"}, {"content-type", "application/grpc"}})));
  }
  // What a client that never heard of us reads.
  std::string read() {
    EXPECT_TRUE(out.ok());
    EXPECT_EQ(t.responses(out.view()), http2::Error::kNone);
    std::string text;
    for (std::string& line : t.take()) {
      if (const size_t at = line.find(" @"); at != std::string::npos) line.resize(at);
      text += line + "\n";
    }
    return text;
  }
  http2::Encoder client;
  http2::ConnectionTracer t;
  char memory[20000];
  http2::Output out{memory, sizeof memory};
};

TEST_F(GrpcAnswers, TrailersOnly) {
  write_status(1, {Code::kUnavailable, "out: 5%", "\x01\x02\xff\xfe"}, true, {}, 16384, out);
  EXPECT_EQ(read(), "response 1 application/grpc 200 grpc=14:out: 5%25\n< end 1\nclosed 1\n");
  EXPECT_EQ(t.fields[1].back(),
            (std::pair<std::string, std::string>("grpc-status-details-bin", "AQL//g")));
}

TEST_F(GrpcAnswers, AHeadOfTheServerAndAStatus) {
  server_sends_head();
  write_status(1, {Code::kInternal, "", ""}, false, {}, 16384, out);
  EXPECT_EQ(read(), "response 1 application/grpc 200\n< trailers 1 grpc=13:\n< end 1\nclosed 1\n");
}

TEST_F(GrpcAnswers, LongBlocksAreCutIntoFrames) {
  server_sends_head();
  write_status(1, {Code::kInternal, std::string(300, 'y'), ""}, false, {}, 100, out);
  EXPECT_NE(read().find("grpc=13:" + std::string(300, 'y')), std::string::npos);
}

TEST_F(GrpcAnswers, AnOwedTableSizeUpdateGoesFirstAndTheServersMayFollow) {
  http2::Encoder server;
  t.requests(http2::settings(http2::setting(1, 0)));
  t.responses(http2::settings_ack() + http2::settings_ack());
  t.requests(http2::frame(http2::FrameType::kHeaders, 5, 3, client.block({{":method", "GET"}})));
  t.take();
  write_status(1, {Code::kInternal, "", ""}, true, 0, 16384, out);
  EXPECT_EQ(read(), "response 1 application/grpc 200 grpc=13:\n< end 1\nclosed 1\n");
  server.change_table_size(0);
  t.responses(http2::frame(http2::FrameType::kHeaders, 5, 3, server.block({{":status", "200"}})));
  EXPECT_EQ(t.lines.back(), "closed 3");
}

TEST_F(GrpcAnswers, FramesOfTheConnection) {
  using http2::ErrorCode;
  http2::write_settings({{http2::SettingId::kMaxFrameSize, 20000}}, out);
  http2::write_window_update(1, 7, out);
  http2::write_goaway(1, ErrorCode::kNoError, "retired", out);
  http2::write_reset(1, ErrorCode::kRefusedStream, out);
  EXPECT_EQ(read(), "< goaway 1 0\n< reset 1 7\nclosed 1\n");
  EXPECT_EQ(t.view->settings_for(http2::Direction::kRequests).max_frame_size, 20000u);
}

TEST_F(GrpcAnswers, WhatDoesNotFitFails) {
  write_status(1, {Code::kInternal, std::string(9000, 'x'), ""}, true, {}, 16384, out);
  EXPECT_FALSE(out.ok());
  http2::Output other(memory, sizeof memory);
  write_status(1, {Code::kInternal, "", std::string(9000, 'x')}, true, {}, 16384, other);
  EXPECT_FALSE(other.ok());
}

}  // namespace
}  // namespace filibuster::grpc
