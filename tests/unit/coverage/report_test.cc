#include "daemon/coverage/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace filibuster::coverage {
namespace {

const Files kWithout{{"/srv/users.py", {{1, 2, 3, 5, 6}, {1, 2}}}};
const Files kUnder{{"/srv/users.py", {{1, 2, 3, 5, 6}, {1, 3, 5}}}, {"/opt/lib.py", {{1}, {1}}}};

Report example() {
  Report report;
  report.session = "12";
  report.config_path = "filibuster.json";
  ServiceReport users;
  users.service = "users";
  users.tools = {"coverage.py"};
  users.files = compare(kWithout, kUnder, "/srv");
  ServiceReport cache;
  cache.service = "cache";
  cache.reason = "it is started by hand";
  report.services = {users, cache};
  return report;
}

TEST(Comparison, TellsWhatOnlyFaultsReachFromWhatNothingReaches) {
  const auto files = compare(kWithout, kUnder, "/srv");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].file, "/opt/lib.py");
  EXPECT_EQ(files[0].counts().only_under_faults(), 1u);
  EXPECT_EQ(files[1].file, "users.py");
  EXPECT_EQ(files[1].counts().statements, 5u);
  EXPECT_EQ(files[1].counts().without_faults, 2u);
  EXPECT_EQ(files[1].counts().reached, 4u);
  EXPECT_EQ(to_text(files[1].only_under_faults()), "3-5");
  EXPECT_EQ(to_text(files[1].never()), "6");
}

// Line 2 was reached in the reference execution only: a service that is never called again.
TEST(Comparison, WhatWasReachedWithoutFaultsIsReached) {
  const auto files = compare(kWithout, {}, "/srv");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].counts().reached, 2u);
  EXPECT_TRUE(files[0].only_under_faults().empty());
  EXPECT_EQ(to_text(files[0].never()), "3-6");
}

TEST(Comparison, KnowsAFolderFromOneWhoseNameBeginsLikeIt) {
  const auto files = compare({{"/srv2/a.py", {{1}, {1}}}}, {}, "/srv");
  EXPECT_EQ(files[0].file, "/srv2/a.py");
}

TEST(CoverageReport, IsDocumentedJson) {
  const auto json = nlohmann::json::parse(to_json(example()));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(
      json["counts"],
      nlohmann::json::parse(
          R"({"statements": 6, "without_faults": 2, "reached": 5, "only_under_faults": 3, "never": 1})"));
  const auto users = json["services"][0];
  EXPECT_EQ(users["service"], "users");
  EXPECT_EQ(users["tools"], nlohmann::json::array({"coverage.py"}));
  EXPECT_EQ(users["files"][1]["only_under_faults"], nlohmann::json::parse("[[3, 5]]"));
  EXPECT_EQ(json["services"][1]["reason"], "it is started by hand");
  EXPECT_EQ(json["services"][1]["files"], nlohmann::json::array());
}

TEST(CoverageReport, SaysItOnATerminal) {
  const std::string text = to_text(example());
  EXPECT_NE(text.find("users             6            33 %          83 %"), std::string::npos)
      << text;
  EXPECT_NE(
      text.find(
          "lines that only faults reach:\n    users  /opt/lib.py: 1\n    users  users.py: 3-5\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("no coverage for cache: it is started by hand"), std::string::npos) << text;
}

TEST(CoverageReport, ALineThatSeveralServicesRunCountsOnceInAll) {
  Report report;
  report.services.resize(2);
  report.services[0].files = compare({{"/srv/a.py", {{1, 2, 3}, {1}}}}, {}, "/srv");
  report.services[1].files =
      compare({{"/srv/a.py", {{1, 2, 3}, {}}}}, {{"/srv/a.py", {{1, 2, 3}, {2}}}}, "/srv");
  const Counts counts = report.counts();
  EXPECT_EQ(counts.statements, 3u);
  EXPECT_EQ(counts.without_faults, 1u);
  EXPECT_EQ(counts.reached, 2u);
}

TEST(CoverageReport, SaysWhenNothingWasMeasured) {
  Report report = example();
  report.services.erase(report.services.begin());
  EXPECT_EQ(to_text(report),
            "coverage of statements\n  no coverage for cache: it is started by hand\n");
}

}  // namespace
}  // namespace filibuster::coverage
