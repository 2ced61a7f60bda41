// Calls of gRPC in a case: messages, streams in turns, streams that are reset.
#include <gtest/gtest.h>

#include "daemon/cases/case_file.h"
#include "daemon/cases/grpc_body.h"
#include "daemon/cases/messages.h"
#include "tests/unit/cases/recipe.h"

namespace filibuster::cases {
namespace {

constexpr uint64_t kStep = 20'000'000;  // twice the least gap
const Headers kGrpcHeaders = {{"content-type", "application/grpc"}};

std::string framed(const std::vector<std::string>& messages) {
  std::string out;
  for (const std::string& each : messages) put_grpc_message(each, &out);
  return out;
}

Case grpc_case() {
  Case out = order_case();
  out.request.http2 = true;
  Call& call = out.calls[1];
  call.input.http = {"POST", "/shop.Prices/Watch", kGrpcHeaders, framed({"one", "two"}), "", true};
  call.answer.headers = kGrpcHeaders;
  call.answer.body = framed({"a", "", "ccc"});
  call.answer.trailers = {{"grpc-status", "0"}};
  call.answer.pieces = {{6, 0, 1}, {13, 250, {}}};
  return out;
}

ReadCase read_text(const std::string& text) {
  return read_case(
      text, "cases/x.json", [](const std::string&) { return std::nullopt; }, Seal::kIgnored);
}

TEST(GrpcCase, MessagesStandInTheFileOneByOne) {
  const Case of = grpc_case();
  const std::string text = write_case(of, "9a1c").text;
  EXPECT_NE(text.find(R"("messages": ["b25l", "dHdv"])"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("messages": ["YQ==", "", "Y2Nj"])"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("pieces": [[1, 0, 1], [2, 250]])"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("protocol": "http2")"), std::string::npos) << text;
  EXPECT_TRUE(read_text(text).value == of);
}

TEST(GrpcCase, WhatIsNotWholeMessagesIsBytes) {
  Case of = grpc_case();
  of.calls[1].answer.pieces.clear();
  for (const std::string& body :
       {std::string("\1\0\0\0\1\xff", 6), framed({"\xff\xff"}).substr(0, 6)}) {
    of.calls[1].answer.body = body;
    const WrittenFile file = write_case(of, "9a1c");
    ASSERT_EQ(file.beside.size(), 1u);
    EXPECT_EQ(file.beside[0].second, body);
  }
}

TEST(GrpcCase, AStreamThatIsResetSaysWhy) {
  Case of = grpc_case();
  of.calls[1].answer.ends = Ends::kReset;
  for (const uint32_t code : {8u, 0u, 1000u}) {
    of.calls[1].answer.stream_error = code;
    const ReadCase read = read_text(write_case(of, "9a1c").text);
    EXPECT_TRUE(read.value == of) << code;
  }
  EXPECT_NE(write_case(grpc_case(), "x").text, write_case(of, "x").text);
}

TEST(GrpcCase, MistakesAreNamed) {
  const std::string good = write_case(grpc_case(), "9a1c").text;
  const auto error = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const ReadCase read = read_text(text);
    return read.errors.empty() ? "none" : read.errors[0].message;
  };
  EXPECT_EQ(error("\"b25l\"", "\"?\""), "'messages': expected the bytes of a message in base64");
  EXPECT_EQ(error("[2, 250]", "[3, 250]"), "'pieces' do not have as many messages as 'messages'");
  EXPECT_EQ(error("[2, 250]", "[1, 250]"), "'pieces' do not have as many messages as 'messages'");
  EXPECT_NE(error("\"http2\"", "\"http3\"").find("'protocol'"), std::string::npos);
  EXPECT_NE(error("\"pieces\"", "\"stream_error\": \"CANCEL\", \"pieces\"").find("'ends'"),
            std::string::npos);
}

TEST(GrpcCase, MessagesAreComparedOneByOne) {
  const Rules rules;
  CallInput recorded = grpc_case().calls[1].input, now = recorded;
  now.http.body = framed({"one", "twO"});
  EXPECT_EQ(to_text(differences(input_fields(recorded, rules), input_fields(now, rules))),
            "/messages/1: \"dHdP\", not \"dHdv\"");
  now.http.body = recorded.http.body;
  now.http.http2 = false;
  EXPECT_TRUE(differences(input_fields(recorded, rules), input_fields(now, rules)).empty())
      << "how it is sent is not what it says";
}

// Messages of one byte, at these times.
wire::HttpMessage stream(std::initializer_list<uint64_t> times) {
  wire::HttpMessage out;
  out.major = 2;
  out.headers = kGrpcHeaders;
  for (const uint64_t time : times) {
    const std::string message = framed({"x"});
    add_to_body(&out, message.data(), message.size(), time * kStep);
  }
  return out;
}

TEST(GrpcCase, AnswersThatComeInTurnsSayWhatTheyHaveWaitedFor) {
  wire::HttpMessage request = stream({1, 3, 5});
  request.ended_ns = 5 * kStep;
  wire::HttpMessage answer = stream({2, 4, 5, 6});
  answer.status = 200;
  answer.head_ns = 2 * kStep;
  EXPECT_EQ(answer_of(answer, &request).pieces,
            (std::vector<Piece>{{6, 0, 1}, {6, 20, 2}, {6, 0, {}}, {6, 20, {}}}));
  request.ended_ns = 7 * kStep;
  EXPECT_EQ(answer_of(answer, &request).pieces,
            (std::vector<Piece>{{6, 0, 1}, {6, 20, 2}, {6, 0, 3}, {6, 20, 3}}))
      << "its client ends the request when it has the last answer";
}

TEST(GrpcCase, AnswersThatComeBehindTheWholeRequestAreNoTurns) {
  const wire::HttpMessage request = stream({1, 2});
  wire::HttpMessage answer = stream({3, 3, 3});
  answer.head_ns = 3 * kStep;
  EXPECT_TRUE(answer_of(answer, &request).pieces.empty());
  answer = stream({3, 4});
  answer.head_ns = 3 * kStep;
  EXPECT_EQ(answer_of(answer, &request).pieces, (std::vector<Piece>{{6, 0, {}}, {6, 20, {}}}));
}

}  // namespace
}  // namespace filibuster::cases
