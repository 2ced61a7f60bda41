#include "daemon/report/variation.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

using Effect = Variation::Effect;

Variation row(const std::string& rpc, const std::string& what, Effect effect) {
  return {rpc, what, effect, "", "", false};
}

TEST(VariationSummary, HasOneLineForAllThatIsMasked) {
  std::vector<Variation> rows;
  for (const char* field : {"/id", "/order", "/at"})
    rows.push_back(
        row("shop -> pay POST /charges", "JSON field " + std::string(field), Effect::kMasked));
  rows.push_back(row("shop -> pay GET /charges/*", "path segment 2", Effect::kMasked));
  rows.push_back(row("shop", "the order of the concurrent RPCs that it causes", Effect::kNone));
  Variation once = row("shop -> pay GET /rates", "seen in 1 of 4 executions", Effect::kNotFaulted);
  once.comes_and_goes = true;
  rows.push_back(once);
  EXPECT_EQ(
      summary_of(rows),
      std::vector<std::string>{
          "4 values that vary from run to run take no part in telling calls apart, in 2 calls (shop -> pay POST "
          "/charges: JSON field /id, shop -> pay GET /charges/*: path segment 2 and 2 more); report.json and "
          "the page have all of them"});
}

TEST(VariationSummary, SaysWhichCallsGetNoFaultAndUnderWhichFaultsTheyVary) {
  std::vector<Variation> rows = {row("a -> b PUT /x", "the body", Effect::kNotFaulted),
                                 row("a -> c GET /", "the answer", Effect::kStatusAlone)};
  for (Variation& one : rows) one.under = "{a -> d GET /: 503}";
  const std::vector<std::string> lines = summary_of(rows);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(
      lines[0].starts_with("1 call gets no fault, since what varies in it cannot be left out "
                           "(a -> b PUT /x: the body), under {a -> d GET /: 503}"))
      << lines[0];
  EXPECT_TRUE(lines[1].starts_with("the answers of 1 call vary as a whole")) << lines[1];
  EXPECT_TRUE(summary_of({}).empty());
}

}  // namespace
}  // namespace filibuster
