// What is offered to write: the coarsest statement that agrees with everything seen comes first.
#include "daemon/principled/coaching.h"

#include <gtest/gtest.h>

#include "daemon/principled/snippets.h"

namespace filibuster::principled {
namespace {

using Json = nlohmann::json;

FaultedCall price_fault(const std::string& code, Json arguments, const std::string& secret = "") {
  FaultedCall out;
  out.seen.call.kind = stubs::Kind::kGrpc;
  out.seen.call.path = "/s.S/Price";
  out.seen.call.arguments = std::move(arguments);
  if (!secret.empty()) out.seen.call.arguments["password"] = secret;
  out.seen.fault = "grpc:" + code;
  out.code = code;
  return out;
}

const Thrown kInternal{true, "INTERNAL", "no price"};

std::vector<std::string> offered(DiagnosticKind kind, const CoachContext& context,
                                 const std::vector<FaultedCall>& faults) {
  Diagnostic diagnostic{kind, "", "", "", faults, {}};
  coach(context, &diagnostic);
  std::vector<std::string> out;
  for (const Remedy& each : diagnostic.remedies) out.push_back(each.snippet);
  return out;
}

CoachContext context(const std::string& form, const Thrown& outcome,
                     std::vector<SingleOutcome> singles) {
  CoachContext out;
  out.form = form;
  out.outcome = outcome;
  out.singles = std::move(singles);
  return out;
}

TEST(Coaching, OneKeyForAllFaultsWhereAllEndSo) {
  const FaultedCall one = price_fault("UNAVAILABLE", {{"code", "A"}}),
                    other = price_fault("ABORTED", {{"code", "A"}});
  const auto texts =
      offered(DiagnosticKind::kThrownUnspecified,
              context("pytest", kInternal, {{one, kInternal}, {other, kInternal}}), {one});
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0], "self.assert_fault_throws(\"s.S/Price\", \"INTERNAL\", \"no price\")");
  EXPECT_EQ(
      texts[1],
      "self.assert_fault_throws(key(fault=\"grpc:UNAVAILABLE\", grpc=\"s.S/Price\"), \"INTERNAL\", "
      "\"no price\")");
}

TEST(Coaching, ACoarseKeyIsNeverOfferedWhereFaultsEndDifferently) {
  const FaultedCall one = price_fault("UNAVAILABLE", {{"code", "A"}}),
                    other = price_fault("ABORTED", {{"code", "A"}});
  const auto texts = offered(DiagnosticKind::kThrownUnspecified,
                             context("json", kInternal, {{one, kInternal}, {other, {}}}), {one});
  ASSERT_FALSE(texts.empty());
  for (const std::string& text : texts) EXPECT_NE(text.find("\"fault\""), text.npos) << text;
}

TEST(Coaching, ArgumentsAreNamedWhereTheyTellCallsApart) {
  const FaultedCall a = price_fault("UNAVAILABLE", {{"code", "A"}}),
                    b = price_fault("UNAVAILABLE", {{"code", "B"}});
  const auto texts = offered(DiagnosticKind::kThrownUnspecified,
                             context("json", kInternal, {{a, kInternal}, {b, {}}}), {a});
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(
      texts[0],
      "{\"on\": {\"grpc\": \"s.S/Price\", \"request\": {\"code\": \"A\"}}, \"throws\": \"INTERNAL\", "
      "\"message\": \"no price\"}");
  for (const std::string& text : texts) EXPECT_NE(text.find("request"), text.npos) << text;
}

TEST(Coaching, PropagationIsOfferedWhereEachFaultReachesTheCaller) {
  const FaultedCall one = price_fault("UNAVAILABLE", nullptr),
                    other = price_fault("ABORTED", nullptr);
  const Thrown first{true, "UNAVAILABLE", ""}, second{true, "ABORTED", ""};
  const auto texts = offered(DiagnosticKind::kThrownUnspecified,
                             context("junit", first, {{one, first}, {other, second}}), {one});
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(texts.back(), "assertFaultPropagates(\"s.S/Price\");");
}

TEST(Coaching, NoImpactIsOfferedOnlyWhereTheAssertionsHold) {
  const FaultedCall one = price_fault("UNAVAILABLE", nullptr);
  CoachContext holds = context("gtest", {}, {{one, {}, true}});
  holds.assertions_hold = true;
  EXPECT_EQ(offered(DiagnosticKind::kFaultUnspecified, holds, {one}).front(),
            "assert_fault_has_no_impact(\"s.S/Price\");");
  for (const std::string& text :
       offered(DiagnosticKind::kFaultUnspecified, context("gtest", {}, {{one, {}, false}}), {one}))
    EXPECT_EQ(text.find("no_impact"), text.npos) << text;
}

TEST(Coaching, SeveralFaultsGetOneStatement) {
  const FaultedCall a = price_fault("UNAVAILABLE", {{"code", "A"}}),
                    b = price_fault("UNAVAILABLE", {{"code", "B"}});
  EXPECT_EQ(
      offered(DiagnosticKind::kAmbiguousHandling, context("json", {}, {}), {a, b}),
      std::vector<std::string>{
          "{\"on\": [{\"grpc\": \"s.S/Price\", \"request\": {\"code\": \"A\"}}, {\"grpc\": \"s.S/Price\", "
          "\"request\": {\"code\": \"B\"}}], \"assert\": \"COMMAND that checks what holds now\"}"});
}

TEST(Coaching, SecretsStandInNoSnippet) {
  const FaultedCall a = price_fault("UNAVAILABLE", {{"code", "A"}}, "hunter2"),
                    b = price_fault("UNAVAILABLE", {{"code", "B"}}, "hunter2");
  const auto texts = offered(DiagnosticKind::kThrownUnspecified,
                             context("json", kInternal, {{a, kInternal}, {b, {}}}), {a});
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(texts[0].find("hunter2"), std::string::npos);
  EXPECT_EQ(texts[0].find("redacted"), std::string::npos);
  EXPECT_NE(texts[0].find("\"fields\": {\"/code\": \"A\"}"), std::string::npos) << texts[0];
}

TEST(Coaching, WhatComesAfterTheFaultIsCounted) {
  const FaultedCall one = price_fault("UNAVAILABLE", nullptr);
  CoachContext failed = context("pytest", {true, "INTERNAL", ""}, {});
  DependencyCall first{one.seen.call, false, true, true}, later{one.seen.call, true, false, true};
  later.call.path = "/s.S/Pay";
  failed.calls = {first};
  failed.before = {first, later};
  EXPECT_EQ(
      offered(DiagnosticKind::kMissingAssertionForCode, failed, {one}),
      std::vector<std::string>{
          "self.assert_on_exception(\"INTERNAL\", self.on_internal)\n\ndef on_internal(self):\n"
          "    # what holds whenever this comes\n    self.side_effecting_rpc(\"s.S/Pay\", 0)\n"});
}

}  // namespace
}  // namespace filibuster::principled
