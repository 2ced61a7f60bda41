#include "daemon/report/causes.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

InjectedFault fault(const std::string& site, const std::string& kind, uint64_t index = 1) {
  InjectedFault out;
  out.index = {index, index};
  out.fault = kind;
  out.caller = "gateway";
  out.service = "catalog";
  out.method = "GET";
  out.path = "/books/" + std::to_string(index);
  out.call_site = site;
  out.stack = {site, "serve.py:1 (main)"};
  return out;
}

Finding finding(std::vector<InjectedFault> faults, const std::string& output,
                Verdict verdict = Verdict::kFailed) {
  Finding out;
  out.minimal = faults;
  out.minimal_execution.faults = std::move(faults);
  out.minimal_execution.verdict = verdict;
  out.minimal_execution.output = output;
  return out;
}

const std::string kBooks = "FAILED t.py::test_books - assert 500 in (200, 503)\n1 failed in 1.2s\n";
const std::string kTotal = "FAILED t.py::test_books - assert 6 == 7\n1 failed in 1.2s\n";

std::vector<std::vector<size_t>> causes(const std::vector<Finding>& findings) {
  std::vector<std::vector<size_t>> out;
  for (const FailureCause& cause : causes_of(findings)) out.push_back(cause.findings);
  return out;
}

using Groups = std::vector<std::vector<size_t>>;

TEST(Causes, AreOneForTheSameFailureAtTheSameCallSiteUnderOtherFaults) {
  const InjectedFault first = fault("gw.py:33 (books)", "refused");
  EXPECT_EQ(causes({finding({first, fault("gw.py:33 (books)", "reset", 2)}, kBooks),
                    finding({first}, kBooks),
                    finding({fault("gw.py:33 (books)", "timeout", 3)}, kBooks)}),
            (Groups{{1, 2, 0}}))
      << "fewer faults first";
}

TEST(Causes, AreTwoForTwoFailuresAtOneCallSite) {
  EXPECT_EQ(causes({finding({fault("gw.py:33 (books)", "refused")}, kBooks),
                    finding({fault("gw.py:33 (books)", "status:500")}, kTotal),
                    finding({fault("gw.py:33 (books)", "refused", 2)}, kBooks)}),
            (Groups{{0, 2}, {1}}));
}

TEST(Causes, AreTwoForOneFailureAtTwoCallSites) {
  EXPECT_EQ(causes({finding({fault("gw.py:33 (books)", "refused")}, kBooks),
                    finding({fault("gw.py:65 (pay)", "refused")}, kBooks)}),
            (Groups{{0}, {1}}));
  // One helper makes all calls: its callers are the call sites.
  InjectedFault one = fault("http.py:3 (send)", "refused"), other = one;
  one.stack = {"http.py:3 (send)", "gw.py:33 (books)"};
  other.stack = {"http.py:3 (send)", "gw.py:65 (pay)"};
  EXPECT_EQ(causes({finding({one}, kBooks), finding({other}, kBooks)}), (Groups{{0}, {1}}));
}

TEST(Causes, GoByTheMaskedLastLinesWhereNoAssertionIsRecognised) {
  const InjectedFault at = fault("gw.py:33 (books)", "refused");
  EXPECT_EQ(causes({finding({at}, "order 17: got 500\n"), finding({at}, "order 18: got 500\n\n"),
                    finding({at}, "no stock left\n")}),
            (Groups{{0, 1}, {2}}));
}

TEST(Causes, OfACrashAndOfAFailedTestAreTwo) {
  const InjectedFault at = fault("gw.py:33 (books)", "refused");
  Finding crash = finding({at}, kBooks, Verdict::kCrashed);
  crash.minimal_execution.detail = "catalog ended by SIGSEGV";
  Finding other = crash;
  other.minimal_execution.detail = "gateway ended by SIGSEGV";
  EXPECT_EQ(causes({finding({at}, kBooks), crash, other}), (Groups{{0}, {1}, {2}}));
}

TEST(Causes, ASummaryThatIsCutInAValueIsTheSameFailure) {
  const InjectedFault at = fault("gw.py:33 (books)", "refused");
  EXPECT_EQ(causes({finding({at}, "FAILED t.py::a - assert (999800 - 999798)...\n"),
                    finding({at}, "FAILED t.py::a - assert (98 - 96) == ...\n")})
                .size(),
            2u)
      << "what is cut at another place may be another assertion";
  EXPECT_EQ(causes({finding({at}, "FAILED t.py::a - assert (999800 - 999798)...\n"),
                    finding({at}, "FAILED t.py::a - assert (999640 - 999638)...\n")})
                .size(),
            1u);
}

TEST(Causes, CountOnceWhereFindingsAreCounted) {
  const std::vector<Finding> findings = {finding({fault("a", "refused")}, kBooks),
                                         finding({fault("a", "reset")}, kBooks),
                                         finding({fault("a", "status:500")}, kTotal)};
  EXPECT_EQ(counted_findings(findings), "2 findings (3 sets of faults)");
  EXPECT_EQ(counted_findings({findings[0]}), "1 finding");
}

TEST(Causes, TellWhatPassedAtTheirCallSiteWhereverItWasInjected) {
  TestReport test;
  test.findings = {finding({fault("gw.py:33 (books)", "refused")}, kBooks)};
  const auto add = [&](const std::string& site, const std::string& kind, CaseState state) {
    FaultCase row;
    row.name = "gateway -> catalog GET /books at gw.py books: " + kind;
    row.call_site = site;
    row.state = state;
    test.cases.push_back(row);
  };
  add("gw.py:33 (books)", "refused", CaseState::kFailed);
  add("gw.py:33 (books)", "status:503", CaseState::kPassed);
  add("gw.py:33 (books)", "timeout", CaseState::kPassed);
  add("gw.py:33 (books)", "timeout", CaseState::kFailed);
  add("gw.py:65 (pay)", "reset", CaseState::kPassed);
  EXPECT_EQ(passed_there(test, causes_of(test.findings)[0]),
            std::vector<std::string>{"status:503"});
}

}  // namespace
}  // namespace filibuster
