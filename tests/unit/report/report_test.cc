#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/text/shell_word.h"
#include "daemon/model/counterexample.h"
#include "daemon/model/session_report.h"
#include "daemon/report/again.h"
#include "daemon/report/counterexample_json.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/json.h"
#include "daemon/report/seen.h"
#include "daemon/report/text.h"
#include "daemon/report/tree_text.h"

namespace filibuster {
namespace {

InjectedFault fault(uint64_t index, const std::string& text) {
  InjectedFault out;
  out.index = Hash128{1, index};
  out.fault = text;
  out.caller = "users";
  out.service = "bookings";
  out.method = "GET";
  out.path = "/users/x/bookings?token=s3cret";
  out.call_site = "users.py:31 (get_bookings)";
  out.stack = {"users.py:31 (get_bookings)", "users.py:12 (main)"};
  out.service_path = {"test", "users", "bookings"};
  out.count = 2;
  out.connect_key = Hash128{2, 2};
  out.signature = Hash128{3, 3};
  out.parent = Hash128{4, 4};
  return out;
}

Execution execution(uint32_t number, std::vector<InjectedFault> faults) {
  Execution out;
  out.test = "bookings";
  out.number = number;
  out.id = number;
  out.faults = std::move(faults);
  out.verdict = Verdict::kFailed;
  out.detail = "exit status 1";
  out.output = "asserting\nAssertionError: 500 != 200\n";
  return out;
}

SessionReport report() {
  TestReport test;
  test.test = "bookings";
  test.finished = true;
  test.counts.executed = 27;
  test.counts.redundant = 46;
  test.seconds = 3.25;
  test.reference_seconds = 0.04;
  test.median_execution_seconds = 0.041;
  test.search_seconds = {0.002, 0.001};
  test.store_seconds = 0.003;
  test.fault_configuration = {"bookings: refused, status:503"};
  test.default_faults = true;
  test.findings = group_failures({execution(4, {fault(1, "status:503")})});
  test.findings[0].reproduced = true;
  test.findings[0].counterexample = ".filibuster/counterexamples/1.json";
  test.skipped = {{"execution {users -> bookings: refused}", "plan not met"}};
  test.dependencies_not_tested = {{"users", "127.0.0.1:5432", "postgres", "udp", true, 3}};
  test.without_cause = {"users -> metrics POST /push: its cause is not known"};
  test.notes = {"reduction (ESR) was off"};
  RpcRecord rpc;
  rpc.rpc = 1;
  rpc.service = "users";
  rpc.target = "/users/x?password=p";
  rpc.response_sample = "{\"access_token\": \"abc\"}";
  test.reference = {rpc};
  return {"s1", "filibuster.json", {test}, false, 1};
}

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
  for (const char* part :
       {"exit status 1", "users -> bookings  GET /users/x/bookings?token=[redacted] (call 2)",
        "status:503: answer 503", "users.py:31 (get_bookings)", "test > users > bookings",
        "  | AssertionError: 500 != 200", "filibuster replay .filibuster/counterexamples/1.json",
        "fails again"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
  }
}

InjectedFault grpc_fault(const char* text, const char* message) {
  InjectedFault out = fault(1, "");
  FaultSpec spec = parse_fault(text).value();
  spec.message = message;
  out.set_fault(spec);
  out.caller = "order", out.service = "cart", out.method = "POST";
  out.path = "/shop.CartService/GetCart";
  out.protocol = Protocol::kGrpc;
  return out;
}

InjectedFault redis_fault(const char* text, const char* message = "") {
  InjectedFault out = fault(1, "");
  FaultSpec spec = parse_fault(text).value();
  spec.message = message;
  out.set_fault(spec);
  out.service = "cache", out.path = "user:*";
  out.protocol = Protocol::kRedis;
  return out;
}

TEST(Text, NamesACommandToRedisByItsKeyAndError) {
  const auto finding = group_failures({execution(1, {redis_fault("redis:BUSY", "later")})})[0];
  EXPECT_EQ(to_line(finding),
            "the test fails (exit status 1) under users -> cache  GET user:* (call 2): "
            "redis:BUSY \"later\"");
  EXPECT_NE(to_text(finding).find("redis:BUSY \"later\": Redis answers with the error BUSY\n"),
            std::string::npos)
      << to_text(finding);
  EXPECT_NE(to_text(group_failures({execution(1, {redis_fault("redis:nil")})})[0])
                .find("redis:nil: Redis answers with a null\n"),
            std::string::npos);
}

TEST(Counterexamples, KeepTheProtocolOfACall) {
  Counterexample written;
  written.faults = {redis_fault("redis:BUSY"), grpc_fault("grpc:14", ""), fault(2, "refused")};
  auto read = parse_counterexample(to_json(written));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->faults[0].protocol, Protocol::kRedis);
  EXPECT_EQ(read->faults[1].protocol, Protocol::kGrpc);
  EXPECT_EQ(read->faults[2].protocol, Protocol::kHttp);
  // Of one that was written before there was the member.
  auto older = nlohmann::json::parse(to_json(written));
  for (auto& one : older["faults"]) one.erase("protocol");
  read = parse_counterexample(older.dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->faults[1].protocol, Protocol::kGrpc);
  EXPECT_EQ(read->faults[2].protocol, Protocol::kHttp);
}

TEST(Counterexamples, KeepTheHangLimitThatWasInForce) {
  Counterexample written;
  written.hang_limit_ms = 6000;
  auto file = nlohmann::json::parse(to_json(written));
  auto read = parse_counterexample(file.dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->hang_limit_ms, 6000u);
  file.erase("hang_limit_ms");  // of an older version
  read = parse_counterexample(file.dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->hang_limit_ms, 0u);
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
            "the test fails (exit status 1) under order -> cart  shop.CartService/GetCart (call "
            "2): grpc:UNAVAILABLE:after \"no stock\"");
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

TEST(Json, SaysWhatServicesAnsweredByThemselvesAndWhatHadFailed) {
  SessionReport session = report();
  session.tests[0].observed = {
      {"users",
       "GET",
       "/users/7",
       Protocol::kHttp,
       "status:503",
       {{"movies", "GET", "/m", "UNAVAILABLE \"password=hunter2\"", true}}},
      {"cart", "POST", "/shop.Cart/Get", Protocol::kGrpc, "grpc:NOT_FOUND", {}}};
  const auto observed = nlohmann::json::parse(to_json(session))["tests"][0]["observed"];
  ASSERT_EQ(observed.size(), 2u);
  EXPECT_EQ(observed[0]["answer"], "status:503");
  EXPECT_EQ(observed[0]["grpc"], "");
  EXPECT_EQ(observed[0]["under"][0]["service"], "movies");
  EXPECT_EQ(observed[0]["under"][0]["injected"], true);
  EXPECT_EQ(observed.dump().find("hunter2"), std::string::npos);
  EXPECT_EQ(observed[1]["grpc"], "shop.Cart/Get");
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

TEST(Text, FindingsAtTheSameRpcsStandTogetherAndNotesComeAfterThem) {
  SessionReport session = report();
  TestReport& test = session.tests[0];
  test.findings =
      group_failures({execution(4, {fault(1, "status:503")}), execution(5, {fault(2, "refused")}),
                      execution(6, {fault(1, "timeout")})});
  for (uint32_t i = 0; i < 3; ++i) test.findings[i].number = i + 1;
  test.findings[2].reproduced = false;
  const std::string text = to_text(session);
  const size_t first = text.find("  finding 1: the test fails"),
               alike = text.find(
                   "at the same RPC:\n       finding 3: timeout: the test fails (exit "
                   "status 1); DID NOT REPRODUCE\n"),
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

TEST(Seen, IsWhatTheCallersAboveAFaultSawOtherwise) {
  const auto rpc = [](uint64_t id, uint64_t parent, const char* caller, const char* service) {
    RpcRecord out;
    out.rpc = id;
    out.parent_rpc = parent;
    out.index = Hash128{0, id};
    out.caller = caller;
    out.service = service;
    out.method = "GET";
    out.target = "/?token=s3cret";
    out.open = false;
    out.outcome = RpcOutcome::kAnswered;
    out.status = 200;
    return out;
  };
  const std::vector<RpcRecord> reference = {rpc(1, 0, "test", "front"), rpc(2, 1, "front", "back"),
                                            rpc(3, 2, "back", "store"), rpc(4, 1, "front", "ads")};
  std::vector<RpcRecord> rpcs = reference;
  rpcs[2].injected = true;
  rpcs[2].status = 503;
  rpcs[1].response = Hash128{7, 7};
  rpcs[0].status = 500;
  rpcs[3].status = 404;  // not above the fault
  EXPECT_EQ(what_was_seen(rpcs, reference),
            (std::vector<std::string>{
                "front -> back  GET /?token=[redacted]: 200 with another body than without faults",
                "test -> front  GET /?token=[redacted]: 500, without faults 200"}));
  // What the fault has left behind: calls that come later, for another reason.
  for (size_t i = 0; i < rpcs.size(); ++i) rpcs[i].issued_ns = i + 1;
  rpcs.push_back(rpc(5, 0, "test", "front"));
  rpcs.push_back(rpc(6, 5, "front", "back"));
  rpcs.push_back(rpc(7, 0, "test", "ads"));
  auto longer = reference;
  longer.insert(longer.end(), rpcs.begin() + 4, rpcs.end());
  for (size_t i = 4; i < rpcs.size(); ++i) rpcs[i].issued_ns = i + 1;
  rpcs[4].response = rpcs[5].response = Hash128{7, 7};
  const auto seen = what_was_seen(rpcs, longer);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(
      seen[2],
      "test -> front  GET /?token=[redacted], later: 200 with another body than without faults");
  rpcs.resize(4);
  rpcs[2].injected = false;
  EXPECT_TRUE(what_was_seen(rpcs, reference).empty());
  rpcs[2].injected = true;
  rpcs[0].parent_rpc = 3;  // a circle ends
  rpcs[3].status = 200;
  EXPECT_EQ(what_was_seen(rpcs, reference).size(), 2u);
}

TEST(Tree, ShowsEachRpcUnderItsCauseWithItsIndex) {
  std::vector<RpcRecord> rpcs(4);
  for (size_t i = 0; i < rpcs.size(); ++i) {
    rpcs[i].rpc = i + 1;
    rpcs[i].index = Hash128{0, i + 1};
    rpcs[i].method = "GET";
    rpcs[i].target = "/" + std::to_string(i);
    rpcs[i].open = false;
    rpcs[i].outcome = RpcOutcome::kAnswered;
    rpcs[i].status = 200;
    rpcs[i].cause = Cause::kThread;
  }
  rpcs[0].caller = "test", rpcs[0].service = "users", rpcs[0].cause = Cause::kEntry;
  rpcs[1].caller = "users", rpcs[1].service = "bookings", rpcs[1].parent_rpc = 1;
  rpcs[1].injected = true, rpcs[1].fault = parse_fault("refused").value();
  rpcs[2].caller = "users", rpcs[2].service = "movies", rpcs[2].parent_rpc = 1;
  rpcs[2].count = 2, rpcs[2].stack_text = {"users.py:9 (get)"};
  rpcs[3].caller = "users", rpcs[3].service = "metrics", rpcs[3].cause = Cause::kNone;
  const std::string zeros(31, '0');
  EXPECT_EQ(tree_text(rpcs),
            zeros + "1  test -> users  GET /0  200\n" + zeros +
                "2  |- users -> bookings  GET /1  injected refused  [by thread]\n" + zeros +
                "3  `- users -> movies  GET /2 (call 2)  200  at users.py:9 (get)  [by thread]\n" +
                zeros + "4  users -> metrics  GET /3  200  [cause not known]\n");
}

TEST(Tree, ShowsAGrpcCallByItsMethodAndHowItEnded) {
  RpcRecord rpc;
  rpc.rpc = 1;
  rpc.caller = "order", rpc.service = "cart", rpc.method = "POST";
  rpc.target = "/shop.CartService/GetCart";
  rpc.flags = kRpcHttp2 | kRpcGrpc;
  rpc.cause = Cause::kEntry;
  rpc.open = false;
  rpc.outcome = RpcOutcome::kAnswered;
  rpc.status = 200;
  const auto line = [&] {
    const std::string text = tree_text({rpc});
    return text.substr(34, text.size() - 35);  // after the index, without the line's end
  };
  rpc.grpc_status = 0;
  EXPECT_EQ(line(), "order -> cart  shop.CartService/GetCart -> OK");
  rpc.grpc_status = 14;
  rpc.grpc_message = "try later, token=s3cret";
  EXPECT_EQ(line(),
            "order -> cart  shop.CartService/GetCart -> UNAVAILABLE \"try later, "
            "token=[redacted]\"");
  rpc.grpc_status = kNoGrpcStatus;
  EXPECT_EQ(line(), "order -> cart  shop.CartService/GetCart -> 200 without a grpc-status");
  rpc.status = 502;
  EXPECT_EQ(line(), "order -> cart  shop.CartService/GetCart -> 502");
  rpc.outcome = RpcOutcome::kReset;
  rpc.stream_error = 8;
  EXPECT_EQ(line(), "order -> cart  shop.CartService/GetCart -> reset (CANCEL)");
  rpc.injected = true;
  rpc.fault = parse_fault("grpc:INTERNAL").value();
  EXPECT_EQ(line(), "order -> cart  shop.CartService/GetCart -> injected grpc:INTERNAL");
}

TEST(Tree, ShowsACommandToRedisAndHowItEnded) {
  RpcRecord rpc;
  rpc.rpc = 1;
  rpc.caller = "users", rpc.service = "cache", rpc.method = "GET", rpc.target = "token:*";
  rpc.flags = kRpcRedis;
  rpc.cause = Cause::kEntry;
  rpc.open = false;
  rpc.outcome = RpcOutcome::kAnswered;
  const auto line = [&] { return tree_text({rpc}).substr(34); };
  EXPECT_EQ(line(), "users -> cache  GET token:* -> answered\n");
  rpc.code_space = CodeSpace::kRedis;
  rpc.code = "WRONGTYPE";
  rpc.response_sample = "WRONGTYPE Operation against a key\r\n";
  EXPECT_EQ(line(), "users -> cache  GET token:* -> WRONGTYPE \"Operation against a key\"\n");
  rpc.method = "PING", rpc.target = "";
  rpc.injected = true;
  rpc.fault = parse_fault("redis:nil").value();
  EXPECT_EQ(line(), "users -> cache  PING -> injected redis:nil\n");
}

TEST(Json, SaysWhatAnRpcSpeaksAndTheCodeOfItsFailure) {
  SessionReport session = report();
  RpcRecord rpc;
  rpc.open = false;
  rpc.outcome = RpcOutcome::kAnswered;
  rpc.status = 503;
  session.tests[0].reference = {rpc, rpc, rpc, rpc};
  std::vector<RpcRecord>& rpcs = session.tests[0].reference;
  rpcs[1].flags = kRpcHttp2 | kRpcGrpc, rpcs[1].status = 200, rpcs[1].grpc_status = 14;
  rpcs[2].flags = kRpcRedis, rpcs[2].status = 0;
  rpcs[2].code_space = CodeSpace::kRedis, rpcs[2].code = "LOADING";
  rpcs[3].flags = kRpcRedis, rpcs[3].status = 0;
  const auto rows = nlohmann::json::parse(to_json(session))["tests"][0]["reference"];
  const char* expected[][3] = {{"http", "http", "503"},
                               {"grpc", "grpc", "UNAVAILABLE"},
                               {"redis", "redis", "LOADING"},
                               {"redis", "", ""}};
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["protocol"], expected[i][0]);
    EXPECT_EQ(rows[i]["code_space"], expected[i][1]);
    EXPECT_EQ(rows[i]["code"], expected[i][2]);
  }
}

TEST(Json, SaysHowAGrpcCallEnded) {
  SessionReport session = report();
  RpcRecord& rpc = session.tests[0].reference[0];
  rpc.flags = kRpcGrpc;
  rpc.target = "/shop.CartService/GetCart";
  rpc.open = false;
  rpc.outcome = RpcOutcome::kAnswered;
  rpc.grpc_status = 5;
  rpc.grpc_message = "no such cart";
  const auto row = nlohmann::json::parse(to_json(session))["tests"][0]["reference"][0];
  EXPECT_EQ(row["grpc"], "shop.CartService/GetCart");
  EXPECT_EQ(row["grpc_status"], "NOT_FOUND");
  EXPECT_EQ(row["grpc_message"], "no such cart");
  EXPECT_EQ(row["stream_error"], "");
}

TEST(Json, OfASessionHasTheDocumentedMembersAndNoCredentials) {
  const std::string text = to_json(report());
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["exit_code"], 1);
  const auto& test = json["tests"][0];
  EXPECT_EQ(test["counts"]["executed"], 27);
  EXPECT_EQ(test["findings"][0]["faults"][0]["service_path"][1], "users");
  EXPECT_EQ(test["findings"][0]["reproduced"], true);
  EXPECT_EQ(test["findings"][0]["first"]["execution"], 4);
  EXPECT_EQ(test["dependencies_not_tested"][0]["times"], 3);
  EXPECT_EQ(text.find("s3cret"), std::string::npos);
  EXPECT_EQ(text.find("abc\\\""), std::string::npos);
  EXPECT_EQ(text.find("password=p"), std::string::npos);
}

TEST(Json, SurvivesOutputThatIsNotUtf8) {
  SessionReport session = report();
  session.tests[0].findings[0].minimal_execution.output = "\xff\xfe broken \xc3";
  EXPECT_TRUE(nlohmann::json::accept(to_json(session)));
}

TEST(Counterexamples, AreReadAsTheyWereWritten) {
  Counterexample out;
  out.test = "bookings";
  out.config_path = "filibuster.json";
  out.config_text = "{\"version\": 1, \"tests\": []}";
  out.directory = "/app";
  out.faults = {fault(1, "status:503"), fault(2, "refused")};
  out.verdict = "failed";
  out.detail = "exit status 1";
  out.output = "out";
  const auto in = parse_counterexample(to_json(out));
  ASSERT_TRUE(in.ok()) << in.error().message;
  EXPECT_EQ(in->test, out.test);
  EXPECT_EQ(in->config_text, out.config_text);
  EXPECT_EQ(in->directory, out.directory);
  EXPECT_EQ(in->verdict, out.verdict);
  ASSERT_EQ(in->faults.size(), 2u);
  EXPECT_EQ(in->faults[0].index, out.faults[0].index);
  EXPECT_EQ(in->faults[0].fault, "status:503");
  EXPECT_EQ(in->faults[0].connect_key, out.faults[0].connect_key);
  EXPECT_EQ(in->faults[0].signature, out.faults[0].signature);
  EXPECT_EQ(in->faults[0].parent, out.faults[0].parent);
  EXPECT_EQ(in->faults[0].stack, out.faults[0].stack);
  EXPECT_EQ(in->faults[0].count, 2u);
}

TEST(Counterexamples, KeepWhatAGrpcFaultIs) {
  Counterexample out;
  out.faults = {grpc_fault("grpc:14", "no stock")};
  const auto in = parse_counterexample(to_json(out));
  ASSERT_TRUE(in.ok()) << in.error().message;
  EXPECT_EQ(in->faults[0].protocol, Protocol::kGrpc);
  EXPECT_EQ(in->faults[0].key, out.faults[0].key);
  EXPECT_NE(in->faults[0].key, "");
  EXPECT_EQ(in->faults[0].message, "no stock");
}

TEST(Counterexamples, OfBeforeThereWasGrpcAreRead) {
  Counterexample out;
  out.faults = {fault(1, "refused")};
  auto json = nlohmann::json::parse(to_json(out));
  for (const char* later : {"protocol", "grpc", "key", "message"}) json["faults"][0].erase(later);
  const auto in = parse_counterexample(json.dump());
  ASSERT_TRUE(in.ok()) << in.error().message;
  EXPECT_EQ(in->faults[0].protocol, Protocol::kHttp);
}

TEST(Counterexamples, ThatAreNotValidAreNamedWithWhatWasExpected) {
  const auto problem = [](const std::string& text) {
    const auto read = parse_counterexample(text);
    return read.ok() ? std::string() : read.error().message;
  };
  EXPECT_NE(problem("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(problem("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(problem("{}").find("no version"), std::string::npos);
  EXPECT_NE(problem("{\"version\": 2}").find("version 2"), std::string::npos);
  Counterexample valid;
  valid.faults = {fault(1, "refused")};
  auto json = nlohmann::json::parse(to_json(valid));
  json["faults"][0]["index"] = "xyz";
  EXPECT_NE(problem(json.dump()).find("faults.index: expected 32 hexadecimal digits"),
            std::string::npos);
  json["faults"][0].erase("index");
  EXPECT_FALSE(problem(json.dump()).empty());
  json["faults"] = 3;
  EXPECT_NE(problem(json.dump()).find("faults: expected a list"), std::string::npos);
  json.erase("test");
  EXPECT_NE(problem(json.dump()).find("counterexample.test: expected a text"), std::string::npos);
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

TEST(Report, TellsCallsApartThatDifferByTheirQuery) {
  InjectedFault one = fault(1, "refused");
  one.path = "/search";
  one.query = "?kind=book&token=s3cret";
  EXPECT_EQ(call_text(one), "users -> bookings  GET /search?kind=book&token=[redacted]");
  Counterexample counterexample;
  counterexample.faults = {one};
  const std::string text = to_json(counterexample);
  EXPECT_EQ(text.find("s3cret"), std::string::npos);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["faults"][0]["query"], "?kind=book&token=[redacted]");
}

}  // namespace
}  // namespace filibuster
