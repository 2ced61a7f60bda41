#include "daemon/wire/resp_value.h"

#include <gtest/gtest.h>

namespace filibuster::wire {
namespace {

using Json = nlohmann::json;
using RespSide = RespReader::Direction;

std::vector<RespMessage> read_all(RespSide direction, std::string_view bytes, size_t step) {
  RespReader reader(direction);
  std::vector<RespMessage> out;
  uint64_t time = 0;
  for (size_t at = 0; at < bytes.size(); at += step) {
    for (RespMessage& each : reader.feed(std::string(bytes.substr(at, step)), ++time))
      out.push_back(std::move(each));
  }
  return out;
}

Json one(RespSide direction, std::string_view bytes) {
  const auto all = read_all(direction, bytes, bytes.size());
  return all.size() == 1 ? all[0].value : Json("not one message");
}

struct Form {
  std::string_view bytes;
  std::string_view json;
  int version = 2;
};
constexpr Form kForms[] = {
    {"$5\r\nhello\r\n", R"("hello")"},
    {"$0\r\n\r\n", R"("")"},
    {"$2\r\n\xff\xfe\r\n", R"({"bytes":"//4="})"},
    {":7\r\n", "7"},
    {":-9223372036854775808\r\n", "-9223372036854775808"},
    {"$-1\r\n", "null"},
    {"_\r\n", "null", 3},
    {"*-1\r\n", R"({"null":"array"})"},
    {"*0\r\n", "[]"},
    {"*3\r\n$1\r\na\r\n:1\r\n*1\r\n$-1\r\n", R"(["a",1,[null]])"},
    {"+OK\r\n", R"({"status":"OK"})"},
    {"-ERR no\r\n", R"({"error":"ERR no"})"},
    {"-\xff\r\n", R"({"error":{"bytes":"/w=="}})"},
    {"%2\r\n+a\r\n:1\r\n*1\r\n:2\r\n$1\r\nb\r\n", R"({"map":[[{"status":"a"},1],[[2],"b"]]})", 3},
    {"~2\r\n:1\r\n:2\r\n", R"({"set":[1,2]})", 3},
    {">2\r\n$7\r\nmessage\r\n:1\r\n", R"({"push":["message",1]})", 3},
    {",1.50\r\n", R"({"double":"1.50"})", 3},
    {",-inf\r\n", R"({"double":"-inf"})", 3},
    {"(123456789012345678901234567890\r\n", R"({"big":"123456789012345678901234567890"})", 3},
    {"#t\r\n", R"({"boolean":true})", 3},
    {"=7\r\ntxt:abc\r\n", R"({"verbatim":"txt:abc"})", 3},
    {"!5\r\nERR x\r\n", R"({"bulk_error":"ERR x"})", 3},
};

TEST(RespValue, EachFormIsReadAndComesBack) {
  for (const Form& form : kForms) {
    const Json value = one(RespSide::kReplies, form.bytes);
    EXPECT_EQ(value, Json::parse(form.json)) << form.bytes;
    EXPECT_EQ(resp_reply_bytes(value, form.version), form.bytes);
    EXPECT_EQ(wrong_resp_value(value), "") << form.json;
  }
}

TEST(RespValue, RepliesAreTheSameUnderEverySplit) {
  std::string stream;
  for (const Form& form : kForms) stream += form.bytes;
  for (size_t step = 1; step <= stream.size(); ++step) {
    const auto all = read_all(RespSide::kReplies, stream, step);
    ASSERT_EQ(all.size(), std::size(kForms)) << step;
    uint64_t number = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].value, Json::parse(kForms[i].json));
      EXPECT_EQ(all[i].number, kForms[i].bytes[0] == '>' ? 0 : ++number);
    }
  }
}

TEST(RespValue, AttributesBelongToTheValueBehindThem) {
  EXPECT_EQ(one(RespSide::kReplies, "|1\r\n+ttl\r\n:9\r\n$1\r\na\r\n"), "a");
}

TEST(RespValue, CommandsAreTheSameUnderEverySplit) {
  constexpr std::string_view kStream =
      "*2\r\n$3\r\nGET\r\n$7\r\nprice:7\r\n\r\n*0\r\nSET a \"b \\x41\\n\" 'c\\'d'\r\n"
      "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\xff\r\r\n";
  for (size_t step = 1; step <= kStream.size(); ++step) {
    const auto all = read_all(RespSide::kCommands, kStream, step);
    ASSERT_EQ(all.size(), 3u) << step;
    EXPECT_EQ(all[0].value, Json::parse(R"(["GET","price:7"])"));
    EXPECT_EQ(all[1].value, Json::parse(R"(["SET","a","b A\n","c'd"])"));
    EXPECT_EQ(all[2].value, Json::parse(R"(["SET","k",{"bytes":"/w0="}])"));
    EXPECT_EQ(all[2].number, 3u);
  }
}

TEST(RespValue, TimesAreThoseOfTheFirstAndTheLastByte) {
  RespReader reader(RespSide::kCommands);
  reader.feed("*1\r\n$4\r\nPI", 3);
  const auto all = reader.feed("NG\r\n*1\r\n", 8);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].begun_ns, 3u);
  EXPECT_EQ(all[0].ended_ns, 8u);
  EXPECT_EQ(reader.feed("$4\r\nPING\r\n", 12).at(0).begun_ns, 8u);
  EXPECT_TRUE(reader.between());
}

TEST(RespValue, WhatIsTooLargeOrTooDeepSaysSoAndTheNextOneIsRead) {
  RespReader reader(RespSide::kReplies);
  const std::string large(kMostRespBytes, 'x');
  reader.feed("$" + std::to_string(large.size()) + "\r\n", 1);
  reader.feed(large, 2);
  const auto all = reader.feed("\r\n:1\r\n", 3);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].too_large);
  EXPECT_EQ(all[1].value, 1);
  std::string deep;
  for (size_t i = 0; i < kMostRespDepth + 2; ++i) deep += "*1\r\n";
  const auto nested = RespReader(RespSide::kReplies).feed(deep + ":1\r\n", 1);
  ASSERT_EQ(nested.size(), 1u);
  EXPECT_TRUE(nested[0].too_large);
}

TEST(RespValue, WhatIsNoRespIsNotGuessed) {
  RespReader reader(RespSide::kReplies);
  EXPECT_TRUE(reader.feed("HTTP/1.1 200 OK\r\n", 1).empty());
  EXPECT_NE(reader.problem(), nullptr);
}

TEST(RespValue, CommandsComeBack) {
  EXPECT_EQ(resp_command_bytes(Json::parse(R"(["SET","k",{"bytes":"/w0="}])")),
            "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\xff\r\r\n");
}

TEST(RespValue, ValuesThatSayNothingAreNamed) {
  for (const std::string_view wrong :
       {R"({"status":1})", R"({"status":"a\nb"})", R"({"other":"x"})", "1.5", R"({"bytes":"*"})",
        R"({"map":[[1]]})", R"([{"double":"x"}])", "18446744073709551615", "true"})
    EXPECT_NE(wrong_resp_value(Json::parse(wrong)), "") << wrong;
}

}  // namespace
}  // namespace filibuster::wire
