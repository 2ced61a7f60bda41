// The documents for CI: JUnit XML, SARIF and Markdown of one report.
#include "daemon/report/results.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "daemon/report/json.h"
#include "daemon/report/plain_text.h"
#include "daemon/report/text.h"

namespace filibuster {
namespace {

using PlainJson = nlohmann::json;

InjectedFault result_fault(uint64_t rpc, const std::string& text) {
  InjectedFault out;
  out.index = Hash128{1, rpc};
  out.stable = {Hash128{2, rpc}, 1};
  out.fault = text;
  out.caller = "users";
  out.service = "movies";
  out.method = "GET";
  out.path = "/movies/" + std::to_string(rpc) + "?token=s3cret";
  out.call_site = "/srv/shop/src/users.py:31 (get_movie)";
  out.stack = {out.call_site, "/usr/lib/else.py:7 (main)"};
  return out;
}

Execution failing_execution(std::vector<InjectedFault> faults) {
  Execution out;
  out.test = "checkout";
  out.faults = std::move(faults);
  out.number = 4;
  out.verdict = Verdict::kFailed;
  out.detail = "exit status 1";
  out.output = "Authorization: Bearer hunter2\nAssertionError\n";
  out.seconds = 0.25;
  return out;
}

FaultCase row_of(const InjectedFault& one, CaseState state, const std::string& reason = "") {
  FaultCase out;
  out.id = finding_id("checkout", {one});
  out.name = "users -> movies GET /movies/* at users.py get_movie: " + one.fault;
  out.call_site = one.call_site;
  out.state = state;
  out.reason = reason;
  out.seconds = 0.5;
  return out;
}

// A fault that fails alone, a pair that fails, and faults that pass, are left, and have no
// conclusion.
SessionReport report_of_results() {
  const auto alone = result_fault(1, "timeout"), first = result_fault(2, "refused"),
             second = result_fault(3, "refused");
  TestReport test;
  test.test = "checkout";
  test.counts.executed = 12;
  test.seconds = 3.5;
  test.findings = group_failures({failing_execution({alone}), failing_execution({first, second})});
  test.findings[0].counterexample = "/r/counterexamples/1.json";
  test.findings[0].number = 1;
  test.cases = {row_of(alone, CaseState::kFailed), row_of(first, CaseState::kPassed),
                row_of(second, CaseState::kPassed),
                row_of(result_fault(4, "reset"), CaseState::kInconclusive, "plan not met"),
                row_of(result_fault(5, "reset"), CaseState::kSkipped, "the time was over")};
  test.cases[0].findings = {test.findings[0].id};
  test.rpcs.untested = {{"users -> metrics POST /push", "its cause is not known"}};
  SessionReport out;
  out.session = "s1";
  out.config_path = "filibuster.json";
  out.tests = {test};
  out.exit_code = 1;
  out.working_directory = "/srv/shop";
  return out;
}

pugi::xml_document parsed(const std::string& xml) {
  pugi::xml_document out;
  const auto read = out.load_string(xml.c_str(), pugi::parse_full);
  EXPECT_TRUE(read) << read.description() << "\n" << xml;
  return out;
}

pugi::xml_node case_of(const pugi::xml_document& document, const std::string& id) {
  return document.document_element().child("testsuite").find_child([&](const pugi::xml_node& node) {
    return std::string_view(node.attribute("name").value()).ends_with("[" + id + "]");
  });
}

TEST(Junit, HasACaseForEachRpcAndFaultByItsStableIdentity) {
  const SessionReport whole = report_of_results();
  const auto document = parsed(to_junit(whole));
  const TestReport& test = whole.tests[0];
  const auto element = [&](size_t i) {
    const pugi::xml_node node = case_of(document, test.cases[i].id);
    EXPECT_TRUE(node) << i;
    EXPECT_STREQ(node.attribute("classname").value(), "checkout");
    return std::string(node.first_child().name());
  };
  EXPECT_EQ(element(0), "failure");
  EXPECT_EQ(element(1), "");
  EXPECT_EQ(element(2), "");
  EXPECT_EQ(element(3), "error");
  EXPECT_EQ(element(4), "skipped");
  const pugi::xml_node failed = case_of(document, test.findings[0].id);
  EXPECT_STREQ(
      failed.attribute("name").value(),
      ("users -> movies GET /movies/* at users.py get_movie: timeout [" + test.findings[0].id + "]")
          .c_str());
  EXPECT_STREQ(failed.attribute("file").value(), "src/users.py");
  EXPECT_STREQ(failed.attribute("line").value(), "31");
  const std::string text = failed.child("failure").text().get();
  EXPECT_NE(text.find("filibuster replay /r/counterexamples/1.json"), std::string::npos) << text;
}

TEST(Documents, SayAFindingInTheTestsOwnWordsAndCallItAsBefore) {
  SessionReport whole = report_of_results();
  Finding& finding = whole.tests[0].findings[0];
  const auto names = [&] {
    std::vector<std::string> out;
    // The document outlives its nodes.
    const auto document = parsed(to_junit(whole));
    for (const pugi::xml_node node : document.document_element().child("testsuite"))
      out.emplace_back(node.attribute("name").value());
    return out;
  };
  const auto result = [&] { return PlainJson::parse(to_sarif(whole))["runs"][0]["results"][0]; };
  finding.minimal_execution.output = "killed\n";
  const auto names_before = names();
  const PlainJson before = result();
  EXPECT_TRUE(before["message"]["text"].get<std::string>().starts_with(
      "the test fails (exit status 1) under "));
  finding.minimal_execution.output =
      "E   assert 500 in (200, 503)\n\nt.py:7: AssertionError\n=== short ===\n"
      "FAILED t.py::test_all - assert 500\n";
  const std::string words = "t.py::test_all fails: assert 500 in (200, 503) under users -> ";
  const auto document = parsed(to_junit(whole));
  const pugi::xml_node failure = case_of(document, finding.id).child("failure");
  EXPECT_TRUE(std::string_view(failure.attribute("message").value()).starts_with(words));
  EXPECT_TRUE(std::string_view(failure.text().get())
                  .starts_with("test \"checkout\": t.py::test_all fails: assert 500 in"))
      << failure.text().get();
  EXPECT_TRUE(result()["message"]["text"].get<std::string>().starts_with(words));
  EXPECT_EQ(result()["partialFingerprints"], before["partialFingerprints"]);
  EXPECT_EQ(names(), names_before);
  const std::string summary = to_markdown(whole);
  EXPECT_NE(summary.find("**: t&#46;py&#58;&#58;test&#95;all fails&#58; assert 500"),
            std::string::npos)
      << summary;
}

TEST(Junit, CountsWhatItHasAndTellsWhatWasNotTested) {
  SessionReport whole = report_of_results();
  auto document = parsed(to_junit(whole));
  pugi::xml_node root = document.document_element();
  // Two cases of every test, five faults, the pair, and the RPC that was not tested.
  EXPECT_EQ(root.attribute("tests").as_int(), 9);
  EXPECT_EQ(root.attribute("failures").as_int(), 2);
  EXPECT_EQ(root.attribute("errors").as_int(), 1);
  EXPECT_EQ(root.attribute("skipped").as_int(), 2);
  const pugi::xml_node pair = case_of(document, whole.tests[0].findings[1].id);
  EXPECT_NE(std::string_view(pair.attribute("name").value()).find(" + "), std::string_view::npos);
  EXPECT_TRUE(pair.child("failure"));
  whole.allow_untested = true;
  document = parsed(to_junit(whole));
  EXPECT_EQ(document.document_element().attribute("errors").as_int(), 1);
  EXPECT_EQ(document.document_element().attribute("skipped").as_int(), 2);
}

TEST(Junit, SkipsWhatIsAcceptedAndFailsWhatIsAcceptedNoMore) {
  SessionReport whole = report_of_results();
  Finding& finding = whole.tests[0].findings[0];
  finding.standing = Standing::kAccepted;
  finding.because = "the new client";
  finding.until = "2030-01-31";
  auto document = parsed(to_junit(whole));
  const pugi::xml_node skipped = case_of(document, finding.id).child("skipped");
  EXPECT_TRUE(std::string_view(skipped.attribute("message").value())
                  .starts_with("accepted until 2030-01-31: the new client"));
  finding.standing = Standing::kExpired;
  document = parsed(to_junit(whole));
  EXPECT_TRUE(
      std::string_view(case_of(document, finding.id).child("failure").attribute("message").value())
          .starts_with("accepted until 2030-01-31, which is over: the new client"));
}

TEST(Junit, SaysWhyASessionDidNotComeToItsEnd) {
  SessionReport whole;
  whole.error = "service 'users' does not start\nits last lines";
  whole.exit_code = 3;
  auto document = parsed(to_junit(whole));
  const pugi::xml_node error =
      document.document_element().child("testsuite").child("testcase").child("error");
  EXPECT_STREQ(error.attribute("message").value(), "service 'users' does not start");
  EXPECT_STREQ(error.text().get(), whole.error.c_str());
  whole = report_of_results();
  whole.tests[0].error = whole.error = "the reference execution fails";
  document = parsed(to_junit(whole));
  EXPECT_STREQ(document.document_element()
                   .child("testsuite")
                   .child("testcase")
                   .child("error")
                   .attribute("message")
                   .value(),
               "the reference execution fails");
  EXPECT_EQ(document.document_element().attribute("errors").as_int(), 2) << "it is told once";
}

// A service that did not start, told by no test; and one of two tests that fails without faults.
SessionReport session_without_services() {
  SessionReport whole;
  whole.error =
      "service 'users' ended before it was ready (exit status 1)\nlast lines of /l/users.log:\n"
      "ImportError\nwhat to do: start it by hand";
  whole.exit_code = 3;
  return whole;
}
SessionReport one_of_two_not_explored() {
  SessionReport whole;
  TestReport good, bad;
  good.test = "login";
  good.finished = true;
  good.counts.executed = 5;
  bad.test = "checkout";
  bad.error = "the reference execution fails\nits last lines:\nAssertionError";
  whole.tests = {good, bad};
  whole.error = "not every test could be explored: 'checkout' could not (see above)";
  whole.exit_code = 3;
  return whole;
}

TEST(EnvironmentErrors, AreNoPassInAnyDocument) {
  const SessionReport none = session_without_services(), one = one_of_two_not_explored();
  const std::string markdown = to_markdown(none);
  EXPECT_NE(markdown.find("# Filibuster: an environment error, nothing was explored"),
            std::string::npos)
      << markdown;
  EXPECT_NE(markdown.find("ImportError"), std::string::npos);
  EXPECT_NE(markdown.find("What to do: start it by hand"), std::string::npos);
  EXPECT_NE(to_markdown(one).find("# Filibuster: nothing was found; 1 test could not be explored"),
            std::string::npos)
      << to_markdown(one);

  for (const SessionReport& report : {none, one}) {
    auto document = parsed(to_junit(report));
    EXPECT_EQ(document.document_element().attribute("errors").as_int(), 1);
    const PlainJson run = PlainJson::parse(to_sarif(report)).at("runs")[0];
    EXPECT_FALSE(run["invocations"][0]["executionSuccessful"].get<bool>());
    const auto& told = run["invocations"][0]["toolExecutionNotifications"];
    EXPECT_EQ(told[0]["level"], "error") << told;
  }
  auto document = parsed(to_junit(one));
  for (pugi::xml_node one_case : document.select_node("//testsuite[@name='checkout']").node())
    EXPECT_FALSE(one_case.first_child().empty()) << "nothing of it passes";
}

TEST(EnvironmentErrors, AreNoPassOnTheTerminal) {
  const std::string text = to_text(one_of_two_not_explored());
  EXPECT_NE(text.find("test \"checkout\": NOT EXPLORED: the reference execution fails\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2 tests, 0 findings, 1 NOT EXPLORED"), std::string::npos) << text;
}

const std::string kHostile = "a\"b'c<d>&]]> |`*_$@\n\t\x01\xff\xed\xa0\x80 # [x](y) <script>é";

SessionReport hostile() {
  SessionReport whole = report_of_results();
  TestReport& test = whole.tests[0];
  test.test = kHostile;
  for (FaultCase& one : test.cases) one.name = kHostile;
  for (Finding& finding : test.findings) {
    finding.minimal_execution.test = finding.minimal_execution.output =
        finding.minimal_execution.detail = kHostile;
    finding.counterexample = "/r/" + kHostile;
    for (InjectedFault& one : finding.minimal) {
      one.caller = one.service = one.method = one.path = kHostile;
      one.call_site = kHostile + ".py:7 (" + kHostile + ")";
      one.stack = {one.call_site};
    }
  }
  test.rpcs.untested = {{kHostile, kHostile}};
  whole.error = kHostile;
  return whole;
}

TEST(Junit, StaysWellFormedWhateverNamesHold) {
  const std::string xml = to_junit(hostile());
  const auto document = parsed(xml);
  EXPECT_EQ(xml, plain_text(xml)) << "XML 1.0 has no such characters";
  EXPECT_STREQ(document.document_element().child("testsuite").attribute("name").value(),
               one_line(kHostile).c_str());
}

TEST(Sarif, NamesPlacesRelativeToTheWorkingDirectoryAndFingerprintsByIdentity) {
  const SessionReport whole = report_of_results();
  const PlainJson run = PlainJson::parse(to_sarif(whole))["runs"][0];
  ASSERT_EQ(run["results"].size(), 2u);
  const PlainJson& alone = run["results"][0];
  EXPECT_EQ(alone["ruleId"], "failed");
  EXPECT_EQ(run["tool"]["driver"]["rules"][alone["ruleIndex"].get<size_t>()]["id"], "failed");
  EXPECT_EQ(alone["partialFingerprints"],
            PlainJson({{"filibusterFinding/v1", whole.tests[0].findings[0].id}}));
  const PlainJson& place = alone["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"],
            PlainJson({{"uri", "src/users.py"}, {"uriBaseId", "SRCROOT"}}));
  EXPECT_EQ(place["region"]["startLine"], 31);
  EXPECT_EQ(run["originalUriBaseIds"]["SRCROOT"]["uri"], "file:///srv/shop/");
  EXPECT_EQ(alone["stacks"][0]["frames"].size(), 2u);
  EXPECT_EQ(
      alone["stacks"][0]["frames"][1]["location"]["physicalLocation"]["artifactLocation"]["uri"],
      "file:///usr/lib/else.py");
  EXPECT_EQ(alone["properties"]["replay"], "filibuster replay /r/counterexamples/1.json");
  const PlainJson& pair = run["results"][1];
  EXPECT_EQ(pair["locations"].size(), 1u);
  EXPECT_EQ(pair["relatedLocations"].size(), 1u);
  EXPECT_EQ(pair["codeFlows"][0]["threadFlows"][0]["locations"].size(), 2u);
  EXPECT_EQ(run["invocations"][0]["exitCode"], 1);
}

TEST(Sarif, PlacesACallWithoutAKnownFileInTheConfiguration) {
  SessionReport whole = report_of_results();
  whole.tests[0].findings[0].minimal[0].call_site = "libshop.so+0x12";
  const PlainJson run = PlainJson::parse(to_sarif(whole))["runs"][0];
  EXPECT_EQ(run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "filibuster.json");
}

TEST(Sarif, SuppressesWhatIsAccepted) {
  SessionReport whole = report_of_results();
  whole.tests[0].findings[1].standing = Standing::kAccepted;
  const PlainJson results = PlainJson::parse(to_sarif(whole))["runs"][0]["results"];
  EXPECT_FALSE(results[0].contains("suppressions"));
  EXPECT_EQ(results[1]["suppressions"][0]["status"], "accepted");
}

TEST(Sarif, StaysValidWhateverNamesHold) {
  EXPECT_FALSE(PlainJson::parse(to_sarif(hostile()), nullptr, false).is_discarded());
}

TEST(Markdown, ShowsWhatFailsAndCountsTheRest) {
  SessionReport whole = report_of_results();
  const std::string text = to_markdown(whole);
  for (const char* part : {"# Filibuster: 2 findings fail", "| checkout | 12 | 2 | 0 |",
                           "## Findings", "AssertionError", "## RPCs that were not tested"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
  }
  for (Finding& finding : whole.tests[0].findings) finding.standing = Standing::kAccepted;
  whole.exit_code = 0;
  EXPECT_NE(to_markdown(whole).find("# Filibuster: 2 findings, all accepted\n"), std::string::npos);
  EXPECT_EQ(to_markdown(whole).find("## Findings"), std::string::npos);
}

TEST(Markdown, KeepsItsStructureWhateverNamesHold) {
  const std::string text = to_markdown(hostile());
  EXPECT_EQ(text, plain_text(text));
  // Text of others is a reference for each character of markup, but for the blocks of code.
  bool block = false;
  size_t rows = 0;
  std::string fence;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("```")) {
      if (!block) fence = line.substr(0, line.find_first_not_of('`'));
      block = !block || line != fence;
      continue;
    }
    if (block) continue;
    EXPECT_EQ(line.find("<script"), std::string::npos) << line;
    EXPECT_EQ(line.find("](y)"), std::string::npos) << line;
    if (line.starts_with("|")) {
      EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 8) << line;
      ++rows;
    }
  }
  EXPECT_FALSE(block);
  EXPECT_EQ(rows, 3u);
}

TEST(Results, HaveNoSecrets) {
  const SessionReport whole = report_of_results();
  for (const std::string& text : {to_junit(whole), to_sarif(whole), to_markdown(whole)}) {
    EXPECT_EQ(text.find("hunter2"), std::string::npos);
    EXPECT_EQ(text.find("s3cret"), std::string::npos);
  }
}

TEST(Results, LoseNoneOfTenThousandFindings) {
  constexpr size_t kMany = 10'000;
  std::vector<Execution> failures;
  for (size_t i = 0; i < kMany; ++i)
    failures.push_back(
        failing_execution({result_fault(2 * i, "refused"), result_fault(2 * i + 1, "timeout")}));
  SessionReport whole = report_of_results();
  whole.tests[0].cases.clear();
  whole.tests[0].findings = group_failures(failures);
  ASSERT_EQ(whole.tests[0].findings.size(), kMany);
  EXPECT_EQ(PlainJson::parse(to_json(whole))["tests"][0]["findings"].size(), kMany);
  const auto document = parsed(to_junit(whole));
  EXPECT_EQ(document.document_element().attribute("failures").as_int(), static_cast<int>(kMany));
  EXPECT_EQ(PlainJson::parse(to_sarif(whole))["runs"][0]["results"].size(), kMany);
  const std::string markdown = to_markdown(whole);
  EXPECT_LT(markdown.size(), kMaxMarkdown);
  EXPECT_NE(markdown.find("10000 findings fail"), std::string::npos);
  EXPECT_NE(markdown.find(" more (all are in report.json)"), std::string::npos);
}

TEST(PlainText, ReplacesWhatXmlDoesNotAllow) {
  const std::string kNo = "\xEF\xBF\xBD";
  EXPECT_EQ(plain_text("a\tb\r\nc é \xF0\x9F\x98\x80"), "a\tb\r\nc é \xF0\x9F\x98\x80");
  EXPECT_EQ(plain_text(std::string("\0\x1b", 2)), kNo + kNo);
  EXPECT_EQ(plain_text("\xff\xc3"), kNo + kNo);            // no sequence, and one that is cut
  EXPECT_EQ(plain_text("\xc0\xaf"), kNo + kNo);            // longer than it need be
  EXPECT_EQ(plain_text("\xed\xa0\x80"), kNo + kNo + kNo);  // a surrogate
  EXPECT_EQ(plain_text("\xef\xbf\xbe"), kNo);              // U+FFFE
  EXPECT_EQ(one_line("a\nb\tc"), "a b c");
}

}  // namespace
}  // namespace filibuster
