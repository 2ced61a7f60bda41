#include "daemon/session/suspects.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

InjectedFault call(uint64_t identity, const std::string& fault, const std::string& frame) {
  InjectedFault out;
  out.stable.identity = Hash128{1, identity};
  out.fault = fault;
  out.stack = {"/usr/lib/http.py:3 (send)", frame};
  return out;
}

TEST(Suspects, AreTheFaultsOfEarlierFindings) {
  const InjectedFault was = call(7, "timeout", "/srv/users.py:31 (get)");
  SessionReport report;
  report.tests.emplace_back();
  Finding finding;
  finding.minimal = {was};
  report.tests[0].findings = {finding};
  Suspects suspects;
  EXPECT_TRUE(suspects.empty());
  ASSERT_TRUE(suspects.add_report(to_json(report)).ok());
  EXPECT_TRUE(suspects.are_met_by(call(7, "timeout", "/elsewhere/users.py:40 (get)")))
      << "it has moved";
  EXPECT_FALSE(suspects.are_met_by(call(7, "refused", "")));
  EXPECT_FALSE(suspects.are_met_by(call(8, "timeout", "")));
}

TEST(Suspects, AreTheCallsThatChangedFilesMake) {
  Suspects suspects;
  suspects.add_file("./shop/users.py");
  suspects.add_file("/srv/lib/libshop.so");
  suspects.add_file("");
  for (const char* frame : {"/srv/shop/users.py:31 (get)", "shop/users.py:2", "users.py:2 (f)",
                            "libshop.so+0x12 (f())", "file:///srv/shop/users.py:7 (x)"}) {
    EXPECT_TRUE(suspects.are_met_by(call(1, "refused", frame))) << frame;
  }
  for (const char* frame :
       {"/srv/shop/all_users.py:31 (get)", "/srv/other/users.py:31 (get)", "", "shop/users.pyc:2"})
    EXPECT_FALSE(suspects.are_met_by(call(1, "refused", frame))) << frame;
}

TEST(Suspects, TakeNothingFromWhatIsNoReport) {
  Suspects suspects;
  for (const char* text :
       {"", "[]", "{}", "{\"version\": 2, \"tests\": []}", "{\"version\": 1, \"tests\": 3}"})
    EXPECT_FALSE(suspects.add_report(text).ok()) << text;
  EXPECT_TRUE(
      suspects.add_report(R"({"version": 1, "tests": [3, {"findings": [4, {"faults": [5, {}]}]}]})")
          .ok());
  EXPECT_TRUE(suspects.empty());
}

TEST(Suspects, ComeFirstAmongSingleFaultsAndThenAmongTheOthers) {
  const auto rank = [](std::vector<char> suspect) {
    bool flags[4];
    std::copy(suspect.begin(), suspect.end(), flags);
    return Suspects::rank({flags, suspect.size()});
  };
  const std::vector<std::vector<char>> order = {{1}, {0}, {1, 1}, {0, 1}, {0, 0}};
  for (size_t i = 0; i + 1 < order.size(); ++i) EXPECT_LT(rank(order[i]), rank(order[i + 1])) << i;
  EXPECT_EQ(rank({1, 1, 1}), rank({1, 1}));
  EXPECT_LT(rank({0, 0, 0}), search::SearchOptions::kRanks);
}

}  // namespace
}  // namespace filibuster
