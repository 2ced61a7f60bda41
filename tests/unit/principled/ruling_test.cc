// What an execution has to be compared with: every row of dissertation 11.3.4.1 and 11.3.4.2, and composition (11.2.3).
#include "daemon/principled/ruling.h"

#include <gtest/gtest.h>

namespace filibuster::principled {
namespace {

using Json = nlohmann::json;
using K = DiagnosticKind;

FaultedCall rpc_fault(const std::string& grpc, Json arguments = Json::object(),
                      const std::string& code = "UNAVAILABLE") {
  FaultedCall out;
  out.seen.call.service = "shop";
  out.seen.call.kind = stubs::Kind::kGrpc;
  out.seen.call.path = "/" + grpc;
  out.seen.call.arguments = std::move(arguments);
  out.seen.fault = "grpc:" + code;
  out.code = code;
  return out;
}

const FaultedCall kUser = rpc_fault("s.S/User"), kCart = rpc_fault("s.S/Cart"),
                  kMail = rpc_fault("s.S/Mail");
const Thrown kSuccess{}, kUnavailable{true, "UNAVAILABLE", "no user"};

// The statements of a failure block.
struct Stated : Statements {
  Stated& say(const std::string& api, const Json& keys, Json more = Json::object()) {
    Json call = {{"api", "assert_" + api}, {"at", "test.py:" + std::to_string(++line)}};
    if (!keys.is_null()) call["keys"] = keys.is_array() ? keys : Json::array({keys});
    call.update(more);
    const auto problems = read(Block::kFailure, {call}, {});
    EXPECT_TRUE(problems.empty()) << problems.front().text;
    return *this;
  }
  Stated& throws(const Json& keys, const std::string& code, Json message = nullptr) {
    return say("fault_throws", keys, {{"code", code}, {"message", message}});
  }
  Stated& propagates(const Json& key) { return say("fault_propagates", key); }
  Stated& no_impact(const Json& key) { return say("fault_has_no_impact", key); }
  Stated& on_fault(const Json& keys, int block) {
    return say("on_fault", keys, {{"specification", block}});
  }
  Stated& on_exception(const std::string& code, int block) {
    return say("on_exception", nullptr, {{"code", code}, {"specification", block}});
  }
  int line = 0;
};

std::string kind_of(const Ruling& ruling) {
  return ruling.diagnostic ? std::string(diagnostic_name(ruling.diagnostic->kind)) : "";
}
// "on_fault 3: assert-on-fault-failed"
std::string steps_of(const Ruling& ruling) {
  std::string out;
  for (const Step& step : ruling.steps) {
    out += std::string(out.empty() ? "" : ", ") + std::string(block_name(step.run.block));
    if (step.run.block == Block::kOnFault || step.run.block == Block::kOnException)
      out += " " + std::to_string(step.run.specification);
    out += ": " + std::string(diagnostic_name(step.if_it_fails));
  }
  return out;
}
std::string judged(const Statements& statements, const std::vector<FaultedCall>& faults,
                   const Thrown& outcome) {
  const Ruling ruling = rule(statements, faults, outcome);
  return ruling.diagnostic ? kind_of(ruling) : steps_of(ruling);
}

TEST(Ruling, NothingStated) {
  EXPECT_EQ(judged(Stated(), {kUser}, kUnavailable), "thrown-exception-unspecified");
  EXPECT_EQ(judged(Stated(), {kUser}, kSuccess), "injected-fault-unspecified");
  EXPECT_EQ(judged(Stated(), {kUser, kCart}, kUnavailable), "ambiguous-failure-handling");
}

TEST(Ruling, AThrownErrorIsComparedAndThenHasItsAssertions) {
  Stated stated;
  stated.throws({"s.S/User"}, "UNAVAILABLE", "no user");
  EXPECT_EQ(judged(stated, {kUser}, kUnavailable), "missing-assertion-for-status-code");
  stated.on_exception("UNAVAILABLE", 4);
  EXPECT_EQ(judged(stated, {kUser}, kUnavailable),
            "on_exception 4: assertions-for-exception-failed");
  EXPECT_EQ(judged(stated, {kUser}, {true, "UNAVAILABLE", "no cart"}), "failed-rpc");
  EXPECT_EQ(judged(stated, {kUser}, {true, "INTERNAL", "no user"}), "failed-rpc");
  EXPECT_EQ(judged(stated, {kUser}, kSuccess), "declared-to-throw-but-succeeded");
  EXPECT_EQ(judged(stated, {kCart}, kUnavailable), "thrown-exception-unspecified");
}

TEST(Ruling, WithoutAMessageAnyMessageIsRight) {
  EXPECT_EQ(judged(Stated().throws({"s.S/User"}, "UNAVAILABLE").on_exception("UNAVAILABLE", 0),
                   {kUser}, {true, "UNAVAILABLE", "anything"}),
            "on_exception 0: assertions-for-exception-failed");
}

TEST(Ruling, PropagationComparesCodeAndMessage) {
  Stated stated;
  stated.propagates("s.S/User").on_exception("UNAVAILABLE", 1);
  FaultedCall said = kUser;
  said.message = "no user";
  EXPECT_EQ(judged(stated, {said}, kUnavailable),
            "on_exception 1: assertions-for-exception-failed");
  EXPECT_EQ(judged(stated, {said}, {true, "UNAVAILABLE", "other"}), "suppressed-status-code");
  EXPECT_EQ(judged(stated, {said}, {true, "INTERNAL", "no user"}), "suppressed-status-code");
  EXPECT_EQ(judged(stated, {said}, kSuccess), "declared-to-throw-but-succeeded");
}

TEST(Ruling, ThrowingAndPropagatingTogetherIsAmbiguousWhateverHappened) {
  Stated stated;
  stated.propagates("s.S/User").throws({"s.S/User"}, "INTERNAL").on_exception("INTERNAL", 0);
  EXPECT_EQ(judged(stated, {kUser}, kUnavailable), "ambiguous-throw-and-propagation");
  EXPECT_EQ(judged(stated, {kUser}, {true, "INTERNAL", ""}), "ambiguous-throw-and-propagation");
  EXPECT_EQ(judged(stated, {kUser}, kSuccess), "ambiguous-throw-and-propagation");
  // A more precise statement that it throws does not change that.
  Stated precise;
  precise.propagates("s.S/User")
      .throws({{{"grpc", "s.S/User"}, {"fault", "grpc:UNAVAILABLE"}}}, "INTERNAL");
  EXPECT_EQ(judged(precise, {kUser}, kUnavailable), "ambiguous-throw-and-propagation");
}

TEST(Ruling, NoImpactKeepsTheAssertionsOfTheTest) {
  Stated stated;
  stated.no_impact("s.S/Mail").no_impact("s.S/Cart");
  EXPECT_EQ(judged(stated, {kMail}, kSuccess), "assert_test: assert-test-failed");
  EXPECT_EQ(judged(stated, {kMail}, kUnavailable), "declared-without-impact-but-threw");
  EXPECT_EQ(judged(stated, {kMail, kCart}, kSuccess),
            "assert_test: assert-test-failed-with-several-faults");
  EXPECT_EQ(judged(stated, {kMail, kCart}, kUnavailable),
            "declared-without-impact-but-failed-in-combination");
}

TEST(Ruling, FaultsWithoutImpactAreLeftOutOfSets) {
  Stated stated;
  stated.no_impact("s.S/Mail").on_fault({"s.S/Cart"}, 7).throws({"s.S/User"}, "UNAVAILABLE");
  stated.on_exception("UNAVAILABLE", 8);
  EXPECT_EQ(judged(stated, {kCart, kMail}, kSuccess), "on_fault 7: assert-on-fault-failed");
  EXPECT_EQ(judged(stated, {kMail, kUser}, kUnavailable),
            "on_exception 8: assertions-for-exception-failed");
  EXPECT_EQ(judged(stated, {kUser, kCart}, kUnavailable), "ambiguous-failure-handling");
  // A set that is left is looked for again.
  stated.on_fault({"s.S/Cart", "s.S/User"}, 9);
  EXPECT_EQ(judged(stated, {kUser, kCart, kMail}, kSuccess), "on_fault 9: assert-on-fault-failed");
}

TEST(Ruling, CompositesAreSets) {
  Stated stated;
  stated.on_fault({{{"grpc", "s.S/Price"}, {"fields", {{"/code", "A"}}}},
                   {{"grpc", "s.S/Price"}, {"fields", {{"/code", "B"}}}}},
                  3);
  const FaultedCall a = rpc_fault("s.S/Price", {{"code", "A"}}),
                    b = rpc_fault("s.S/Price", {{"code", "B"}}),
                    c = rpc_fault("s.S/Price", {{"code", "C"}});
  EXPECT_EQ(judged(stated, {a, b}, kSuccess), "on_fault 3: assert-on-fault-failed");
  EXPECT_EQ(judged(stated, {b, a}, kSuccess), "on_fault 3: assert-on-fault-failed");
  EXPECT_EQ(judged(stated, {a, c}, kSuccess), "ambiguous-failure-handling");
  EXPECT_EQ(judged(stated, {a, b, c}, kSuccess), "ambiguous-failure-handling");
  EXPECT_EQ(judged(stated, {a}, kSuccess), "injected-fault-unspecified");
  // Keys that overlap: each needs a fault of its own, and the one that can only have one gets it.
  Stated overlapping;
  overlapping.on_fault({"s.S/Price", {{"grpc", "s.S/Price"}, {"fields", {{"/code", "A"}}}}}, 1);
  EXPECT_EQ(judged(overlapping, {a, c}, kSuccess), "on_fault 1: assert-on-fault-failed");
  EXPECT_EQ(judged(overlapping, {b, c}, kSuccess), "ambiguous-failure-handling");
}

TEST(Ruling, ACompositeMayThrow) {
  Stated stated;
  stated.throws({"s.S/Cart", "s.S/User"}, "UNAVAILABLE", "no user");
  stated.on_exception("UNAVAILABLE", 0);
  EXPECT_EQ(judged(stated, {kUser, kCart}, kUnavailable),
            "on_exception 0: assertions-for-exception-failed");
  EXPECT_EQ(judged(stated, {kUser, kCart}, {true, "INTERNAL", ""}), "failed-rpc");
  EXPECT_EQ(judged(stated, {kUser, kCart}, kSuccess), "declared-to-throw-but-succeeded");
}

TEST(Ruling, TheMostPreciseStatementCounts) {
  Stated stated;
  const Json with_arguments = {{"grpc", "s.S/Price"}, {"request", {{"code", "A"}}}};
  const Json with_fault = {{"grpc", "s.S/Price"}, {"fault", "grpc:UNAVAILABLE"}};
  Json with_both = with_arguments;
  with_both["fault"] = "grpc:UNAVAILABLE";
  const FaultedCall a = rpc_fault("s.S/Price", {{"code", "A"}});
  stated.on_fault({"s.S/Price"}, 0);
  EXPECT_EQ(steps_of(rule(stated, {a}, kSuccess)), "on_fault 0: assert-on-fault-failed");
  stated.on_fault({with_fault}, 1);
  EXPECT_EQ(steps_of(rule(stated, {a}, kSuccess)), "on_fault 1: assert-on-fault-failed");
  stated.on_fault({with_arguments}, 2);
  EXPECT_EQ(steps_of(rule(stated, {a}, kSuccess)), "on_fault 2: assert-on-fault-failed");
  stated.on_fault({with_both}, 3);
  EXPECT_EQ(steps_of(rule(stated, {a}, kSuccess)), "on_fault 3: assert-on-fault-failed");
  // Of another fault, and of other arguments.
  EXPECT_EQ(steps_of(rule(stated, {rpc_fault("s.S/Price", {{"code", "A"}}, "INTERNAL")}, kSuccess)),
            "on_fault 2: assert-on-fault-failed");
  EXPECT_EQ(steps_of(rule(stated, {rpc_fault("s.S/Price", {{"code", "B"}})}, kSuccess)),
            "on_fault 1: assert-on-fault-failed");
}

TEST(Ruling, EquallyPreciseStatementsContradict) {
  Stated stated;
  stated.on_fault({{{"grpc", "s.S/Price"}, {"fields", {{"/code", "A"}}}}}, 0);
  stated.on_fault({{{"grpc", "s.S/Price"}, {"fields", {{"/user", "ann"}}}}}, 1);
  EXPECT_EQ(judged(stated, {rpc_fault("s.S/Price", {{"code", "A"}, {"user", "ann"}})}, kSuccess),
            "specifications-contradict");
  EXPECT_EQ(judged(stated, {rpc_fault("s.S/Price", {{"code", "A"}, {"user", "bob"}})}, kSuccess),
            "on_fault 0: assert-on-fault-failed");
}

TEST(Ruling, EquallyPreciseCompositesContradictUnlessTheySayTheSame) {
  const Json a = {{"grpc", "s.S/Price"}, {"fields", {{"/code", "A"}}}},
             b = {{"grpc", "s.S/Price"}, {"fields", {{"/code", "B"}}}};
  const std::vector<FaultedCall> both = {rpc_fault("s.S/Price", {{"code", "A"}}),
                                         rpc_fault("s.S/Price", {{"code", "B"}})};
  for (const bool other_block : {true, false}) {
    Stated stated;
    stated.on_fault({a, b}, 0)
        .on_fault({"s.S/Price", "s.S/Price"}, 1)
        .on_fault({b, a}, other_block ? 2 : 0);
    EXPECT_EQ(judged(stated, both, kSuccess),
              other_block ? "specifications-contradict" : "on_fault 0: assert-on-fault-failed");
  }
  // Errors that differ in their message alone, and a fault without impact beside them.
  Stated stated;
  stated.throws({a, b}, "UNAVAILABLE", "no price")
      .throws({b, a}, "UNAVAILABLE", "no user")
      .no_impact("s.S/Mail");
  EXPECT_EQ(judged(stated, both, kUnavailable), "specifications-contradict");
  EXPECT_EQ(judged(stated, {both[0], kMail, both[1]}, kUnavailable), "specifications-contradict");
}

TEST(Ruling, WhatWasTrueIsMarked) {
  Stated stated;
  stated.no_impact("s.S/Mail").on_fault({"s.S/Cart"}, 0);
  EXPECT_EQ(rule(stated, {kCart, kMail}, kSuccess).matched, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(rule(stated, {kMail}, kSuccess).matched, std::vector<size_t>{0});
}

TEST(Contradiction, EqualKeysThatSayDifferentThings) {
  EXPECT_FALSE(contradiction(Stated().throws({"s.S/User"}, "INTERNAL").no_impact("s.S/Mail")));
  EXPECT_TRUE(contradiction(Stated().throws({"s.S/User"}, "INTERNAL").no_impact("s.S/User")));
  EXPECT_TRUE(
      contradiction(Stated().throws({"s.S/User"}, "INTERNAL").throws({"s.S/User"}, "ABORTED")));
  EXPECT_FALSE(
      contradiction(Stated().throws({"s.S/User"}, "INTERNAL").throws({"s.S/User"}, "INTERNAL")));
  EXPECT_TRUE(
      contradiction(Stated().on_fault({"s.S/A", "s.S/B"}, 0).on_fault({"s.S/B", "s.S/A"}, 1)));
  EXPECT_TRUE(contradiction(Stated().on_exception("INTERNAL", 0).on_exception("INTERNAL", 1)));
  // It has a diagnostic of its own when the fault comes.
  EXPECT_FALSE(contradiction(Stated().throws({"s.S/User"}, "INTERNAL").propagates("s.S/User")));
}

}  // namespace
}  // namespace filibuster::principled
