#include "daemon/observe/rule_advice.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

TEST(RuleAdvice, TheShapeOfNamesIsWhatIsAlikeInThem) {
  EXPECT_EQ(shape_of({"report-1700000000.txt", "report-1700000031.txt"}),
            "report-" + std::string(10, '?') + ".txt");
  EXPECT_EQ(shape_of({"0d4c3f1e-aaaa", "9b2d3f1e-bbbb"}),
            std::string(8, '?') + "-" + std::string(4, '?'));
  EXPECT_EQ(shape_of({"item9", "item10"}), "*");
  EXPECT_EQ(shape_of({"a-1", "b"}), "*");
  EXPECT_EQ(shape_of({"same"}), "same");
  EXPECT_EQ(shape_of({}), "");
}

TEST(RuleAdvice, ALineIsOneThatAConfigurationMayHave) {
  NondeterminismRule rule;
  rule.service = "s";
  rule.path = "/items/*";
  rule.path_segments = {2};
  EXPECT_EQ(rule_line(rule), R"({"on":{"service":"s","path":"/items/*"},"mask":{"path":[2]}})");
  EXPECT_NE(advice(rule_line(rule)).find("helps: {"), std::string::npos);
  rule.path = "/*";
  rule.path_segments = {1};
  EXPECT_EQ(rule_line(rule), "") << "it masks a whole path";
  EXPECT_EQ(advice(""), "");
}

RpcRecord put(const std::string& target, const std::string& site = "store.py:3 (save)") {
  RpcRecord out;
  out.caller = "shop";
  out.service = "store";
  out.method = "PUT";
  out.target = target;
  out.stack_text = {site};
  out.index = hash_text(target + site);
  return out;
}

TEST(RuleAdvice, ACallThatCameInThePlaceOfAnotherTellsWhatVaries) {
  const RpcRecord planned = put("/b/1/items?ts=1&x=2");
  const auto rule = [&](std::vector<RpcRecord> rpcs) {
    ExecutionRecord record;
    record.rpcs = std::move(rpcs);
    return rule_for_missing(record, planned, {}, kIndexAll);
  };
  EXPECT_EQ(rule({put("/b/7/items?ts=9&x=2")}),
            R"({"on":{"caller":"shop","service":"store","method":"PUT","path":"/b/*/items"},)"
            R"("mask":{"path":[2],"query":["ts"]}})");
  EXPECT_EQ(rule({put("/b/7/items?ts=9&x=2"), planned}), "") << "it came";
  EXPECT_EQ(rule({put("/b/7/items?ts=9&x=2", "store.py:9 (drop)")}), "") << "another call site";
  EXPECT_EQ(rule({put("/b/7")}), "") << "the number of segments varies";
  EXPECT_EQ(rule({}), "");
}

}  // namespace
}  // namespace filibuster
