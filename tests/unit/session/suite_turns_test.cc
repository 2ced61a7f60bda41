#include <gtest/gtest.h>

#include "daemon/verbs/suite/planning.h"

namespace filibuster {
namespace {

using retries::FaultRow;

FaultRow row(const char* test, const char* site, const char* policy) {
  FaultRow out;
  out.test = test;
  out.site = site;
  out.policy = policy;
  return out;
}

TEST(SuiteTurns, GiveEachCallSiteOneFaultAfterTheOtherInItsCheapestTest) {
  retries::SuiteResults results;
  results.tests.resize(2);
  results.tests[0].name = "long";
  results.tests[0].seconds = 2;
  results.tests[1].name = "short";
  results.tests[1].seconds = 1;
  for (const char* const policy : {"P1-reset", "P1", "P3", "own"}) {
    results.faults.push_back(row("long", "put", policy));  // 0, 3, 6, 9
    results.faults.push_back(row("short", "put", policy));
    results.faults.push_back(row("long", "get", policy));
  }
  using Turns = std::vector<std::vector<size_t>>;
  EXPECT_EQ(turns_of_sites(results), (Turns{{1, 2}, {7, 8}, {4, 5}, {10, 11}}));
  EXPECT_EQ(turns_of_sites({}), Turns{});
}

}  // namespace
}  // namespace filibuster
