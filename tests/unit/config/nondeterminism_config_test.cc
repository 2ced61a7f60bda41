#include <gtest/gtest.h>

#include "daemon/config/config.h"

namespace filibuster {
namespace {

ParsedConfig parse_rules(const std::string& rules) {
  return parse_config(R"({"version": 1, "tests": [{"name": "t", "command": "x"}],
"nondeterminism": )" + rules +
                          "}",
                      "f.json", "/d");
}

std::string rules_error(const std::string& rules) {
  const ParsedConfig parsed = parse_rules(rules);
  if (parsed.errors.empty()) return "";
  const ConfigError& error = parsed.errors[0];
  return std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.message;
}

TEST(NondeterminismRules, AreReadAndWrittenTheSame) {
  const std::string text =
      "[\n  {\"on\":{\"caller\":\"a\",\"service\":\"b\",\"method\":\"GET\",\"path\":\"/o/*\"},"
      "\"mask\":{\"path\":[2],\"query\":[\"ts\"],\"json\":[\"/id\",\"/l/*/t\"],\"form\":[\"k\"],"
      "\"response\":[\"/at\"],\"stack\":true}}\n]";
  const ParsedConfig parsed = parse_rules(text);
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  EXPECT_EQ(to_config_text(parsed.config.nondeterminism), text);
  const auto again = parse_nondeterminism(text);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(to_config_text(again.value()), text);
  const auto table = compile_masks(again.value());
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table.value()).rule_count, 1u);
  EXPECT_EQ((*table.value()).field_count, 5u);
  EXPECT_EQ((*table.value()).rules[0].path_segments, 2u);
  EXPECT_EQ((*table.value()).fields[2].names[1], kAnyName);
  EXPECT_EQ(to_config_text(std::vector<NondeterminismRule>{}), "[]");
}

TEST(NondeterminismRules, AGrpcCallIsNamedAsInFaultRules) {
  const std::string text =
      "[\n  {\"on\":{\"caller\":\"a\",\"grpc\":\"shop.CartService/Get*\"},"
      "\"mask\":{\"message\":[\"/3/1\"]}}\n]";
  const ParsedConfig parsed = parse_rules(text);
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  EXPECT_EQ(to_config_text(parsed.config.nondeterminism), text);
  const auto table = compile_masks(parsed.config.nondeterminism);
  ASSERT_TRUE(table.ok());
  RequestMasks masks;
  const auto masked = [&](const char* path, bool grpc) {
    select_masks(*table.value(), {"a", "cart", "POST", path, grpc}, &masks);
    return masks.any();
  };
  EXPECT_TRUE(masked("/shop.CartService/GetCart", true));
  EXPECT_FALSE(masked("/shop.CartService/PutCart", true));
  EXPECT_FALSE(masked("/shop.CartService/GetCart", false));
}

TEST(NondeterminismRules, MistakesInANameOfGrpcHaveAPosition) {
  const std::string mask = "\"mask\": {\"message\": \"/1\"}}]";
  EXPECT_NE(rules_error(R"([{"on": {"grpc": "shop.S/"}, )" + mask).find("2:36 'grpc': the method"),
            std::string::npos);
  EXPECT_EQ(rules_error(R"([{"on": {"grpc": "s.S/M", "path": "/s.S/M"}, )" + mask),
            "2:45 'grpc' says what the path is already; leave out 'path'");
  EXPECT_EQ(rules_error(R"([{"on": {"grpc": "s.)" + std::string(200, 'S') + R"("}, )" + mask),
            "2:36 'grpc': at most 192 bytes");
  EXPECT_NE(rules_error(R"([{"on": {"grpc": "s.S/M"}, "mask": {}}])").find("'mask' is empty"),
            std::string::npos);
}

TEST(NondeterminismRules, OneValueNeedsNoBrackets) {
  const ParsedConfig parsed =
      parse_rules(R"([{"on": {"path": "/o/*"}, "mask": {"path": 2, "json": "/a~1b"}}])");
  ASSERT_TRUE(parsed.errors.empty());
  const auto table = compile_masks(parsed.config.nondeterminism);
  EXPECT_EQ((*table.value()).fields[0].names[0], name_hash("a/b"));
}

TEST(NondeterminismRules, AMaskOfEverythingIsRefusedWhereItStands) {
  for (const char* pointer : {"", "/*"}) {
    for (const char* key : {"json", "response"}) {
      EXPECT_NE(rules_error(std::string("[{\"on\": {}, \"mask\": {\"") + key + "\": [\"" + pointer +
                            "\"]}}]")
                    .find("whole body"),
                std::string::npos);
    }
  }
  EXPECT_NE(rules_error(R"([{"on": {"path": "/*"}, "mask": {"path": [1]}}])").find("whole path"),
            std::string::npos);
  // What was found out may be kept, and read again.
  EXPECT_TRUE(
      parse_nondeterminism(R"([{"on": {"path": "/*"}, "mask": {"path": [1]}}])", true).ok());
  EXPECT_NE(rules_error(R"([{"on": {}, "mask": {"query": "*"}}])").find("every value"),
            std::string::npos);
}

TEST(NondeterminismRules, MistakesHaveAPosition) {
  EXPECT_EQ(rules_error(R"([{"on": {}, "mask": {"json": ["id"]}}])"),
            "2:49 'json': expected a JSON pointer such as \"/id\" or \"/items/*/id\"");
  EXPECT_NE(rules_error(R"([{"on": {}, "mask": {"path": [2]}}])").find("needs 'on.path'"),
            std::string::npos);
  EXPECT_NE(
      rules_error(R"([{"on": {"path": "/a/*"}, "mask": {"path": [3]}}])").find("no segment 3"),
      std::string::npos);
  EXPECT_NE(
      rules_error(R"([{"on": {"path": "/a/*"}, "mask": {"path": [1]}}])").find("nothing else"),
      std::string::npos);
  EXPECT_NE(rules_error(R"([{"on": {"path": "/a/*"}, "mask": {"path": [2, 2]}}])").find("twice"),
            std::string::npos);
  EXPECT_NE(rules_error(R"([{"on": {}, "mask": {}}])").find("is empty"), std::string::npos);
  EXPECT_NE(rules_error(R"([{"mask": {"query": "a"}}])").find("needs 'on'"), std::string::npos);
  EXPECT_NE(rules_error(R"([{"on": {}, "mask": {"header": "a"}}])").find("header"),
            std::string::npos);
  EXPECT_NE(rules_error(R"([{"on": {}, "mask": {"json": "/a/b/c/d/e/f/g/h/i"}}])").find("deep"),
            std::string::npos);
  EXPECT_NE(rules_error(R"({})").find("an array"), std::string::npos);
}

TEST(NondeterminismRules, AllMistakesAreSaidAtOnceWhereTheyStand) {
  const ParsedConfig parsed = parse_rules(R"([
  {"on": {}, "mask": {"message": ["id", "/1", "/trace/2"], "jsn": "/a"}},
  {"on": {}, "mask": {}},
  {"on": {}, "mask": {"message": "/0"}},
  {"on": {"grpc": ""}, "mask": {"query": "ts"}}], "bounds": {"hang_limit": -1})");
  std::string places;
  for (const ConfigError& error : parsed.errors) {
    places += std::to_string(error.line) + ":" + std::to_string(error.column) + " " +
              error.message.substr(0, error.message.find_first_of(" :;")) + "\n";
  }
  EXPECT_EQ(places,
            "3:35 'message'\n3:47 'message'\n3:60 unknown\n4:3 'mask'\n5:34 'message'\n"
            "6:19 'grpc'\n6:76 'hang_limit'\n");
}

TEST(NondeterminismRules, ReferenceExecutionsAreAtLeastOne) {
  const auto bound = [](const std::string& value) {
    return parse_config(R"({"version": 1, "tests": [{"name": "t", "command": "x"}],
"bounds": {"reference_executions": )" +
                            value + "}}",
                        "f.json", "/d");
  };
  EXPECT_EQ(bound("3").config.bounds.reference_executions, 3u);
  EXPECT_EQ(bound("0").errors.size(), 1u);
  EXPECT_EQ(bound("101").errors.size(), 1u);
}

}  // namespace
}  // namespace filibuster
