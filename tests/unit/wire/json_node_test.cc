#include "daemon/wire/json_node.h"

#include <gtest/gtest.h>

#include "daemon/wire/body_form.h"

namespace filibuster::wire {
namespace {

constexpr size_t kDeep = 24;

// Bodies as libraries print them.
constexpr std::string_view kBodies[] = {
    R"({"a":1,"b":[true,null,"x"],"c":{}})",
    R"({"a": 1, "b": [true, null, "x"], "c": {}})",
    "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}",
    "{\n    \"a\": {\n        \"b\": 1.50\n    }\n}",
    "{\"a\":1}\n",
    "[]",
    "[1e3,-0,0.10,12345678901234567890123]",
    R"({"a":1,"a":2})",
    R"({"text":"\u00e9 \/ \" é"})",
};

TEST(JsonNode, TheVeryBytesComeBack) {
  for (const std::string_view body : kBodies) {
    const BodyForm form = body_form(body);
    ASSERT_EQ(form.kind, BodyKind::kJson) << body;
    EXPECT_EQ(print_json(form.json, form.style), body);
    EXPECT_EQ(find_json_style(json_style_name(form.style)), form.style);
  }
}

TEST(JsonNode, WhatIsPrintedInAnotherStyleIsAText) {
  for (const std::string_view body : {R"({ "a":1})", "{\"a\":1}\r\n", "{\"a\":1}\n\n",
                                      R"({"a" : 1})", "7", "\"x\"", "{\"a\":}", "{"}) {
    EXPECT_EQ(body_form(body).kind, BodyKind::kText) << body;
    EXPECT_EQ(json_token_text(body_form(body).token), body);
  }
}

TEST(JsonNode, BytesThatAreNoTextAreBytes) {
  EXPECT_EQ(body_form("\xff").kind, BodyKind::kBytes);
  EXPECT_EQ(body_form("{\"a\":\"\xff\"}").kind, BodyKind::kBytes);
  EXPECT_EQ(body_form("").kind, BodyKind::kEmpty);
  EXPECT_EQ(body_form(std::string_view("a\0b", 3)).kind, BodyKind::kText);
  EXPECT_EQ(body_form(std::string_view("{}\0", 3)).kind, BodyKind::kText);
}

TEST(JsonNode, DepthIsBounded) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json_node(nested(kDeep), kDeep));
  EXPECT_FALSE(parse_json_node(nested(kDeep + 1), kDeep));
  EXPECT_FALSE(parse_json_node(nested(1'000'000), kDeep));
}

TEST(JsonNode, AValueIsCutOutOfATextWhereverItBegins) {
  const std::string text = R"({"a": [1, {"b": "]}"}], "c" :7, "d": "x\"y"})";
  EXPECT_EQ(json_value_at(text, text.find('[')), R"([1, {"b": "]}"}])");
  EXPECT_EQ(json_value_at(text, text.find('7')), "7");
  EXPECT_EQ(json_value_at(text, text.find("\"x")), R"("x\"y")");
  EXPECT_EQ(json_value_at(text, 0), text);
}

TEST(JsonNode, TextsOfTokensAreDecoded) {
  EXPECT_EQ(json_token_text(R"("\u00e9\n")"), "é\n");
  EXPECT_EQ(json_token_text("1.50"), "1.50");
  EXPECT_EQ(json_token("a\"\n"), R"("a\"\n")");
  EXPECT_FALSE(json_token("\xc3"));
}

}  // namespace
}  // namespace filibuster::wire
