// `principled` of a test: its blocks, and what it states as a program would.
#include <gtest/gtest.h>

#include "daemon/config/config.h"

namespace filibuster {
namespace {

ParsedConfig parse_test(const std::string& test) {
  return parse_config(R"({"version": 1, "tests": [)" + test + "]}", "dir/filibuster.json", "/dir");
}

std::string problem_of(const std::string& principled) {
  const ParsedConfig parsed = parse_test(R"({"name": "t", "principled": )" + principled + "}");
  return parsed.errors.empty() ? "" : parsed.errors.front().message;
}

TEST(PrincipledConfig, BlocksAreCommandsAndStatements) {
  const ParsedConfig parsed = parse_test(R"({"name": "t", "principled": {
    "setup": "set-up", "execute": ["run", "it"], "assert_test": "check", "teardown": "tidy",
    "stubs": {"users": [{"method": "GET", "answer": {"status": 200}}]},
    "assert_stubs": [{"on": "GET /a", "times": 1}, {"on": "GET /b", "read_only": true}],
    "failure": [
      {"on": "s.S/M", "throws": "INTERNAL", "message": "no"},
      {"on": {"method": "GET", "fault": "503"}, "propagates": true},
      {"on": "GET /a", "no_impact": true},
      {"on": ["GET /a", "GET /b"], "assert": "check less", "read_only": ["GET /c"], "side_effecting": [{"on": "GET /d", "times": 0}]},
      {"on_exception": 503, "assert": "check nothing"}]}})");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors.front().message;
  const PrincipledConfig& it = *parsed.config.tests.front().principled;
  EXPECT_FALSE(it.in_program);
  EXPECT_EQ(it.setup.argv.back(), "set-up");
  EXPECT_EQ(it.execute.argv, (std::vector<std::string>{"run", "it"}));
  ASSERT_EQ(it.stubs.size(), 1u);
  EXPECT_EQ(it.stubs[0]["api"], "stub_for");
  EXPECT_EQ(it.stubs[0]["service"], "users");
  ASSERT_EQ(it.assert_stubs.size(), 2u);
  EXPECT_EQ(it.assert_stubs[0]["times"], 1);
  EXPECT_EQ(it.assert_stubs[1]["api"], "read_only_rpc");
  ASSERT_EQ(it.failure.size(), 5u);
  EXPECT_EQ(it.failure[0]["api"], "assert_fault_throws");
  EXPECT_EQ(it.failure[0]["message"], "no");
  EXPECT_EQ(it.failure[0]["at"], "filibuster.json:6");
  EXPECT_EQ(it.failure[1]["api"], "assert_fault_propagates");
  EXPECT_EQ(it.failure[2]["api"], "assert_fault_has_no_impact");
  EXPECT_EQ(it.failure[3]["keys"].size(), 2u);
  EXPECT_EQ(it.failure[3]["specification"], 0);
  EXPECT_EQ(it.failure[4]["code"], 503);
  EXPECT_EQ(it.failure[4]["specification"], 1);
  ASSERT_EQ(it.assertions.size(), 2u);
  EXPECT_EQ(it.assertions[0].statements.size(), 2u);
  EXPECT_EQ(it.assertions[1].command.argv.back(), "check nothing");
}

TEST(PrincipledConfig, TheBlocksMayBeInAProgram) {
  const ParsedConfig parsed =
      parse_test(R"({"name": "t", "command": "pytest t.py", "principled": true})");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors.front().message;
  EXPECT_TRUE(parsed.config.tests.front().principled->in_program);
  EXPECT_FALSE(parse_test(R"({"name": "t", "command": "c", "principled": false})")
                   .config.tests.front()
                   .principled.has_value());
}

TEST(PrincipledConfig, WhatIsWrongIsNamed) {
  EXPECT_NE(problem_of("{}").find("needs 'execute'"), std::string::npos);
  EXPECT_NE(problem_of("true").find("needs 'command'"), std::string::npos);
  EXPECT_FALSE(problem_of(R"({"execute": "e", "failure": [{"throws": "INTERNAL"}]})").empty());
  EXPECT_FALSE(problem_of(R"({"execute": "e", "failure": [{"on": "GET /a"}]})").empty());
  EXPECT_FALSE(
      problem_of(
          R"({"execute": "e", "failure": [{"on": "GET /a", "no_impact": true, "assert": "c"}]})")
          .empty());
  EXPECT_FALSE(
      problem_of(R"({"execute": "e", "failure": [{"on_exception": "INTERNAL"}]})").empty());
  EXPECT_FALSE(
      problem_of(
          R"({"execute": "e", "failure": [{"on": "GET /a", "no_impact": true, "message": "m"}]})")
          .empty());
  EXPECT_FALSE(
      problem_of(R"({"execute": "e", "failure": [{"on": "nothing", "no_impact": true}]})").empty());
  EXPECT_FALSE(problem_of(R"({"execute": "e", "failure": [{"on": [], "assert": "c"}]})").empty());
  EXPECT_FALSE(
      problem_of(
          R"({"execute": "e", "assert_stubs": [{"on": "GET /a", "times": 1, "read_only": true}]})")
          .empty());
  EXPECT_FALSE(parse_test(R"({"name": "t", "command": "c", "principled": {"execute": "e"}})")
                   .errors.empty());
  EXPECT_FALSE(
      parse_test(R"({"runner": "pytest", "principled": {"execute": "e"}})").errors.empty());
}

}  // namespace
}  // namespace filibuster
