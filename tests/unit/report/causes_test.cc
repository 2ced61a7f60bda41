#include "daemon/report/causes.h"

#include <gtest/gtest.h>

#include "daemon/report/mending_text.h"

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

TEST(Causes, AreMendedByWhatSaysTheSameOnceTheSmallestSetFirst) {
  const auto mended = [](const char* kind, size_t faults, Mending mending) {
    Finding out =
        finding(std::vector<InjectedFault>(faults, fault("gw.py:33 (books)", kind)), kBooks);
    out.minimal_execution.mending = std::move(mending);
    return out;
  };
  const auto caught = [](const char* type) {
    return Mending{"Catch ", {type}, ": nothing caught it.", ": nothing caught them."};
  };
  std::vector<Finding> findings = {mended("refused", 2, {"Send a key.", {}, "", ""}),
                                   mended("timeout", 1, caught("A")), mended("status:500", 1, {}),
                                   mended("reset", 1, caught("B")),
                                   mended("reset", 1, caught("A"))};
  for (uint32_t i = 0; i < findings.size(); ++i) findings[i].number = i + 1;
  const std::vector<FailureCause> causes = causes_of(findings);
  ASSERT_EQ(causes.size(), 1u);
  const std::vector<CauseMending> told = mendings_of(findings, causes[0]);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(to_text(told[0].mending), "Catch A and B: nothing caught them.");
  EXPECT_EQ(told[0].findings, (std::vector<size_t>{1, 3, 4}));
  EXPECT_EQ(to_text(told[1].mending), "Send a key.");
  EXPECT_EQ(told[1].findings, std::vector<size_t>{0});
  EXPECT_EQ(mending_lines(findings, causes[0], "  "),
            "  what would mend findings 2, 4 and 5: Catch A and B: nothing caught them.\n"
            "  what would mend finding 1: Send a key.\n");
  EXPECT_EQ(mending_lines(findings, {{1, 4}}, ""),
            "what would mend it: Catch A: nothing caught it.\n");
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
