#include <gtest/gtest.h>

#include "daemon/config/config.h"

namespace filibuster {
namespace {

ParsedConfig parse_service(const std::string& members) {
  return parse_config(R"({"version": 1, "tests": [{"name": "t", "command": "x"}],
"services": [{"name": "users", )" +
                          members + "}]}",
                      "f.json", "/d");
}

std::string error_of(const std::string& members) {
  const ParsedConfig parsed = parse_service(members);
  if (parsed.errors.empty()) return "";
  const ConfigError& error = parsed.errors[0];
  return std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.message;
}

TEST(Stubs, AServiceWithStubsHasAPortAndNoProcess) {
  const ParsedConfig parsed = parse_service(R"("stubs": [
  {"method": "GET", "path": "/users/7", "answer": {"json": {"name": "Ada"}}},
  {"method": "POST", "fields": {"/id": 7, "/a~1b": null}, "answer": [{"status": 503, "delay": "1s"}, {"text": "x", "headers": {"Content-Type": "a/b"}}]},
  {"grpc": "shop.Users/Get", "request": {"id": 1}, "answer": {"code": "NOT_FOUND", "status_message": "no"}}])");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  const ServiceConfig& users = parsed.config.services.at(0);
  EXPECT_TRUE(users.is_virtual);
  EXPECT_FALSE(users.is_by_hand());
  EXPECT_FALSE(users.is_followed());
  EXPECT_EQ(users.ports, (std::map<std::string, uint16_t>{{"users", 0}}));
  ASSERT_EQ(users.stubs.size(), 3u);
  EXPECT_EQ(users.stubs[0].name, "stub 1 of 'users' (line 3)");
  EXPECT_EQ(users.stubs[0].answers[0].body, R"({"name":"Ada"})");
  EXPECT_EQ(users.stubs[0].answers[0].headers[0].second, "application/json");
  EXPECT_EQ(users.stubs[1].fields[0].first, "/a~1b");
  EXPECT_EQ(users.stubs[1].answers[0].delay, std::chrono::seconds(1));
  EXPECT_EQ(users.stubs[1].answers[1].headers.size(), 1u);
  EXPECT_EQ(users.stubs[2].kind, stubs::Kind::kGrpc);
  EXPECT_EQ(users.stubs[2].answers[0].code, grpc::Code::kNotFound);
}

TEST(Stubs, OfRedisNameACommand) {
  const ParsedConfig parsed = parse_service(
      R"("protocol": "redis", "stubs": [{"method": "get", "path": "user:*", "answer": {"reply": null}}])");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  EXPECT_EQ(parsed.config.services[0].stubs[0].method, "GET");
}

TEST(Stubs, NoStubsAtAllAreAServiceThatNobodyMayCall) {
  const ParsedConfig parsed = parse_service(R"("stubs": [])");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  EXPECT_TRUE(parsed.config.services[0].is_virtual);
}

TEST(Stubs, ServeTlsWhereTheyAreToldToOrHaveANameAtItsPort) {
  const auto tls = [](const std::string& members) {
    const ParsedConfig parsed = parse_service(members);
    EXPECT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
    return parsed.config.services.at(0).tls;
  };
  EXPECT_FALSE(tls(R"("stubs": [])"));
  EXPECT_FALSE(tls(R"("stubs": [], "hosts": ["api.example.com", "api.example.com:80"])"));
  EXPECT_TRUE(tls(R"("stubs": [], "hosts": ["api.example.com:443"])"));
  EXPECT_FALSE(tls(R"("stubs": [], "hosts": ["api.example.com:443"], "tls": false)"));
  EXPECT_TRUE(tls(R"("tls": true, "stubs": [])"));
  EXPECT_FALSE(tls(R"("command": "x", "hosts": ["api.example.com:443"])"));
}

TEST(Stubs, ErrorsHaveTheirPlaces) {
  EXPECT_EQ(
      error_of(R"("command": "x", "tls": true)"),
      "2:48 'tls': service 'users' has a process, which decides that itself; the key is of services with 'stubs'");
  EXPECT_EQ(error_of(R"("command": "x", "stubs": [])"),
            "2:32 'command': service 'users' has no process ('stubs'); leave one of the two out");
  EXPECT_EQ(error_of(R"("stubs": [{"method": "GET"}])"), "2:42 a stub needs 'answer'");
  EXPECT_EQ(error_of(R"("stubs": [{"answer": {"reply": 1}}])"),
            "2:54 'reply': an answer of HTTP has 'status', 'headers', and 'json' or 'text'");
  EXPECT_EQ(error_of(R"("stubs": [{"grpc": "a.B/C", "answer": {"status": 200}}])"),
            "2:71 'status': an answer of gRPC has 'message', or 'code' and 'status_message'");
  EXPECT_EQ(error_of(R"("stubs": [{"answer": {"json": 1, "text": "x"}}])"),
            "2:65 an answer has 'json' or 'text', not both");
  EXPECT_EQ(error_of(R"("stubs": [{"grpc": "a.B/C", "answer": {"code": "NO"}}])"),
            "2:79 'code': 'NO' is no code of gRPC, as NOT_FOUND is");
  EXPECT_EQ(error_of(R"("stubs": [{"answer": []}])"),
            "2:53 'answer': a sequence of answers has at least one");
  EXPECT_EQ(error_of(R"("stubs": [{"fields": {"id": 1}, "answer": {}}])"),
            "2:54 'fields': expected a JSON pointer such as \"/user/id\", found 'id'");
  EXPECT_EQ(error_of(R"("stubs": [{"path": "users", "answer": {}}])"),
            "2:51 'path': expected a path such as \"/users/7\" or \"/users/*\"");
  EXPECT_EQ(error_of(R"("stubs": [{"answer": {"headers": {"a b": "c"}}}])"),
            "2:66 'headers': 'a b' is no header field");
  EXPECT_EQ(
      error_of(R"("stubs": [{"path": "/a", "answer": {}}, {"path": "/a", "answer": {}}])"),
      "2:72 stub 1 of 'users' (line 2) and stub 2 of 'users' (line 2) answer the same calls: give one of them other "
      "conditions, or one stub a sequence of answers");
  EXPECT_NE(error_of(R"("stubs": [{"answer": {"staus": 1}}])").find("did you mean 'status'?"),
            std::string::npos);
  EXPECT_NE(error_of(R"("protocol": "redis", "stubs": [{"grpc": "a.B/C", "answer": {}}])"), "");
}

}  // namespace
}  // namespace filibuster
