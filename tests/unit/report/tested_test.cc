#include "daemon/report/tested.h"

#include <gtest/gtest.h>

#include "daemon/report/timeouts.h"

namespace filibuster {
namespace {

using Rest = RpcLedger::Rest;

TEST(TestedRpcs, AreCountedWithTheirReasons) {
  EXPECT_EQ(to_line({{"a", "b", "c"}, {}, {}}), "3 RPCs tested");
  EXPECT_EQ(to_line({{"a"}, {{"b", "its cause is not known"}}, {}}),
            "1 RPC tested, 1 not (its cause is not known)");
  EXPECT_EQ(to_line({{}, {{"a", "made by a task, at a.py:3 (f): why"}}, {}}),
            "0 RPCs tested, 1 not (made by a task, at a.py:3 (f))");
  EXPECT_EQ(to_line({{}, {{"a", "x"}, {"b", "y"}, {"c", "y"}}, {"d"}}),
            "0 RPCs tested, 3 not (2: y; 1: x), 1 left out by the configuration");
  EXPECT_EQ(
      to_line({{"a"}, {}, {"b", "c"}, {"c"}}),
      "1 RPC tested, 1 left out by the configuration, 1 not reached within the time or the bounds");
  EXPECT_EQ(to_line({{"a"}, {}, {"c"}, {"c"}}),
            "1 RPC tested, 1 not reached within the time or the bounds");
}

TEST(RpcLedger, TellsWhatTheConfigurationLeavesOut) {
  RpcLedger ledger;
  EXPECT_TRUE(ledger.see({"a", "b"}, {"c"}));
  EXPECT_FALSE(ledger.see({"a"}, {}));
  ledger.leave_out("c", "its cause is not known");  // and no fault is wanted
  ledger.leave_out("d", "its cause is not known");
  EXPECT_TRUE(ledger.injected("a"));
  const TestedRpcs all = ledger.result(Rest::kNone);
  EXPECT_EQ(all.tested, (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(all.untested, (std::map<std::string, std::string>{{"d", "its cause is not known"}}));
  EXPECT_EQ(all.by_configuration, std::set<std::string>{"c"});
  // What was not come to, by a bound or without one.
  EXPECT_EQ(ledger.result(Rest::kBound).by_configuration, (std::set<std::string>{"b", "c"}));
  EXPECT_EQ(ledger.result(Rest::kBound).by_bound, std::set<std::string>{"b"});
  EXPECT_TRUE(all.by_bound.empty());
  EXPECT_EQ(ledger.result(Rest::kNoConclusion).untested.count("b"), 1u);
  EXPECT_EQ(ledger.result(Rest::kNoConclusion).tested, std::set<std::string>{"a"});
  EXPECT_EQ(ledger.result(Rest::kInterrupted).untested.at("b"), kInterruptedBefore);
}

TEST(RpcLedger, WhatCameOnceIsNotTestedUntilTheSearchKnowsIt) {
  RpcLedger ledger;
  ledger.see({"a"}, {"c"});
  for (const char* rpc : {"a", "b", "c"}) ledger.came_once(rpc, "seen in 1 of 4 executions");
  EXPECT_TRUE(ledger.gets_faults("a"));
  EXPECT_FALSE(ledger.gets_faults("b"));
  const std::map<std::string, std::string> only_b = {{"b", "seen in 1 of 4 executions"}};
  EXPECT_EQ(ledger.only_once(), only_b);
  RpcLedger read;
  read.add_json(ledger.to_json());
  EXPECT_EQ(read.result(Rest::kNone).untested, only_b);
  ledger.see({"b"}, {});
  EXPECT_TRUE(ledger.result(Rest::kNone).untested.empty());
}

TEST(RpcLedger, WhatNeverCameWithAFaultIsNotTested) {
  RpcLedger ledger;
  ledger.see({"a", "b"}, {});
  ledger.did_not_come("a");
  ledger.did_not_come("b");
  ledger.injected("b");  // in another execution it came
  const TestedRpcs all = ledger.result(Rest::kNone);
  EXPECT_EQ(all.tested, std::set<std::string>{"b"});
  EXPECT_EQ(all.untested.count("a"), 1u);
  RpcLedger read;
  read.add_json(ledger.to_json());
  EXPECT_EQ(read.result(Rest::kNone).untested, all.untested);
  ledger.leave_out("c", "why");
  ledger.forget("c");
  EXPECT_EQ(ledger.result(Rest::kNone).untested.count("c"), 0u);
}

TEST(RpcLedger, IsReadAsItWasWrittenWithoutSecrets) {
  RpcLedger ledger, read;
  ledger.see({"front -> back GET /x;token=abc"}, {"b"});
  ledger.leave_out("c", "why");
  ledger.injected("front -> back GET /x;token=abc");
  const std::string text = ledger.to_json();
  EXPECT_EQ(text.find("abc"), std::string::npos);
  read.add_json(text);
  EXPECT_EQ(read.to_json(), text);
  EXPECT_FALSE(read.see({"front -> back GET /x;token=abc"}, {"b"}));
  EXPECT_TRUE(read.knows("front -> back GET /x;token=abc"));
  read.add_json("no JSON");
  EXPECT_EQ(read.to_json(), text);
}

TEST(RpcLedger, KeepsSoManyNamesAndNoMore) {
  RpcLedger ledger;
  for (size_t i = 0; i <= RpcLedger::kMaxRpcs; ++i) {
    EXPECT_EQ(ledger.full(), i == RpcLedger::kMaxRpcs);
    const std::string rpc = "a -> b GET /" + std::to_string(i);
    EXPECT_EQ(ledger.injected(rpc), i < RpcLedger::kMaxRpcs);
    ledger.leave_out(rpc, "why");
  }
  const TestedRpcs all = ledger.result(Rest::kNone);
  EXPECT_EQ(all.tested.size(), RpcLedger::kMaxRpcs);
  EXPECT_EQ(all.untested.size(), RpcLedger::kMaxRpcs);
}

TEST(TimeoutCounts, TellWaitsThatWereOverAtOnceFromReal) {
  using Reached = HangLimit::Reached;
  const auto silence = [](bool elapsed, double seconds, Reached reached) {
    RpcRecord rpc;
    rpc.caller = "front";
    rpc.service = "back";
    rpc.injected = true;
    rpc.open = false;
    rpc.fault.kind = FaultKind::kTimeout;
    rpc.elapsed = elapsed;
    rpc.issued_ns = 1;
    rpc.finished_ns = 1 + static_cast<uint64_t>(seconds * 1e9);
    rpc.hang_limit.reached = reached;
    return rpc;
  };
  ExecutionRecord record;
  record.rpcs = {silence(true, 0, Reached::kNot), silence(false, 1, Reached::kNot),
                 silence(false, 6, Reached::kBySilence)};
  TimeoutCounts counts, read;
  EXPECT_TRUE(counts.see(record));
  EXPECT_FALSE(counts.see({}));
  read.add_json(counts.to_json());
  ASSERT_EQ(read.all().size(), 1u);
  EXPECT_EQ(
      to_line(read.all()[0]),
      "front -> back: 1 ended at once, 2 waited for (the longest 6.0 s), 1 of these until the hang limit");
}

TEST(RpcLedger, WhatWasTriedWithoutAConclusionIsNoChoiceOfTheConfiguration) {
  RpcLedger ledger;
  ledger.see({"a", "b", "c"}, {});
  ledger.injected("a");
  EXPECT_TRUE(ledger.unconcluded("b"));
  RpcLedger resumed;
  resumed.add_json(ledger.to_json());
  for (const RpcLedger* one : {&ledger, &resumed}) {
    const TestedRpcs bound = one->result(Rest::kBound);
    EXPECT_EQ(bound.untested,
              (std::map<std::string, std::string>{
                  {"b", "no execution with a fault at this RPC allowed a conclusion"}}));
    EXPECT_EQ(bound.by_configuration, std::set<std::string>{"c"});
  }
}

}  // namespace
}  // namespace filibuster
