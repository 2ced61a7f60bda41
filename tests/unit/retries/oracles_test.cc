#include "daemon/retries/oracles.h"

#include <gtest/gtest.h>

#include "daemon/retries/clusters.h"
#include "tests/unit/retries/recipe.h"

namespace filibuster::retries {
namespace {

constexpr char kLibrary[] = "/usr/lib/python3/dist-packages/requests/adapters.py:713 (send)";

suite::Raised raised(std::string type, std::vector<std::string> frames, std::string message = "",
                     suite::Link link = suite::Link::kLast) {
  return {std::move(type), std::move(message), std::move(frames), link};
}

FaultedTest fails_by(std::vector<suite::Raised> chain,
                     std::vector<std::string> outcomes = {"timeout:after"}) {
  FaultedTest test;
  test.ending = Ending::kFailed;
  test.failure.chain = std::move(chain);
  test.outcomes = std::move(outcomes);
  return test;
}

FaultedTest ends(Ending ending) {
  FaultedTest test;
  test.ending = ending;
  return test;
}

SurfacesAs learned() {
  SurfacesAs out;
  suite::Failure failure;
  failure.chain = {raised("requests.exceptions.ReadTimeout", {kLibrary, "shop.py:3 (pay)"})};
  out.learn("timeout", failure);
  return out;
}

Verdict judged(const FaultedTest& test, const ExecutionRecord& execution = {},
               const OracleOptions& options = {}) {
  return judge(test, execution, group_attempts(execution), learned(), options);
}

TEST(Oracles, WhatAFaultSurfacesAsIsLearnedFromTheClientLibraryAlone) {
  SurfacesAs surfaces = learned();
  EXPECT_TRUE(surfaces.has("timeout:after", "ReadTimeout")) << "its caller sees the same";
  EXPECT_FALSE(surfaces.has("status:503", "ReadTimeout"));
  suite::Failure own;
  own.chain = {raised("KeyError", {"shop.py:3 (pay)", kLibrary})};
  surfaces.learn("timeout", own);
  EXPECT_FALSE(surfaces.has("timeout", "KeyError")) << "the application raised it";
  surfaces.give("status:503", "shop.Busy");
  EXPECT_TRUE(surfaces.has("status:503", "Busy"));
  EXPECT_EQ(surfaces.of("timeout").size(), 1u);
}

TEST(Oracles, AnExceptionThatTheFaultSurfacesAsIsConsistent) {
  const Verdict verdict =
      judged(fails_by({raised("requests.exceptions.ReadTimeout", {kLibrary, "shop.py:3 (pay)"})}));
  EXPECT_EQ(verdict.oracle, Oracle::kConsistentException);
  EXPECT_FALSE(is_bug(verdict.oracle));
}

TEST(Oracles, AValueThatCannotBeReadIsNotConsistentBecauseItsMessageQuotesTheAnswer) {
  const std::string body = R"({"type":"about:blank","title":"Service Unavailable","status":503})";
  FaultedTest test = fails_by({raised("ValueError", {"shop.py:3 (pay)"},
                                      "invalid literal for int() with base 10: '" + body + "'")},
                              {"status:503"});
  EXPECT_EQ(judged(test).oracle, Oracle::kConsistentException) << "the answer is not known";
  test.error_bodies = {body};
  EXPECT_EQ(judged(test).oracle, Oracle::kInconsistentException);
  test.failure.chain[0].message = "of the 503: '" + body.substr(0, 30) + "'";
  EXPECT_EQ(judged(test).oracle, Oracle::kConsistentException) << "it names the status itself";
  test.failure.chain[0].type = "shop.StoreError";
  test.failure.chain[0].message = "the store said " + body;
  EXPECT_EQ(judged(test).oracle, Oracle::kConsistentException) << "it hands the answer on";
}

TEST(Oracles, AFrameBelowTheFolderOfMochaMayBeALibrarys) {
  EXPECT_TRUE(is_library_frame("node_modules/axios/dist/node/axios.cjs:712 (RedirectableRequest)"));
  EXPECT_FALSE(is_library_frame("src/node_modules.js:3 (load)"));
}

TEST(Oracles, AnExceptionThatNamesTheInjectedStatusOrCodeIsConsistent) {
  FaultedTest test = fails_by(
      {raised("shop.StoreError", {"shop.py:3 (pay)"}, "the store said 503")}, {"status:503"});
  EXPECT_EQ(judged(test).oracle, Oracle::kConsistentException);
  test.failure.chain[0].message = "item 15034 is missing";
  EXPECT_EQ(judged(test).oracle, Oracle::kInconsistentException);
  test.failure.chain[0].message = "ServerBusy: try again";
  test.error_codes = {"ServerBusy"};
  EXPECT_EQ(judged(test).oracle, Oracle::kConsistentException);
}

TEST(Oracles, WhatStandsForAConsistentExceptionIsConsistent) {
  const suite::Raised timeout = raised("ReadTimeout", {kLibrary}, "", suite::Link::kCause);
  EXPECT_EQ(judged(fails_by({raised("StoreError", {"shop.py:9 (pay)"}), timeout})).oracle,
            Oracle::kConsistentException);
}

TEST(Oracles, WhatCameWhileItWasHandledIsNot) {
  const suite::Raised timeout = raised("ReadTimeout", {kLibrary}, "", suite::Link::kContext);
  const Verdict verdict = judged(fails_by({raised("KeyError", {"shop.py:9 (pay)"}), timeout}));
  EXPECT_EQ(verdict.oracle, Oracle::kInconsistentException);
  EXPECT_TRUE(is_bug(verdict.oracle));
  EXPECT_NE(verdict.evidence.find("shop.py:9 (pay)"), std::string::npos);
}

TEST(Oracles, AnExceptionOfTheTestsOwnCodeIsNoBug) {
  EXPECT_EQ(judged(fails_by({raised("KeyError", {"/srv/test_shop.py:9 (test_pay)"})})).oracle,
            Oracle::kTestCode);
  OracleOptions options;
  options.test_code = {"checks/"};
  EXPECT_EQ(
      judged(fails_by({raised("KeyError", {"/srv/checks/pay.py:9 (pay)"})}), {}, options).oracle,
      Oracle::kTestCode);
  EXPECT_EQ(judged(fails_by({raised("KeyError", {"/srv/test_shop.py:9 (t)"})}), {}, options).oracle,
            Oracle::kInconsistentException);
}

TEST(Oracles, OfASystemTestAnyExceptionIsABug) {
  OracleOptions options;
  options.any_exception_is_a_bug = true;
  EXPECT_EQ(judged(fails_by({raised("ReadTimeout", {kLibrary})}), {}, options).oracle,
            Oracle::kAnyException);
}

TEST(Oracles, AnExceptionThatOnlyTheRunnerCaughtIsADeathUnlessItIsConsistent) {
  FaultedTest test = fails_by({raised("TypeError", {"shop.js:3 (pay)"})});
  test.uncaught = true;
  EXPECT_EQ(judged(test).oracle, Oracle::kProcessDied);
  EXPECT_NE(judged(test).evidence.find("shop.js:3 (pay)"), std::string::npos);
  test.failure.chain = {raised("requests.exceptions.ReadTimeout", {kLibrary, "shop.py:3 (pay)"})};
  EXPECT_EQ(judged(test).oracle, Oracle::kConsistentException)
      << "a test may await it in a callback";
  test.failure.chain = {raised("KeyError", {"/srv/test_shop.py:9 (test_pay)"})};
  EXPECT_EQ(judged(test).oracle, Oracle::kTestCode);
  test.failure.chain = {raised("AssertionError", {"shop.js:3 (pay)"})};
  test.failure.assertion = true;
  EXPECT_EQ(judged(test).oracle, Oracle::kAssertion) << "callbacks of tests have assertions";
}

TEST(Oracles, ARunnerThatSucceedsWithoutAResultHasDied) {
  FaultedTest test = ends(Ending::kDied);
  test.no_result = true;
  EXPECT_EQ(judged(test).oracle, Oracle::kProcessDied);
  EXPECT_NE(judged(test).evidence.find("without a result"), std::string::npos);
}

TEST(Oracles, AnAssertionADeathAndAHangAreBugs) {
  FaultedTest assertion = fails_by({raised("AssertionError", {"test_shop.py:3 (t)"}, "4 != 3")});
  assertion.failure.assertion = true;
  EXPECT_EQ(judged(assertion).oracle, Oracle::kAssertion);
  EXPECT_EQ(judged(ends(Ending::kDied)).oracle, Oracle::kProcessDied);
  FaultedTest hung = ends(Ending::kHung);
  hung.hang = "the test did not end within 5 s";
  EXPECT_EQ(judged(hung).oracle, Oracle::kHang);
  EXPECT_EQ(judged(hung).evidence, hung.hang);
  EXPECT_EQ(judged(fails_by({})).oracle, Oracle::kUnreadable);
  EXPECT_EQ(judged(ends(Ending::kPassed)).oracle, Oracle::kNone);
  for (const Oracle oracle : {Oracle::kAssertion, Oracle::kProcessDied, Oracle::kHang})
    EXPECT_TRUE(is_bug(oracle));
}

TEST(Oracles, AMutationThatSucceededTwiceBehindAPassIsAPossibleSilentViolation) {
  const auto twice = record({attempt(rpc("POST", "/orders"), 1, "timeout:after"),
                             attempt(rpc("POST", "/orders"), 2, "")});
  const Verdict verdict = judged(ends(Ending::kPassed), twice);
  EXPECT_EQ(verdict.oracle, Oracle::kPossibleSilentViolation);
  EXPECT_NE(verdict.evidence.find("POST /orders"), std::string::npos);
  EXPECT_NE(verdict.evidence.find("attempt 1 and attempt 2"), std::string::npos)
      << verdict.evidence;
  const auto once = record(
      {attempt(rpc("POST", "/orders"), 1, "status:503"), attempt(rpc("POST", "/orders"), 2, "")});
  EXPECT_EQ(judged(ends(Ending::kPassed), once).oracle, Oracle::kNone);
  const auto idempotent = record({attempt(rpc("PUT", "/orders/1"), 1, "timeout:after"),
                                  attempt(rpc("PUT", "/orders/1"), 2, "")});
  EXPECT_EQ(judged(ends(Ending::kPassed), idempotent).oracle, Oracle::kNone);
  const auto calls = record({rpc("POST", "/orders"), rpc("POST", "/orders")});
  EXPECT_EQ(judged(ends(Ending::kPassed), calls).oracle, Oracle::kNone)
      << "two calls, not two attempts";
}

Suspect suspect(FaultedTest outcome, const ExecutionRecord& execution,
                std::string site = "shop.py:3 (pay)") {
  Suspect out;
  out.test = "t";
  out.policy = "P1";
  out.call_site = std::move(site);
  out.verdict = judged(outcome, execution);
  out.outcome = std::move(outcome);
  return out;
}

Taxonomy labelled(FaultedTest outcome, const ExecutionRecord& execution) {
  const Suspect one = suspect(std::move(outcome), execution);
  const auto groups = group_attempts(execution);
  return label(one, execution, groups.empty() ? nullptr : &groups.front()).taxonomy;
}

TEST(Taxonomy, WhatComesOutAsItWasRaisedIsNotHandled) {
  const auto execution = record({attempt(rpc("GET", "/a"), 1, "timeout:after")});
  EXPECT_EQ(labelled(fails_by({raised("ReadTimeout", {kLibrary})}), execution),
            Taxonomy::kNoHandling);
}

TEST(Taxonomy, ARetryThatMeetsWhatTheFirstAttemptDidIsAnUnrelatedException) {
  const auto execution = record({attempt(rpc("PUT", "/blob"), 1, "timeout:after"),
                                 answered(attempt(rpc("PUT", "/blob"), 2, ""), 409)});
  EXPECT_EQ(labelled(fails_by({raised("BlobExists", {"shop.py:3 (pay)"})}), execution),
            Taxonomy::kUnrelatedException);
}

TEST(Taxonomy, AMutationThatSucceededTwiceIsASilentSemanticViolation) {
  const auto execution = record(
      {attempt(rpc("POST", "/queue"), 1, "timeout:after"), attempt(rpc("POST", "/queue"), 2, "")});
  FaultedTest assertion = fails_by({raised("AssertionError", {"test_shop.py:3 (t)"}, "2 != 1")});
  assertion.failure.assertion = true;
  EXPECT_EQ(labelled(assertion, execution), Taxonomy::kSilentSemanticViolation);
  EXPECT_EQ(labelled(ends(Ending::kPassed), execution), Taxonomy::kSilentSemanticViolation);
}

TEST(Taxonomy, AnotherFailureAfterACallThatFailedIsAStateDivergence) {
  const auto never = record({attempt(rpc("PUT", "/container"), 1, "status:503"),
                             attempt(rpc("PUT", "/container"), 2, "status:503"),
                             answered(rpc("PUT", "/blob"), 404)});
  EXPECT_EQ(labelled(fails_by({raised("NotFound", {"shop.py:9 (put)"})}, {"status:503"}), never),
            Taxonomy::kStateDivergence);
  const auto once =
      record({attempt(rpc("PUT", "/container"), 1, "timeout:after"),
              attempt(rpc("PUT", "/container"), 2, "status:503"), rpc("GET", "/container")});
  EXPECT_EQ(labelled(fails_by({raised("KeyError", {"shop.py:9 (put)"})}), once),
            Taxonomy::kStateDivergence);
  EXPECT_EQ(labelled(fails_by({raised("KeyError", {"shop.py:9 (put)"})}), {}), Taxonomy::kNone);
}

TEST(Oracles, AnExceptionThatNamesTheInjectedErrorIsAboutItAlsoBeforeALaterRefusal) {
  const ExecutionRecord cleaned_up = record(
      {attempt(rpc("POST", "/create"), 1, "status:503"), answered(rpc("POST", "/drop"), 400)});
  const auto oracle = [&](const char* type, std::vector<std::string> frames) {
    FaultedTest test = fails_by({raised(type, std::move(frames))}, {"status:503"});
    test.error_codes = {"ServiceUnavailableException"};
    test.call_site = "shop.py:3 (pay)";
    test.group = 0;
    return judged(test, cleaned_up).oracle;
  };
  for (const char* const type :
       {"ServiceUnavailableException", "shop.ServiceUnavailable", "ServiceUnavailableError"})
    EXPECT_EQ(oracle(type, {}), Oracle::kConsistentException) << type;
  EXPECT_EQ(oracle("ReadTimeout", {}), Oracle::kInconsistentException)
      << "it is about what came later";
  EXPECT_EQ(oracle("UnavailableError", {"shop.py:3 (pay)"}), Oracle::kInconsistentException);
}

TEST(Oracles, ATestThatExpectsTheServersOwnErrorSaysThatItGotTheInjectedOne) {
  SurfacesAs surfaces;
  surfaces.give("status:503", "store.Busy");
  const auto oracle = [&](const std::string& said, bool own_error, bool strict = false) {
    FaultedTest test =
        fails_by({raised("AssertionError", {"test_shop.py:3 (t)"}, said)}, {"status:503"});
    test.failure.assertion = true;
    test.own_error = own_error;
    OracleOptions options;
    options.any_exception_is_a_bug = strict;
    return judge(test, {}, {}, surfaces, options).oracle;
  };
  EXPECT_EQ(oracle("503 != 404", true), Oracle::kConsistentException);
  EXPECT_EQ(oracle("expected NotFound, but was Busy", true), Oracle::kConsistentException);
  EXPECT_EQ(oracle("[] != ['a']", true), Oracle::kAssertion);
  EXPECT_EQ(oracle("503 != 404", false), Oracle::kAssertion);
  EXPECT_EQ(oracle("503 != 404", true, true), Oracle::kAssertion);
}

TEST(Oracles, CallsThatLookLikeAttemptsAreOthersWhereTheServerDoesNoMoreThanUsual) {
  const auto oracle = [](const std::string& second, bool usual_acts) {
    const RpcRecord first = attempt(rpc("POST", "/items/1a"), 1, "timeout:after");
    RpcRecord other = attempt(rpc("POST", second), 2, "");
    other.attempt_of = first.attempt_of;
    FaultedTest test = ends(Ending::kPassed);
    test.group = 0;
    test.usual_acts = usual_acts;
    return judged(test, record({first, other})).oracle;
  };
  EXPECT_EQ(oracle("/items/2b", true), Oracle::kNone);
  EXPECT_EQ(oracle("/items/2b", false), Oracle::kPossibleSilentViolation);
  EXPECT_EQ(oracle("/items/1a", true), Oracle::kPossibleSilentViolation) << "it is the same";
}

TEST(Clusters, HaveTheSameCallSiteAndTheSameFramesOrAssertion) {
  const ExecutionRecord nothing;
  const auto key_error = [](const char* frame) {
    return fails_by({raised("KeyError", {frame, "/srv/test_shop.py:5 (t)"})});
  };
  const auto assertion = [](const char* said) {
    FaultedTest test = fails_by({raised("AssertionError", {"test_shop.py:3 (t)"}, said)});
    test.failure.assertion = true;
    return test;
  };
  const std::vector<Suspect> suspects = {
      suspect(key_error("shop.py:9 (put)"), nothing),
      suspect(key_error("shop.py:9 (put)"), nothing),
      suspect(key_error("shop.py:12 (get)"), nothing),
      suspect(key_error("shop.py:9 (put)"), nothing, "shop.py:7 (refund)"),
      suspect(assertion("2 != 1 at 0x7f01"), nothing),
      suspect(assertion("2 != 1 at 0x7f02"), nothing),
      suspect(fails_by({raised("ReadTimeout", {kLibrary})}), nothing),  // consistent: no bug
  };
  const auto clusters = cluster(suspects, std::vector<Label>(suspects.size()));
  ASSERT_EQ(clusters.size(), 4u);
  EXPECT_EQ(clusters[0].members, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(clusters[0].frames, (std::vector<std::string>{"shop.py:9 (put)"}));
  EXPECT_EQ(clusters[3].members, (std::vector<size_t>{4, 5}));
}

TEST(Oracles, WhatTheServerDidTwiceIsSaidAlsoWhereTheTestsOwnCodeFails) {
  const RpcRecord first = attempt(rpc("POST", "/send"), 1, "reset:after");
  RpcRecord second = attempt(rpc("POST", "/send"), 2, "");
  second.attempt_of = first.attempt_of;
  FaultedTest test = fails_by({raised("Timeout", {"test_shop.py:9 (wait)"})}, {"reset:after"});
  test.group = 0;
  EXPECT_EQ(judged(test, record({first, second})).oracle, Oracle::kPossibleSilentViolation);
  EXPECT_EQ(judged(test, record({first})).oracle, Oracle::kTestCode);
}

TEST(Oracles, ARunnerThatEndsWithoutAResultIsSaidWithWhatNobodyHandled) {
  FaultedTest test = fails_by({raised("ServiceUnavailable", {})});
  test.ending = Ending::kDied;
  test.no_result = true;
  EXPECT_EQ(judged(test, {}).evidence,
            "the runner ended without a result, although it says success");
  test.uncaught = true;
  EXPECT_TRUE(
      judged(test, {}).evidence.ends_with("; before that nobody had handled ServiceUnavailable"));
}

TEST(Clusters, HoldOneCause) {
  FaultedTest test = fails_by({raised("AssertionError", {"test_shop.py:3 (t)"}, "2 != 1")});
  test.failure.assertion = true;
  const ExecutionRecord nothing;
  const std::vector<Suspect> suspects(4, suspect(test, nothing));
  const auto of = [](Taxonomy taxonomy) { return Label{taxonomy, "evidence"}; };
  const auto clusters =
      cluster(suspects, {of(Taxonomy::kNone), of(Taxonomy::kSilentSemanticViolation),
                         of(Taxonomy::kStateDivergence), of(Taxonomy::kNone)});
  ASSERT_EQ(clusters.size(), 2u);
  EXPECT_EQ(clusters[0].members, (std::vector<size_t>{0, 1, 3}));
  EXPECT_EQ(clusters[0].label.taxonomy, Taxonomy::kSilentSemanticViolation);
  EXPECT_EQ(clusters[1].members, (std::vector<size_t>{2}));
}

// The faulted call is the first group.
FaultedTest of_call(FaultedTest test) {
  test.call_site = "shop.py:3 (pay)";
  test.group = 0;
  return test;
}

TEST(Oracles, AnErrorThatTheServerGaveToARetryIsNotTheFaults) {
  const FaultedTest test =
      of_call(fails_by({raised("requests.exceptions.ReadTimeout", {kLibrary, "shop.py:3 (pay)"})}));
  const ExecutionRecord told = record({attempt(rpc("PUT", "/a"), 1, "timeout:after"),
                                       answered(attempt(rpc("PUT", "/a"), 2, ""), 409)});
  EXPECT_EQ(judged(test, told).oracle, Oracle::kInconsistentException);
  const ExecutionRecord silent = record({attempt(rpc("PUT", "/a"), 1, "timeout:after"),
                                         attempt(rpc("PUT", "/a"), 2, "timeout:after")});
  EXPECT_EQ(judged(test, silent).oracle, Oracle::kConsistentException);
}

TEST(Oracles, AnExceptionThatDidNotPassTheFaultedCallIsNotTheFaults) {
  const auto at = [](const char* frame) {
    return judged(of_call(fails_by({raised("ReadTimeout", {kLibrary, frame})})),
                  record({attempt(rpc("PUT", "/a"), 1, "timeout:after")}))
        .oracle;
  };
  EXPECT_EQ(at("shop.py:3 (pay)"), Oracle::kConsistentException);
  EXPECT_EQ(at("/srv/shop.py:5 (pay)"), Oracle::kConsistentException) << "a call of several lines";
  EXPECT_EQ(at("shop.py:9 (list)"), Oracle::kInconsistentException);
  EXPECT_EQ(at(kLibrary), Oracle::kConsistentException)
      << "nothing says that it came from elsewhere";
}

TEST(Oracles, AnExceptionWithoutFramesIsAboutTheNewestErrorThatCame) {
  const FaultedTest test = of_call(fails_by({raised("ReadTimeout", {kLibrary})}));
  EXPECT_EQ(judged(test, record({attempt(rpc("PUT", "/a"), 1, "timeout:after"),
                                 answered(rpc("GET", "/a"), 404)}))
                .oracle,
            Oracle::kInconsistentException);
  EXPECT_EQ(judged(test, record({attempt(rpc("PUT", "/a"), 1, "timeout:after"), rpc("GET", "/a")}))
                .oracle,
            Oracle::kConsistentException);
}

TEST(Oracles, ClientCodeOfTheApplicationCountsAsALibrary) {
  OracleOptions options;
  options.client_code = {"*/clients.js"};
  suite::Failure failure;
  failure.chain = {raised("RestError", {"/srv/clients.js:30 (send)", "/srv/shop.js:3 (pay)"})};
  SurfacesAs surfaces;
  surfaces.learn("timeout", failure, "shop.js:3 (pay)");
  EXPECT_FALSE(surfaces.has("timeout", "RestError")) << "the application raised it";
  surfaces.learn("timeout", failure, "shop.js:3 (pay)", options);
  EXPECT_TRUE(surfaces.has("timeout", "RestError"));
}

TEST(Oracles, AMutationWithAnIdempotencyKeyMayBeRepeated) {
  EXPECT_TRUE(is_unsafe_mutation(rpc("POST", "/a"), {}));
  EXPECT_FALSE(is_unsafe_mutation(with_id(rpc("POST", "/a"), "idempotency-key", "1"), {}));
}

TEST(Oracles, WhatWasSentAgainIsEachMutationButTheLastOfItsCall) {
  const auto of = [](std::vector<RpcRecord> rpcs, const std::vector<MutationRule>& rules = {}) {
    const ExecutionRecord execution = record(std::move(rpcs));
    return sent_again(execution, group_attempts(execution), rules);
  };
  const auto failed = [](const std::string& method, const std::string& path) {
    RpcRecord out = rpc(method, path);
    out.status = 503;
    return out;
  };
  using Positions = std::vector<size_t>;
  EXPECT_EQ(of({failed("POST", "/a"), failed("POST", "/a"), rpc("POST", "/a")}), (Positions{0, 1}));
  EXPECT_EQ(of({failed("POST", "/a")}), Positions());
  EXPECT_EQ(of({failed("GET", "/a"), rpc("GET", "/a")}), Positions());
  EXPECT_EQ(of({failed("GET", "/a"), rpc("GET", "/a")}, {{.method = "GET", .idempotent = false}}),
            Positions{0});
  EXPECT_EQ(of({failed("POST", "/a"), rpc("POST", "/a")}, {{.path = "/a", .idempotent = true}}),
            Positions());
  // A refused attempt has shown no header field; the next one has a key.
  RpcRecord refused = rpc("POST", "/a");
  refused.outcome = RpcOutcome::kRefused;
  refused.status = 0;
  EXPECT_EQ(of({refused, with_id(rpc("POST", "/a"), "idempotency-key", "1")}), Positions());
  EXPECT_EQ(of({refused, rpc("POST", "/a")}), Positions{0});
  EXPECT_EQ(of({refused, refused}), Positions()) << "whether they have a key is not known";
}

TEST(Oracles, AnAnswerThatWasNotReadToItsEndIsASuccess) {
  RpcRecord closed = rpc("POST", "/a");
  closed.outcome = RpcOutcome::kClosed;
  closed.status = 0;
  EXPECT_FALSE(succeeded_at_server(closed));
  closed.begun = 200;
  EXPECT_TRUE(succeeded_at_server(closed));
  closed.begun = 503;
  EXPECT_FALSE(succeeded_at_server(closed));
}

TEST(Labels, AnExceptionAfterWhichNothingWasCalledIsNoHandling) {
  Suspect suspect;
  suspect.verdict.oracle = Oracle::kInconsistentException;
  const auto labelled = [&](const ExecutionRecord& execution) {
    const auto groups = group_attempts(execution);
    return label(suspect, execution, &groups.front()).taxonomy;
  };
  EXPECT_EQ(labelled(record({attempt(rpc("GET", "/a"), 1, "status:503")})), Taxonomy::kNoHandling);
  EXPECT_EQ(labelled(record({attempt(rpc("GET", "/a"), 1, "status:503"), rpc("GET", "/b")})),
            Taxonomy::kStateDivergence);
}

}  // namespace
}  // namespace filibuster::retries
