// The sources of report.html with what was reached of them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/page/coverage_sources.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster {
namespace {

coverage::FileReport file_report(const std::string& name, coverage::Lines statements,
                                 coverage::Lines reached, coverage::Lines without_faults) {
  coverage::FileReport out;
  out.file = name;
  out.all = {std::move(statements), std::move(reached)};
  out.without_faults = std::move(without_faults);
  return out;
}

coverage::ServiceReport service_report(const std::string& name, coverage::FileReport file) {
  coverage::ServiceReport out;
  out.service = name;
  out.files.push_back(std::move(file));
  return out;
}

TEST(CoverageSources, EachLineSaysWhatReachedIt) {
  const TemporaryFolder folder;
  folder.write("users.py", "import os\n\ntry:\n  ask()\nexcept Error:\n  raise\n");
  SourceExcerpts sources({folder.path()});
  coverage::Report report;
  report.services = {
      service_report("users", file_report("users.py", {1, 3, 4, 5, 6}, {1, 3, 4, 5}, {1, 3, 4}))};
  const auto out = coverage_sources(report, &sources);
  EXPECT_EQ(out["users.py"]["marks"], "r.rrfn");
  ASSERT_EQ(out["users.py"]["lines"].size(), 6u);
  EXPECT_EQ(out["users.py"]["lines"][4], "except Error:");
}

TEST(CoverageSources, AFileOfTwoServicesHasTheBestOfBoth) {
  const TemporaryFolder folder;
  folder.write("http.py", "a\nb\nc\n");
  SourceExcerpts sources({folder.path()});
  coverage::Report report;
  report.services = {service_report("one", file_report("http.py", {1, 2, 3}, {1, 2}, {1})),
                     service_report("two", file_report("http.py", {1, 2, 3}, {2}, {2}))};
  EXPECT_EQ(coverage_sources(report, &sources)["http.py"]["marks"], "rrn");
}

TEST(CoverageSources, AFileThatCannotBeReadIsLeftOut) {
  const TemporaryFolder folder;
  SourceExcerpts sources({folder.path()});
  coverage::Report report;
  report.services = {service_report("one", file_report("gone.py", {1}, {1}, {1}))};
  EXPECT_TRUE(coverage_sources(report, &sources).empty());
}

TEST(CoverageSources, SecretsOfTheSourceAreRedacted) {
  const TemporaryFolder folder;
  folder.write("key.py", "headers = {\"Authorization\": \"Bearer abcdefghijklmnop0123456789\"}\n");
  SourceExcerpts sources({folder.path()});
  coverage::Report report;
  report.services = {service_report("one", file_report("key.py", {1}, {1}, {1}))};
  const std::string text = coverage_sources(report, &sources).dump();
  EXPECT_NE(text.find("headers"), std::string::npos);
  EXPECT_EQ(text.find("abcdefghijklmnop0123456789"), std::string::npos);
}

}  // namespace
}  // namespace filibuster
