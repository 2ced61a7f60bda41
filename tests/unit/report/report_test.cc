#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/text/shell_word.h"
#include "daemon/report/again.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/json.h"
#include "daemon/report/text.h"
#include "tests/unit/report/report_recipe.h"

namespace filibuster::test {
namespace {

TEST(Findings, AFailingSetBelongsToTheSmallerOneThatItContains) {
  const auto a = fault(1, "refused"), b = fault(2, "refused"), other = fault(1, "timeout");
  const auto findings =
      group_failures({execution(1, {a, b}), execution(2, {a}), execution(3, {b, other}),
                      execution(4, {b, a}), execution(5, {other, b})});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].minimal.size(), 1u);
  EXPECT_EQ(findings[0].minimal_execution.number, 2u);
  EXPECT_EQ(findings[0].executions, 3u);
  EXPECT_EQ(findings[1].minimal.size(), 2u);
  EXPECT_EQ(findings[1].minimal_execution.number, 3u);
  EXPECT_EQ(findings[1].executions, 2u);
  EXPECT_TRUE(group_failures({}).empty());
}

TEST(Findings, OnlyWhatConcernsTheUserIsAFailure) {
  EXPECT_TRUE(is_failure(Verdict::kFailed));
  EXPECT_TRUE(is_failure(Verdict::kCrashed));
  EXPECT_TRUE(is_failure(Verdict::kTestTimeout));
  EXPECT_FALSE(is_failure(Verdict::kPassed));
  EXPECT_FALSE(is_failure(Verdict::kPlanNotMet));
  EXPECT_FALSE(is_failure(Verdict::kIncomplete));
  EXPECT_FALSE(is_failure(Verdict::kNotQuiescent));
  EXPECT_EQ(verdict_name(Verdict::kPlanNotMet), "plan-not-met");
}

TEST(Text, OfAFindingNamesFaultCallSitePathOutputAndReplay) {
  const std::string text = to_text(report().tests[0].findings[0]);
  for (const char* part : {"the test fails: AssertionError: 500 != 200\n",
                           "users -> bookings  GET /users/x/bookings?token=[redacted] (call 2)",
                           "status:503: answer 503", "users.py:31 (get_bookings)",
                           "test > users > bookings", "  | AssertionError: 500 != 200",
                           "filibuster replay .filibuster/counterexamples/1.json", "fails again"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
  }
}

TEST(Text, NamesACommandToRedisByItsKeyAndError) {
  const auto finding = group_failures({execution(1, {redis_fault("redis:BUSY", "later")})})[0];
  EXPECT_EQ(to_line(finding),
            "the test fails: AssertionError: 500 != 200 under users -> cache  GET user:* (call 2): "
            "redis:BUSY \"later\"");
  EXPECT_NE(to_text(finding).find("redis:BUSY \"later\": Redis answers with the error BUSY\n"),
            std::string::npos)
      << to_text(finding);
  EXPECT_NE(to_text(group_failures({execution(1, {redis_fault("redis:nil")})})[0])
                .find("redis:nil: Redis answers with a null\n"),
            std::string::npos);
}

TEST(Text, SaysWhatToDoAboutConnectionsToRedis) {
  SessionReport session = report();
  session.tests[0].dependencies_not_tested = {
      {"users", "127.0.0.1:6379", "cache", "redis", true, 1},
      {"users", "127.0.0.1:6380", "", "redis", true, 1},
      {"users", "127.0.0.1:6379", "cache", "redis-blocking-command", true, 2},
      {"users", "127.0.0.1:6379", "cache", "redis-publish-subscribe", true, 1},
      {"users", "127.0.0.1:6379", "cache", "redis-not-followed", true, 1}};
  const std::string text = to_text(session);
  for (
      const char* part :
      {"users -> cache (127.0.0.1:6379): redis (it speaks Redis, and is not declared so: \"protocol\": "
       "\"redis\" in the entry of 'cache' gives its commands faults), 1 time\n",
       "users -> 127.0.0.1:6380: redis (it speaks Redis, and is no service of the configuration: an entry "
       "in `services` with its address and \"protocol\": \"redis\" gives its commands faults), 1 time\n",
       "redis-blocking-command (a command that waits for other clients, such as BLPOP, gets no fault), 2 times\n",
       "redis-publish-subscribe (after a command such as SUBSCRIBE",
       "redis-not-followed (after a command such as CLIENT"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
  }
}

TEST(Text, NamesAGrpcCallByItsMethodAndStatus) {
  const auto finding = group_failures({execution(1, {grpc_fault("grpc:14:after", "no stock")})})[0];
  EXPECT_EQ(to_line(finding),
            "the test fails: AssertionError: 500 != 200 under order -> cart  "
            "shop.CartService/GetCart (call 2): grpc:UNAVAILABLE:after \"no stock\"");
  const std::string text = to_text(finding);
  EXPECT_NE(text.find("grpc:UNAVAILABLE:after \"no stock\": gRPC status UNAVAILABLE after the "
                      "request took effect"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("POST"), std::string::npos) << text;
}

TEST(Text, NamesTheOptionThatAcceptsWhatIsUntestedOnlyWhereItDoes) {
  SessionReport session = report();
  session.tests[0].rpcs.untested = {{"a -> b GET /", "its cause is not known"}};
  EXPECT_NE(tested_text(session).find("--allow-untested"), std::string::npos);
  session.tests[0].counts.abandoned = 1;
  EXPECT_EQ(tested_text(session).find("--allow-untested"), std::string::npos);
}

TEST(Text, RedactsTheMessageOfAStatus) {
  const auto finding = group_failures({execution(1, {grpc_fault("grpc:16", "token=s3cret")})})[0];
  EXPECT_EQ(to_text(finding).find("s3cret"), std::string::npos);
  SessionReport session = report();
  session.tests[0].findings = {finding};
  session.tests[0].reference[0].grpc_message = "password=hunter2";
  const std::string json = to_json(session);
  EXPECT_EQ(json.find("s3cret"), std::string::npos);
  EXPECT_EQ(json.find("hunter2"), std::string::npos);
}

TEST(Findings, FaultsThatOnlyTheirMessageTellsApartAreTwo) {
  EXPECT_EQ(group_failures({execution(1, {grpc_fault("grpc:14", "a")}),
                            execution(2, {grpc_fault("grpc:14", "b")})})
                .size(),
            2u);
}

TEST(Text, OfASessionSaysWhatWasExploredSkippedAndNotTested) {
  const std::string text = to_text(report());
  for (const char* part :
       {"27 executions", "46 redundant", "1 finding", "41 ms", "faults: the default set",
        "execution {users -> bookings: refused}: plan not met",
        "users -> postgres (127.0.0.1:5432): udp, 3 times",
        "users -> metrics POST /push: its cause is not known", "reduction (ESR) was off"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
  }
}

TEST(Text, SaysThatTheApplicationHasChangedSinceWhenAndWhatIsInDoubt) {
  SessionReport session = report();
  TestReport& test = session.tests[0];
  EXPECT_EQ(drift_text(test), "");
  Drift drift;
  drift.what = {"front -> back GET /?token=s3cret is made no longer"};
  drift.after = 5;
  drift.seen = 12;
  drift.executions = 6;
  drift.findings = {test.findings[0].id};
  EXPECT_FALSE(drift.contains(5));
  EXPECT_TRUE(drift.contains(6));
  EXPECT_TRUE(drift.contains(13)) << "nothing says that it was as before again";
  test.again = {{12}, {drift}};
  const std::string text = to_text(session);
  for (const char* part : {"THE APPLICATION CHANGED MEANWHILE", "is made no longer",
                           "since execution 6 at the earliest, seen in 12;", "6 executions",
                           "in doubt: finding ", "\"restart\": \"each\""}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
  }
  EXPECT_EQ(text.find("s3cret"), std::string::npos);
  const auto again = nlohmann::json::parse(to_json(session))["tests"][0]["reference_again"];
  EXPECT_EQ(again["executions"], nlohmann::json({12}));
  EXPECT_EQ(again["drifts"][0]["findings"][0], test.findings[0].id);
  EXPECT_EQ(again.dump().find("s3cret"), std::string::npos);
  test.again.drifts[0].until = 10;
  EXPECT_FALSE(test.again.drifts[0].contains(10));
}

TEST(Text, SaysWhenAFailureDidNotReproduceAndWhenTheSpaceIsNotExplored) {
  SessionReport session = report();
  session.tests[0].findings[0].reproduced = false;
  session.tests[0].finished = false;
  session.tests[0].counts.open = 5;
  const std::string text = to_text(session);
  EXPECT_NE(text.find("DID NOT REPRODUCE"), std::string::npos);
  EXPECT_NE(text.find("NOT FINISHED"), std::string::npos);
  EXPECT_NE(text.find("5 scheduled executions"), std::string::npos);
}

TEST(Text, SaysFindingsFirstThenWhatWasNotTestedThenNotesThenCounts) {
  SessionReport session = report();
  session.command_line = "filibuster run --max-time 40";
  TestReport& test = session.tests[0];
  test.findings[0].number = 1;
  test.time_over = true;
  test.finished = false;
  test.places = {3, 2};
  test.left_places = {{"gateway",
                       "catalog",
                       "gateway.py:33 (books)",
                       false,
                       {{"refused", 1}, {"timeout", 2}},
                       12,
                       30}};
  test.proposed_masks = "[{\"header\": \"date\"}]";
  const std::string text = to_text(session, "coverage: all\n");
  size_t last = 0;
  for (const char* part :
       {"test \"bookings\": 1 finding\n", "\n  finding 1: ", "call site     users.py:31",
        "run it again: filibuster replay", "last lines of the test's own output:",
        "1 of 3 places without any fault, 3 single faults, 12 pairs, 30 larger sets of faults\n",
        "gateway -> catalog at gateway.py:33 (books): no fault yet; 12 pairs, 30 with more faults; "
        "single faults: refused, timeout (2)\n",
        "to go on: filibuster run --max-time 40\n", "not explored:",
        "RPCs that were never faulted:", "\"nondeterminism\": [{", "notes:", "coverage: all\n",
        "27 executions in 3.2 s, 46 redundant, NOT FINISHED\n", "41 ms (median)"}) {
    const size_t at = text.find(part);
    ASSERT_NE(at, std::string::npos) << part << " in:\n" << text;
    EXPECT_GE(at, last) << part << " in:\n" << text;
    last = at;
  }
  EXPECT_EQ(text.find("executions"), text.find("executions in 3.2 s"))
      << "the heading has no counts";
  test.proposed_masks = std::string(1000, 'x');
  EXPECT_EQ(to_text(session).find("xxx"), std::string::npos) << "it is in the report";
  const auto json = nlohmann::json::parse(to_json(session));
  EXPECT_EQ(json["command"], "filibuster run --max-time 40");
  EXPECT_EQ(json["tests"][0]["left_places"][0]["singles"][1],
            (nlohmann::json{{"fault", "timeout"}, {"executions", 2}}));
}

TEST(Text, AFindingIsCalledByTheTestsOwnWords) {
  SessionReport session = report();
  std::vector<Finding>& findings = session.tests[0].findings;
  const auto called = [&](const std::string& output, std::vector<InjectedFault> faults) {
    Execution failed = execution(4, std::move(faults));
    failed.output = output;
    findings = group_failures({failed});
    findings[0].number = 1;
    const std::string text = to_text(session);
    const size_t at = text.find("  finding 1: ");
    return text.substr(at + 13, text.find('\n', at) - at - 13);
  };
  const InjectedFault one = fault(1, "status:503"), other = fault(2, "timeout");
  const std::string pytest =
      "___ test_all ___\n\n>   assert r.status in (200, 503)\nE   assert 500 in (200, 503)\n"
      "E    +  where 500 = r.status\n\ntest_shop.py:7: AssertionError\n=== short ===\n"
      "FAILED test_shop.py::test_all - assert 500\n";
  EXPECT_EQ(called(pytest, {one}), "test_shop.py::test_all fails: assert 500 in (200, 503)");
  EXPECT_EQ(
      called(pytest + "FAILED test_shop.py::test_two - assert 1\n", {one, other}),
      "test_shop.py::test_all fails: assert 500 in (200, 503); so does test_shop.py::test_two "
      "(under 2 faults in combination)");
  EXPECT_EQ(to_line(findings[0]).find("the test fails"), std::string::npos);
  EXPECT_EQ(called("got 500\n", {one}), "the test fails (exit status 1) under 1 fault")
      << "nothing is recognised";
  EXPECT_EQ(called("Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n"
                   "KeyError: 'token=s3cret'\n",
                   {one}),
            "the test fails: KeyError: 'token=[redacted]'");
}

TEST(Text, OneFaultAtEachAttemptOfACallIsOneLine) {
  std::vector<InjectedFault> attempts(3, fault(1, "status:503"));
  for (uint32_t i = 0; i < 3; ++i) {
    attempts[i].index = Hash128{9, i};
    attempts[i].count = i + 1;
    attempts[0].attempts.push_back({i + 1, "status:503", i == 0 ? "first" : "same-request"});
  }
  const Finding all = group_failures({execution(4, attempts)})[0];
  EXPECT_EQ(headline(all), "the test fails (exit status 1) under one fault at each of 3 attempts");
  EXPECT_NE(to_line(all).find(" (each of its 3 attempts): status:503"), std::string::npos)
      << to_line(all);
  EXPECT_EQ(to_line(all).find(" + "), std::string::npos) << to_line(all);
  EXPECT_NE(to_text(all).find("3 came: status:503, status:503 (same-request)"), std::string::npos);
  // Without what was seen of them, calls that look alike are told one by one.
  attempts[0].attempts.clear();
  const Finding calls = group_failures({execution(4, attempts)})[0];
  EXPECT_EQ(headline(calls), "the test fails (exit status 1) under 3 faults in combination");
  EXPECT_NE(to_line(calls).find("(call 3): status:503"), std::string::npos) << to_line(calls);
}

TEST(Text, ShowsOneOfTheLinesThatDifferInTheirNumbersOnly) {
  SessionReport session = report();
  std::vector<std::string>& lines = session.tests[0].without_cause;
  for (int i = 0; i < 3; ++i)
    lines.push_back("users -> search GET /" + std::to_string(i) + ": its cause is not known");
  for (int i = 7; i < 107; ++i)
    lines.push_back("users -> audit GET /tick/" + std::to_string(i) + ": its cause is not known");
  const std::string text = to_text(session);
  for (const char* shown : {"POST /push", "GET /0:", "and 2 more that differ",
                            "/tick/7:", "and 99 more that differ in their numbers only"})
    EXPECT_NE(text.find(shown), std::string::npos) << shown << " in:\n" << text;
  EXPECT_EQ(text.find("/tick/8:"), std::string::npos) << text;
  EXPECT_NE(to_json(session).find("/tick/106:"), std::string::npos) << "the report has them all";
}

TEST(Text, GivesTheReplayCommandAsAShellReadsIt) {
  EXPECT_EQ(shell_word(".filibuster/counterexamples/1.json"), ".filibuster/counterexamples/1.json");
  EXPECT_EQ(shell_word("my shop/1.json"), "'my shop/1.json'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word(""), "''");
  SessionReport session = report();
  session.tests[0].findings[0].counterexample = "my shop/1.json";
  EXPECT_NE(to_text(session).find("filibuster replay 'my shop/1.json'\n"), std::string::npos);
}

TEST(Text, KeepsOnlyTheLastLinesOfALongOutput) {
  Execution failed = execution(1, {fault(1, "refused")});
  failed.output.clear();
  for (int i = 0; i < 100; ++i) failed.output += "line " + std::to_string(i) + "\n";
  const std::string text = to_text(group_failures({failed})[0]);
  EXPECT_EQ(text.find("line 89\n"), std::string::npos);
  EXPECT_NE(text.find("line 90\n"), std::string::npos);
  EXPECT_NE(text.find("line 99\n"), std::string::npos);
}

TEST(Text, FindingsOfOneCauseStandTogetherAndNotesComeAfterThem) {
  SessionReport session = report();
  TestReport& test = session.tests[0];
  InjectedFault other = fault(2, "refused");
  other.stack = {"users.py:40 (get_user)"};
  test.findings = group_failures({execution(4, {fault(1, "status:503")}), execution(5, {other}),
                                  execution(6, {fault(1, "timeout")})});
  for (uint32_t i = 0; i < 3; ++i) test.findings[i].number = i + 1;
  test.findings[2].reproduced = false;
  const std::string text = to_text(session);
  const size_t first = text.find("  finding 1: the test fails"),
               alike = text.find(
                   "under:\n       finding 3: GET /users/x/bookings?token=[redacted] (call 2): "
                   "timeout; DID NOT REPRODUCE\n"),
               second = text.find("  finding 2: the test fails"), notes = text.find("  notes:");
  EXPECT_LT(first, alike) << text;
  EXPECT_LT(alike, second) << text;
  EXPECT_LT(second, notes) << text;
  EXPECT_NE(notes, std::string::npos) << text;
}

TEST(Text, ACallSiteIsNamedByTheFrameThatTellsItFromOthers) {
  SessionReport session = report();
  InjectedFault one = fault(1, "refused"), other = fault(2, "refused"), third = fault(3, "refused");
  one.stack = {"http.js:383 (send)", "checkout.js:88 (pay)", "app.js:5 (serve)"};
  other.stack = {"http.js:383 (send)", "checkout.js:90 (refund)", "app.js:5 (serve)"};
  for (InjectedFault* fault : {&one, &other}) fault->call_site = fault->stack[0];
  session.tests[0].findings =
      group_failures({execution(1, {one}), execution(2, {other}), execution(3, {third})});
  const std::string text = to_text(session);
  for (const char* site : {"checkout.js:88 (pay) via http.js:383 (send)\n",
                           "checkout.js:90 (refund) via http.js:383 (send)\n",
                           "call site     users.py:31 (get_bookings)\n"})
    EXPECT_NE(text.find(site), std::string::npos) << site << text;
}

TEST(Report, SaysOnceForEachReasonWhyTestsAreNotForked) {
  SessionReport report;
  const auto add = [&](const std::string& name, const std::string& why, const std::string& remedy) {
    TestReport test;
    test.test = name;
    test.start = "ahead";
    test.why_not_forked = why;
    test.remedy = remedy;
    report.tests.push_back(test);
  };
  add("a", "it has 3 threads", "start threads after the first call");
  EXPECT_NE(to_text(report).find("  the test is not forked, so each execution starts it: it has 3 "
                                 "threads. Remedy: start threads after the first call\n"),
            std::string::npos)
      << to_text(report);
  add("b", "its first call comes after 12 ms", "");
  add("c", "it has 3 threads", "start threads after the first call");
  add("d", "it listens on 127.0.0.1:80", "listen after the first call");
  const std::string text = to_text(report);
  EXPECT_NE(text.find("\n2 tests (\"a\", ...) are not forked, so each execution starts it: it has"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\ntest \"d\" is not forked, so each execution starts it: it listens"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("12 ms"), std::string::npos) << text;
  report.tests.resize(1);
  report.tests[0].start = "forked";
  EXPECT_EQ(to_text(report).find("not forked"), std::string::npos);
}

}  // namespace
}  // namespace filibuster::test
