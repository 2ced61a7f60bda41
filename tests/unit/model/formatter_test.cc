// A formatter that is written against the model alone: tests/check says that no folder of texts or of the search is behind it.
#include <gtest/gtest.h>

#include "daemon/model/finding.h"
#include "daemon/model/session_report.h"

namespace filibuster {
namespace {

std::string as_line(const Finding& finding) {
  std::string out = finding.id + " " + std::string(verdict_name(finding.minimal_execution.verdict));
  for (const InjectedFault& fault : finding.minimal)
    out += " " + fault.caller + "->" + fault.service + "!" + fault.fault;
  return out + " x" + std::to_string(finding.executions);
}

InjectedFault fault(uint64_t index, const char* service, FaultKind kind) {
  InjectedFault out;
  out.index = {0, index};
  out.stable.identity = {1, index};
  out.caller = "front";
  out.service = service;
  FaultSpec spec;
  spec.kind = kind;
  out.set_fault(spec);
  return out;
}

Execution failure(std::vector<InjectedFault> faults) {
  Execution out;
  out.test = "checkout";
  out.verdict = Verdict::kFailed;
  out.faults = std::move(faults);
  return out;
}

TEST(Model, IsEnoughToSayWhatWasFound) {
  const InjectedFault users = fault(1, "users", FaultKind::kRefused);
  const InjectedFault orders = fault(2, "orders", FaultKind::kReset);
  SessionReport report;
  TestReport& test = report.tests.emplace_back();
  test.findings = group_failures({failure({users, orders}), failure({users})});
  ASSERT_EQ(test.findings.size(), 1u);
  const std::string id = finding_id("checkout", {users});
  EXPECT_EQ(as_line(test.findings[0]), id + " failed front->users!refused x2");
  EXPECT_EQ(report.failing(), 1u);
}

TEST(FaultSets, AreEqualWhateverTheirOrderAndContainSmallerOnes) {
  const InjectedFault users = fault(1, "users", FaultKind::kRefused);
  const InjectedFault orders = fault(2, "orders", FaultKind::kReset);
  const FaultSet both({users, orders});
  EXPECT_EQ(both.key(), FaultSet({orders, users}).key());
  EXPECT_NE(both.key(), FaultSet({users}).key());
  EXPECT_TRUE(both.contains(FaultSet({orders})));
  EXPECT_FALSE(FaultSet({orders}).contains(both));
  // Another index and the same identity: the program was edited, or the arguments are others.
  const InjectedFault moved = [&] {
    InjectedFault out = users;
    out.index = {0, 9};
    return out;
  }();
  EXPECT_FALSE(both.contains(FaultSet({moved})));
  EXPECT_EQ(finding_id("checkout", {moved}), finding_id("checkout", {users}));
}

}  // namespace
}  // namespace filibuster
