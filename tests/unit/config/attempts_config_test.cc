#include <gtest/gtest.h>

#include "daemon/config/config.h"

namespace filibuster {
namespace {

ParsedConfig parse(const std::string& members) {
  return parse_config(
      R"({"version": 1, "tests": [{"name": "t", "command": "x"}], )" + members + "}", "f.json",
      "/d");
}

std::string fault_of(const std::string& inject) {
  const ParsedConfig parsed = parse(R"("faults": [{"inject": )" + inject + "}]");
  if (!parsed.errors.empty()) return "error: " + parsed.errors[0].message;
  return to_text(parsed.config.faults.at(0).inject.at(0));
}

TEST(AttemptsConfig, ASequenceIsTextOrAListOfItems) {
  EXPECT_EQ(fault_of(R"(["timeout:after, 503, pass"])"), "timeout:after, status:503, pass");
  EXPECT_EQ(fault_of(R"("503 when=3+3")"), "status:503 when=3+3");
  EXPECT_EQ(fault_of(R"({"attempts": ["timeout:after", 503, "pass"]})"),
            "timeout:after, status:503, pass");
  EXPECT_EQ(fault_of(R"({"attempts": ["reset when=2", {"status": 503, "when": "3+"}]})"),
            "reset when=2, status:503 when=3+");
  EXPECT_EQ(fault_of(R"({"attempts": [{"grpc": "UNAVAILABLE", "when": 2}, "pass"]})"),
            "grpc:UNAVAILABLE when=2, pass");
}

TEST(AttemptsConfig, AnItemHasItsOwnBodyAndHeaders) {
  const ParsedConfig parsed = parse(
      R"("faults": [{"inject": {"attempts": [{"status": 503, "body": "busy", "headers": {"Retry-After": "1"}, "when": "1+"}]}}])");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  const FaultSpec& fault = parsed.config.faults[0].inject[0];
  EXPECT_EQ(fault.attempts.rules[0].outcome.body, "busy");
  EXPECT_EQ(fault.attempts.rules[0].outcome.headers.size(), 1u);
  EXPECT_NE(fault_key(fault), to_text(fault));
}

TEST(AttemptsConfig, WhatIsNoSequenceIsAnErrorWithItsPlace) {
  for (const auto& [inject, part] :
       {std::pair{R"({"attempts": []})", "needs an attempt that does not pass"},
        std::pair{R"({"attempts": ["pass"]})", "needs an attempt that does not pass"},
        std::pair{R"({"attempts": ["refused"]})", "use 'reset'"},
        std::pair{R"({"attempts": [{"attempts": [503]}]})", "cannot contain another one"},
        std::pair{R"({"attempts": ["503 when=2+", "reset"]})", "has no end"},
        std::pair{R"({"attempts": ["503 when=2+", {"status": 500}]})", "has no end"},
        std::pair{R"({"attempts": [{"status": 503, "when": "x"}]})", "'when'"},
        std::pair{R"({"attempts": [{"status": 99}]})", "'status'"},
        std::pair{R"({"attempts": [true]})", "an attempt"},
        std::pair{R"({"attempts": [503], "status": 503})", "not both"},
        std::pair{R"({"attempts": 503})", "'attempts'"}}) {
    EXPECT_NE(fault_of(inject).find(part), std::string::npos) << inject << ": " << fault_of(inject);
  }
}

TEST(AttemptsConfig, RetriesNameRequestIdsAndPolicies) {
  const ParsedConfig parsed = parse(
      R"("retries": {"request_ids": ["X-Correlation"], "policies": [
        {"name": "busy", "attempts": "429 when=1..2", "without_retries": true},
        {"name": "P5", "attempts": [500, {"status": 503, "when": "2+"}]}]})");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  const RetriesConfig& retries = parsed.config.retries;
  EXPECT_EQ(retries.request_ids, (std::vector<std::string>{"X-Correlation"}));
  ASSERT_EQ(retries.policies.size(), 2u);
  EXPECT_TRUE(retries.policies[0].without_retries);
  EXPECT_EQ(to_text(retries.policies[1].attempts), "status:500, status:503 when=2+");
}

TEST(AttemptsConfig, RulesOfMutationsNameAHeaderField) {
  const ParsedConfig parsed =
      parse(R"("retries": {"mutations": [{"header": "X-Operation: Get*", "idempotent": true}]})");
  ASSERT_TRUE(parsed.errors.empty()) << parsed.errors[0].message;
  ASSERT_EQ(parsed.config.retries.mutations.size(), 1u);
  EXPECT_EQ(parsed.config.retries.mutations[0].header, "x-operation");
  EXPECT_EQ(parsed.config.retries.mutations[0].header_value, "Get*");
  const auto error = [](const std::string& header) {
    const ParsedConfig wrong =
        parse(R"("retries": {"mutations": [{"header": ")" + header + R"(", "idempotent": true}]})");
    return wrong.errors.empty() ? std::string("none") : wrong.errors[0].message;
  };
  for (const char* header : {"", "X-Operation", "X-Operation: ", ": Get*", "X Operation: Get*"})
    EXPECT_NE(error(header).find("\"X-Operation: Get*\""), std::string::npos) << header;
  EXPECT_NE(error(std::string(63, 'x') + ": a").find("at most 62 bytes"), std::string::npos);
  std::string rules;
  for (int i = 0; i < 9; ++i)
    rules += std::string(i > 0 ? "," : "") + R"({"header": "X-)" + std::to_string(i) +
             R"(: a", "idempotent": true})";
  const ParsedConfig many = parse(R"("retries": {"mutations": [)" + rules + "]}");
  ASSERT_FALSE(many.errors.empty());
  EXPECT_NE(many.errors[0].message.find("at most 8 header fields"), std::string::npos);
}

TEST(AttemptsConfig, RetriesAreChecked) {
  const auto error = [](const std::string& retries) {
    const ParsedConfig parsed = parse("\"retries\": " + retries);
    return parsed.errors.empty() ? std::string("none") : parsed.errors[0].message;
  };
  EXPECT_NE(error(R"({"request_ids": [""]})").find("from 1 to 62 bytes"), std::string::npos);
  EXPECT_NE(error(R"({"request_ids": ["1","2","3","4","5","6","7","8","9"]})").find("at most 8"),
            std::string::npos);
  EXPECT_NE(
      error(R"({"policies": [{"name": "a", "attempts": 503}, {"name": "a", "attempts": 503}]})")
          .find("twice"),
      std::string::npos);
  EXPECT_NE(error(R"({"policies": [{"name": "a"}]})").find("needs 'attempts'"), std::string::npos);
  EXPECT_NE(error(R"({"policies": [{"name": "P1", "attempts": 503}]})").find("'P1' is built in"),
            std::string::npos);
  EXPECT_NE(error(R"({"request_ids": ["X-Id", "a b"]})").find("'a b' of 'request_ids' cannot be"),
            std::string::npos);
  EXPECT_NE(error(R"({"request": []})").find("request_ids"), std::string::npos);
}

TEST(AttemptsConfig, ASequenceAppliesWhereAllOfItsItemsDo) {
  const auto applies = [](const char* text, bool http2, Protocol protocol) {
    return fault_applies(parse_fault_text(text).value(), http2, protocol, false);
  };
  EXPECT_TRUE(applies("timeout:after, 503", false, Protocol::kHttp));
  EXPECT_FALSE(applies("503, grpc:UNAVAILABLE", false, Protocol::kHttp));
  EXPECT_TRUE(applies("503, grpc:UNAVAILABLE", true, Protocol::kGrpc));
  EXPECT_TRUE(applies("redis:LOADING when=1..2", false, Protocol::kRedis));
  EXPECT_FALSE(applies("timeout:after, pass", false, Protocol::kRedis));
  EXPECT_NE(why_not_applicable(parse_fault_text("timeout:after, pass").value()).find("Redis"),
            std::string_view::npos);
}

}  // namespace
}  // namespace filibuster
