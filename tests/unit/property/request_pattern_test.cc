#include "daemon/property/request_pattern.h"

#include <gtest/gtest.h>

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

std::optional<Json> read(const Json& command, const ValueShape& shape, const std::string& method,
                         const std::string& path, const std::string& body = "") {
  stubs::Call call;
  call.method = method;
  call.path = path;
  call.body = body;
  if (!body.empty()) call.arguments = Json::parse(body, nullptr, false);
  const auto pattern = RequestPattern::make(command, shape);
  EXPECT_TRUE(pattern) << pattern.error().message;
  return pattern->match(call);
}

const ValueShape kKeyAndValue{std::vector<std::string>{"key", "value"}};

TEST(RequestPattern, ReadsWhatTheClientWrites) {
  const Json put = {
      {"method", "PUT"}, {"path", "/items/${key}"}, {"body", {{"count", "${value}"}}}};
  EXPECT_EQ(
      read(put, kKeyAndValue, "PUT", "/items/a%2Fb%20%C3%A9", R"({"count": {"of": 3}, "by": 1})"),
      Json({{"key", "a/b \u00e9"}, {"value", {{"of", 3}}}}));
  // Keys stay texts, also those that look like numbers.
  EXPECT_EQ(read(put, kKeyAndValue, "PUT", "/items/7?trace=1", R"({"count": "3"})"),
            Json({{"key", "7"}, {"value", "3"}}));
  for (const char* const path : {"/items", "/items/a/b", "/item/a", "/items/a/"})
    EXPECT_EQ(read(put, kKeyAndValue, "PUT", path, R"({"count": 1})"), std::nullopt) << path;
  EXPECT_EQ(read(put, kKeyAndValue, "POST", "/items/a", R"({"count": 1})"), std::nullopt);
  for (const char* const body : {"", "[]", "3", R"({"number": 1})"})
    EXPECT_EQ(read(put, kKeyAndValue, "PUT", "/items/a", body), std::nullopt) << body;
}

TEST(RequestPattern, ReadsQueriesAndTexts) {
  const Json add = {{"method", "POST"}, {"path", "/count?by=${value}&why=a+b"}};
  const ValueShape whole{std::vector<std::string>{"value"}};
  EXPECT_EQ(read(add, whole, "POST", "/count?why=a%20b&other&by=12"), Json(12));
  EXPECT_EQ(read(add, whole, "POST", "/count?by=12"), std::nullopt);
  EXPECT_EQ(read(add, whole, "POST", "/count?by=x%26y&why=a+b"), Json("x&y"));
  const Json say = {{"method", "POST"}, {"path", "/"}, {"text", "${value} by ${process};"}};
  EXPECT_EQ(read(say, whole, "POST", "/", "1 by 2 by 3;"), Json(1));
  EXPECT_EQ(read(say, {std::vector<std::string>{"value"}, true}, "POST", "/", "1 by 2;"),
            Json("1"));
  EXPECT_EQ(read(say, whole, "POST", "/", "1 by 2"), std::nullopt);
}

TEST(RequestPattern, WhatStandsTwiceIsEqual) {
  const Json move = {
      {"method", "POST"}, {"path", "/${key}/${key}"}, {"body", {"${key}", "= ${value}"}}};
  EXPECT_EQ(read(move, kKeyAndValue, "POST", "/a/a", R"(["a", "= 1"])"),
            Json({{"key", "a"}, {"value", 1}}));
  EXPECT_EQ(read(move, kKeyAndValue, "POST", "/a/b", R"(["a", "= 1"])"), std::nullopt);
  EXPECT_EQ(read(move, kKeyAndValue, "POST", "/a/a", R"(["b", "= 1"])"), std::nullopt);
  EXPECT_EQ(TextPattern("${a}${b}-${a}").match("xy-x"),
            (TextPattern::Members{{"a", "x"}, {"b", "y"}}));
}

// A program's values have what the request says.
TEST(RequestPattern, WithoutAShapeEverythingIsTaken) {
  const Json any = {{"method", "GET"}, {"path", "/${a}"}, {"body", {{"b", "${b}"}}}};
  EXPECT_EQ(read(any, {}, "GET", "/1", R"({"b": null})"), Json({{"a", 1}, {"b", nullptr}}));
  EXPECT_EQ(read({{"method", "GET"}, {"path", "/${value}"}}, {}, "GET", "/x"), Json("x"));
  EXPECT_EQ(read({{"method", "GET"}, {"path", "/"}}, {}, "GET", "/"), Json());
}

TEST(RequestPattern, ARequestThatDoesNotSayTheValueIsRefused) {
  const Json put = {
      {"method", "PUT"}, {"path", "/"}, {"headers", {{"X-Key", "${key}"}}}, {"body", "${value}"}};
  const auto pattern = RequestPattern::make(put, kKeyAndValue);
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().message, "neither its path nor its body has ${key}");
  EXPECT_FALSE(RequestPattern::make(
      {{"method", "PUT"}, {"path", "/"}, {"body", {{"${key}", "${value}"}}}}, kKeyAndValue));
}

TEST(AnswerWith, IsWhatTheClientReads) {
  stubs::Answer base;
  base.status = 201;
  base.body = R"({"by": "me", "items": [1, 2]})";
  EXPECT_EQ(answer_with({{"answer", "/items/0"}}, 7, base).body, R"({"by":"me","items":[7,2]})");
  EXPECT_EQ(answer_with({{"answer", "/a~1b/0/c"}}, "x", {}).body, R"({"a/b":[{"c":"x"}]})");
  EXPECT_EQ(answer_with({{"answer", "json"}}, Json::array({1}), {}).body, "[1]");
  EXPECT_EQ(answer_with({{"answer", "text"}}, "a\"", {}).body, "a\"");
  EXPECT_EQ(answer_with({{"answer", "status"}}, 204, base).status, 204);
  EXPECT_EQ(answer_with({{"answer", {{"value", true}}}}, true, base).status, 201);
  const Json refused = {{"statuses", {{"4xx", {{"ok", false}}}, {"404", {{"ok", nullptr}}}}}};
  EXPECT_EQ(answer_with(refused, false, base).status, 400);
  EXPECT_EQ(answer_with(refused, nullptr, base).status, 404);
  EXPECT_EQ(answer_with(refused, nullptr, base).body, "");
  EXPECT_EQ(answer_with(refused, true, base).status, 201);
}

}  // namespace
}  // namespace filibuster::property
