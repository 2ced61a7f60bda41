// Commands as requests of HTTP: placeholders, and what answers mean.
#include "daemon/property/http_commands.h"

#include <gtest/gtest.h>

#include "daemon/property/edn.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

std::string text(std::string_view with, const Json& value, bool encoded = false) {
  const auto filled = filled_text(with, value, "7", encoded);
  return filled ? filled.value() : "error: " + filled.error().message;
}

TEST(Placeholders, StandForTheValueAndItsMembers) {
  EXPECT_EQ(text("/items/${value}", 3), "/items/3");
  EXPECT_EQ(text("${value}", "a b"), "a b");
  EXPECT_EQ(text("${key}=${value}.", {{"key", "k"}, {"value", {1, 2}}}), "k=[1,2].");
  // All of a value that has no such member.
  EXPECT_EQ(text("${value}", {{"key", "k"}}), R"({"key":"k"})");
  EXPECT_EQ(text("${process} ${old} $ {} $x", {{"old", nullptr}}), "7 null $ {} $x");
  EXPECT_NE(text("${kye}", {{"key", "k"}}).find("there is no 'kye' in the value"),
            std::string::npos);
}

TEST(Placeholders, AreEncodedInAPath) {
  EXPECT_EQ(text("/a b/${value}", "x/y?z%\u00e9 ~", true), "/a b/x%2Fy%3Fz%25%C3%A9%20~");
}

TEST(Placeholders, AloneAreTheValueItselfInABody) {
  const Json body = {{"n", "${value}"}, {"t", "=${value}"}, {"${key}", {"${key}", 1, nullptr}}};
  const auto filled = filled_json(body, {{"key", "k"}, {"value", 3}}, "0");
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled.value(), Json({{"n", 3}, {"t", "=3"}, {"k", {"k", 1, nullptr}}}));
  EXPECT_EQ(filled_json("${value}", "a", "0").value(), Json("a"));
  EXPECT_EQ(filled_json("${value}${value}", 1, "0").value(), Json("11"));
  EXPECT_FALSE(filled_json({{"a", {"${b}"}}}, 1, "0"));
}

Json command(const Json& more = Json::object()) {
  Json out = {{"method", "PUT"}, {"path", "/items/${key}"}};
  out.update(more);
  return out;
}

TEST(HttpCommand, IsARequest) {
  const HttpCommand put(command({{"body", {{"value", "${value}"}}},
                                 {"headers", {{"X-Key", "${key}"}, {"A", "own"}}}}),
                        {{"A", "of all"}, {"B", "of all"}}, false);
  const auto request = put.request({{"key", "a b"}, {"value", 3}}, "0");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "PUT");
  EXPECT_EQ(request->path, "/items/a%20b");
  EXPECT_EQ(request->body, R"({"value":3})");
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"B", "of all"}, {"A", "own"}, {"X-Key", "a b"}, {"Content-Type", "application/json"}};
  EXPECT_EQ(request->headers, headers);
  // A value cannot make a header field of its own.
  const auto split = put.request({{"key", "a\r\nB: c"}, {"value", 3}}, "0");
  ASSERT_FALSE(split);
  EXPECT_NE(split.error().message.find("'X-Key' cannot have the value"), std::string::npos);
}

TEST(HttpCommand, HasTheTypeThatItIsGiven) {
  const HttpCommand put(command({{"text", "${value}"}, {"headers", {{"content-type", "a/b"}}}}),
                        Json::object(), false);
  const auto request = put.request({{"key", "k"}, {"value", "v"}}, "0");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->body, "v");
  ASSERT_EQ(request->headers.size(), 1u);
  const auto plain =
      HttpCommand(command({{"text", ""}}), Json::object(), false).request({{"key", "k"}}, "0");
  EXPECT_EQ(plain->headers.front().second, "text/plain; charset=utf-8");
  EXPECT_TRUE(
      HttpCommand(command(), Json::object(), false).request({{"key", "k"}}, "0")->headers.empty());
}

// {"ok": ...} as it is, else the word alone.
Json meaning(const Json& more, int status, const std::string& body = "", bool reads = false) {
  Json out = HttpCommand(command(more), Json::object(), reads).meaning(status, body);
  return out.contains("ok") ? out : Json(out.begin().key());
}

TEST(HttpCommand, AnAnswerMeansWhatItsStatusSays) {
  const Json statuses = {{"statuses",
                          {{"404", {{"ok", nullptr}}},
                           {"409", "fail"},
                           {"4xx", "info"},
                           {"202", "info"},
                           {"418", "ok"},
                           {"503", "info"},
                           {"5xx", "fail"}}}};
  const Json none = Json::object();
  const struct {
    const Json& said;
    int status;
    const char *write, *read;
  } rows[] = {{none, 200, "ok", "ok"},         {none, 204, "ok", "ok"},
              {none, 302, "info", "fail"},     {none, 404, "info", "fail"},
              {none, 500, "info", "fail"},     {none, 503, "fail", "fail"},
              {statuses, 404, "ok", "ok"},     {statuses, 409, "fail", "fail"},
              {statuses, 400, "info", "info"}, {statuses, 202, "info", "info"},
              {statuses, 418, "ok", "ok"},     {statuses, 503, "info", "info"},
              {statuses, 500, "fail", "fail"}};
  for (const auto& row : rows) {
    for (const bool reads : {false, true}) {
      SCOPED_TRACE(std::to_string(row.status) + (reads ? " read" : " write"));
      const std::string expected = reads ? row.read : row.write;
      const Json found = meaning(row.said, row.status, "", reads);
      EXPECT_EQ(found.is_object() ? "ok" : found.get<std::string>(), expected);
    }
  }
  const Json said =
      HttpCommand(command(), Json::object(), false).meaning(500, std::string(1000, 'x'));
  EXPECT_EQ(said["info"].get<std::string>(), "500: " + std::string(200, 'x'));
}

TEST(HttpCommand, TheAnswerIsWhatWasConfigured) {
  const auto ok = [](const Json& answer) { return Json{{"ok", answer}}; };
  EXPECT_EQ(meaning(Json::object(), 200, "anything"), ok(nullptr));
  EXPECT_EQ(meaning({{"answer", nullptr}}, 200, "1"), ok(nullptr));
  EXPECT_EQ(meaning({{"answer", "/a/0"}}, 200, R"({"a": [5]})"), ok(5));
  EXPECT_EQ(meaning({{"answer", "/99999999999999999999/-"}}, 200, "[1]"), Json("info"));
  EXPECT_EQ(meaning({{"answer", "/~01//"}}, 200, R"({"~1": {"": {"": 5}}})"), ok(5));
  EXPECT_EQ(meaning({{"answer", "/a/0/b"}}, 200, R"({"a": [5]})"), Json("info"));
  EXPECT_EQ(meaning({{"answer", "/a~1b"}}, 200, R"({"a/b": null})"), ok(nullptr));
  EXPECT_EQ(meaning({{"answer", "json"}}, 200, "[1]"), ok(Json::array({1})));
  EXPECT_EQ(meaning({{"answer", "text"}}, 200, "[1]"), ok("[1]"));
  EXPECT_EQ(meaning({{"answer", "status"}}, 201), ok(201));
  EXPECT_EQ(meaning({{"answer", {{"value", "x"}}}}, 200, "1"), ok("x"));
  // An answer that is not what was configured says nothing of what happened.
  const std::string deep(2 * kDeepestValue, '[');
  for (const std::string& body : {std::string(), std::string("{"), std::string("{}"),
                                  std::string(R"({"a": [1]})"), std::string("\xff"), deep}) {
    EXPECT_EQ(meaning({{"answer", "/a/1"}}, 200, body), Json("info")) << body;
    EXPECT_EQ(meaning({{"answer", "/a/1"}}, 200, body, true), Json("fail")) << body;
  }
}

TEST(HttpCommand, WhatWasNeverSentHasNoEffect) {
  const HttpCommand write(command(), Json::object(), false), read(command(), Json::object(), true);
  EXPECT_EQ(write.unanswered("why", true), Json({{"info", "why"}}));
  EXPECT_EQ(write.unanswered("why", false), Json({{"fail", "why"}}));
  EXPECT_EQ(read.unanswered("why", true), Json({{"fail", "why"}}));
}

}  // namespace
}  // namespace filibuster::property
