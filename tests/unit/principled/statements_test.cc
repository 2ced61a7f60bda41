// What blocks state: keys, and each statement in its block.
#include "daemon/principled/statements.h"

#include <gtest/gtest.h>

namespace filibuster::principled {
namespace {

using Json = nlohmann::json;

stubs::Call http_call(const std::string& method, const std::string& path,
                      Json arguments = nullptr) {
  stubs::Call out;
  out.service = "users";
  out.method = method;
  out.path = path;
  out.arguments = std::move(arguments);
  return out;
}
Key key_of(const Json& json) {
  auto read = read_key(json);
  EXPECT_TRUE(read) << read.error().message;
  return read ? std::move(read).value() : Key{};
}

TEST(Key, NamesCallsByWordsAndByMembers) {
  EXPECT_TRUE(names_call(key_of("GET /users/7"), http_call("GET", "/users/7?full=1")));
  EXPECT_FALSE(names_call(key_of("GET /users/7"), http_call("GET", "/users/8")));
  EXPECT_TRUE(names_call(key_of("GET /users/*"), http_call("GET", "/users/8")));
  EXPECT_TRUE(names_call(key_of({{"service", "users"}}), http_call("POST", "/anything")));
  EXPECT_FALSE(names_call(key_of({{"service", "movies"}}), http_call("POST", "/anything")));
  EXPECT_TRUE(names_call(key_of({{"method", "POST"}, {"fields", {{"/name", "Bob"}}}}),
                         http_call("POST", "/users", {{"name", "Bob"}, {"age", 7}})));
  EXPECT_FALSE(names_call(key_of({{"method", "POST"}, {"request", {{"name", "Bob"}}}}),
                          http_call("POST", "/users", {{"name", "Bob"}, {"age", 7}})));
}

TEST(Key, AFieldMayStandWithoutItsSlash) {
  EXPECT_TRUE(names_call(key_of({{"method", "POST"}, {"fields", {{"name", "Bob"}}}}),
                         http_call("POST", "/users", {{"name", "Bob"}})));
}

TEST(Key, FaultsAreCompared) {
  const SeenCall seen{http_call("GET", "/users/7"), "status:503"};
  EXPECT_TRUE(matches(key_of("GET /users/7"), seen));
  EXPECT_TRUE(matches(key_of({{"method", "GET"}, {"fault", "503"}}), seen));
  EXPECT_FALSE(matches(key_of({{"method", "GET"}, {"fault", "timeout"}}), seen));
}

TEST(Key, WhatIsWrongIsNamed) {
  for (const Json& wrong :
       {Json("users"), Json(7), Json{{"grpc", "a b"}}, Json{{"metod", "GET"}},
        Json{{"method", "GET"}, {"fault", "no such"}}, Json{{"grpc", "s.S/M"}, {"path", "/x"}},
        Json::object(), Json{{"method", "GET"}, {"fields", {{"/a~", 1}}}}}) {
    const auto read = read_key(wrong);
    EXPECT_FALSE(read) << wrong;
    EXPECT_FALSE(!read && read.error().message.empty()) << wrong;
  }
}

Statements::Readers readers() {
  Statements::Readers out;
  out.stub = [](const std::string& service, const Json&) -> Result<stubs::Stub> {
    if (service != "users") return Error{"no such service"};
    return stubs::Stub{};
  };
  return out;
}

std::vector<std::string> kinds(Block block, const Json& statement) {
  Statements statements;
  std::vector<std::string> out;
  for (const Diagnostic& each : statements.read(block, {statement}, readers())) {
    out.emplace_back(diagnostic_name(each.kind));
    EXPECT_EQ(each.at, statement.value("at", ""));
  }
  return out;
}

// Each statement, and the blocks to which it belongs.
struct Row {
  Json statement;
  std::vector<Block> blocks;
};
const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {{{"api", "stub_for"}, {"service", "users"}, {"stub", Json::object()}}, {Block::kStub}},
      {{{"api", "verify_that"}, {"key", "GET /a"}, {"times", 1}}, {Block::kAssertStubs}},
      {{{"api", "assert_fault_throws"}, {"keys", {"GET /a"}}, {"code", 503}}, {Block::kFailure}},
      {{{"api", "assert_fault_propagates"}, {"keys", {"GET /a"}}}, {Block::kFailure}},
      {{{"api", "assert_fault_has_no_impact"}, {"keys", {"GET /a"}}}, {Block::kFailure}},
      {{{"api", "assert_on_fault"}, {"keys", {"GET /a"}}, {"specification", 0}}, {Block::kFailure}},
      {{{"api", "assert_on_exception"}, {"code", "INTERNAL"}, {"specification", 0}},
       {Block::kFailure}},
      {{{"api", "read_only_rpc"}, {"key", "GET /a"}},
       {Block::kOnException, Block::kOnFault, Block::kAssertStubs}},
      {{{"api", "side_effecting_rpc"}, {"key", "GET /a"}, {"times", 0}},
       {Block::kOnException, Block::kOnFault}}};
  return all;
}

TEST(Statements, EachBelongsToItsBlocks) {
  for (const Row& row : rows()) {
    for (int i = 0; i <= static_cast<int>(Block::kOnException); ++i) {
      const auto block = static_cast<Block>(i);
      const bool belongs =
          std::find(row.blocks.begin(), row.blocks.end(), block) != row.blocks.end();
      Json statement = row.statement;
      statement["at"] = "test.py:7";
      EXPECT_EQ(kinds(block, statement), belongs
                                             ? std::vector<std::string>()
                                             : std::vector<std::string>{"used-outside-its-block"})
          << statement << " in " << block_name(block);
    }
  }
}

TEST(Statements, CountsAreExact) {
  for (const Json& times : {Json("any"), Json("at least once"), Json(-1), Json(1.5), Json()})
    EXPECT_EQ(
        kinds(Block::kAssertStubs, {{"api", "verify_that"}, {"key", "GET /a"}, {"times", times}}),
        std::vector<std::string>{"imprecise-count"})
        << times;
}

TEST(Statements, WhatIsNotUnderstoodIsNamed) {
  for (const Json& wrong :
       {Json{{"api", "no_such"}},
        Json{{"api", "assert_fault_throws"}, {"keys", {"GET /a"}}, {"code", "NO_CODE"}},
        Json{{"api", "assert_fault_throws"}, {"keys", {"GET /a"}}, {"code", 42}},
        Json{{"api", "assert_fault_has_no_impact"}, {"keys", {"GET /a", "GET /b"}}},
        Json{{"api", "assert_fault_propagates"}, {"keys", {{{"method", "GET"}, {"fault", "503"}}}}},
        Json{{"api", "assert_on_fault"}, {"keys", Json::array()}}})
    EXPECT_EQ(kinds(Block::kFailure, wrong), std::vector<std::string>{"statement-not-understood"})
        << wrong;
  EXPECT_EQ(kinds(Block::kStub, {{"api", "stub_for"}, {"service", "movies"}}),
            std::vector<std::string>{"statement-not-understood"});
  EXPECT_EQ(
      kinds(Block::kAssertStubs,
            {{"api", "verify_that"}, {"key", {{"method", "GET"}, {"fault", "503"}}}, {"times", 1}}),
      std::vector<std::string>{"statement-not-understood"});
}

TEST(Statements, CodesHaveOneForm) {
  Statements statements;
  for (const Json& code :
       {Json("UNAVAILABLE"), Json("14"), Json(503), Json("503"), Json("reset")}) {
    const auto problems = statements.read(
        Block::kFailure, {{{"api", "assert_on_exception"}, {"code", code}, {"specification", 0}}},
        readers());
    EXPECT_TRUE(problems.empty()) << code;
  }
  ASSERT_EQ(statements.on_exceptions.size(), 5u);
  EXPECT_EQ(statements.on_exceptions[0].code, "UNAVAILABLE");
  EXPECT_EQ(statements.on_exceptions[2].code, "503");
  EXPECT_EQ(statements.on_exceptions[3].code, "503");
}

}  // namespace
}  // namespace filibuster::principled
