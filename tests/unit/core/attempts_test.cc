#include "core/fault/attempts.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

FaultSpec parsed_attempts(std::string_view text) {
  auto fault = parse_fault(text);
  EXPECT_TRUE(fault.ok()) << text << ": " << (fault.ok() ? "" : fault.error().message);
  return fault.ok() ? fault.value() : FaultSpec{};
}

// "503", or "pass", of each attempt from 1 on.
std::string outcomes(std::string_view text, uint32_t attempts) {
  const FaultSpec fault = parsed_attempts(text);
  std::string out;
  for (uint32_t i = 1; i <= attempts; ++i) {
    const FaultSpec* outcome = outcome_of(fault.attempts, i);
    out += (out.empty() ? "" : " ") + (outcome == nullptr ? "pass" : to_text(*outcome));
  }
  return out;
}

TEST(Attempts, EveryFormOfASequenceRoundTrips) {
  for (const char* text :
       {"timeout:after, status:503, pass", "timeout:after, status:503 when=2+", "status:503 when=1",
        "status:503 when=1..3", "status:503 when=3+3", "status:503 when=4+",
        "status:503 when=1..9+2", "pass, reset, pass, grpc:UNAVAILABLE", "reset when=2, status:429",
        "redis:LOADING when=1+", "latency:300ms, stream-reset:CANCEL:after, grpc:ABORTED@3"}) {
    const FaultSpec fault = parsed_attempts(text);
    EXPECT_EQ(fault.kind, FaultKind::kAttempts);
    EXPECT_EQ(to_text(fault), text);
    EXPECT_EQ(parsed_attempts(to_text(fault)), fault);
  }
}

TEST(Attempts, AreWrittenInOtherWaysToo) {
  EXPECT_EQ(to_text(parsed_attempts("timeout:after,503,pass")), "timeout:after, status:503, pass");
  EXPECT_EQ(to_text(parsed_attempts("503 when=1..1+5, pass")), "status:503, pass");
  EXPECT_EQ(to_text(parsed_attempts("503:after when=1..5+")), "status:503:after when=1..5");
  EXPECT_EQ(to_text(parsed_attempts("503 when=2..2")), "status:503 when=2");
}

TEST(Attempts, ItemsWithoutAnOccasionFollowOneAnother) {
  EXPECT_EQ(outcomes("timeout:after, 503, pass", 5), "timeout:after status:503 pass pass pass");
  EXPECT_EQ(outcomes("503 when=1..2, reset", 4), "status:503 status:503 reset pass");
  EXPECT_EQ(outcomes("503 when=2, reset", 4), "pass status:503 reset pass");
}

TEST(Attempts, OccasionsAreThoseOfStrace) {
  EXPECT_EQ(outcomes("503 when=2", 3), "pass status:503 pass");
  EXPECT_EQ(outcomes("503 when=1..2", 3), "status:503 status:503 pass");
  EXPECT_EQ(outcomes("503 when=3+", 4), "pass pass status:503 status:503");
  EXPECT_EQ(outcomes("503 when=2+2", 5), "pass status:503 pass status:503 pass");
  EXPECT_EQ(outcomes("503 when=1..4+2", 6), "status:503 pass status:503 pass pass pass");
}

TEST(Attempts, TheFirstItemThatNamesAnAttemptDecidesIt) {
  EXPECT_EQ(outcomes("pass when=2, 503 when=1+", 3), "status:503 pass status:503");
  EXPECT_EQ(outcomes("503 when=1+, reset when=2", 2), "status:503 status:503");
}

TEST(Attempts, AnItemBehindOneWithoutAnEndSaysWhenItIsMeant) {
  const auto fault = parse_fault("503 when=2+, reset");
  ASSERT_FALSE(fault.ok());
  EXPECT_NE(fault.error().message.find("has no end"), std::string::npos) << fault.error().message;
}

TEST(Attempts, WhatIsNoSequenceIsRefusedWithTheReason) {
  for (const auto& [text, part] :
       {std::pair{"pass, pass", "needs an attempt that does not pass"},
        std::pair{"refused, pass", "use 'reset'"},
        std::pair{"tls:unknown-ca, pass", "when a connection is opened"},
        std::pair{"503 when=0", "names no attempts"},
        std::pair{"503 when=3..2", "names no attempts"},
        std::pair{"503 when=2+0", "names no attempts"},
        std::pair{"503 when=1..3x", "names no attempts"},
        std::pair{"503 when=70000", "names no attempts"},
        std::pair{"503 when=", "names no attempts"}, std::pair{"503,", "'pass' or a fault"},
        std::pair{",503", "'pass' or a fault"}, std::pair{"timeot, pass", "timeout"},
        std::pair{"999, pass", "200 to 599"}}) {
    const auto fault = parse_fault(text);
    ASSERT_FALSE(fault.ok()) << text;
    EXPECT_NE(fault.error().message.find(part), std::string::npos)
        << text << ": " << fault.error().message;
  }
  std::string many = "503";
  for (size_t i = 0; i < kMaxAttemptRules; ++i) many += ", 503";
  EXPECT_FALSE(parse_fault(many).ok());
}

TEST(Attempts, BodiesTellSequencesApartThatReadAlike) {
  FaultSpec one = parsed_attempts("503, pass"), other = one;
  EXPECT_EQ(fault_key(one), to_text(one));
  other.attempts.rules[0].outcome.body = "<Error/>";
  EXPECT_EQ(to_text(one), to_text(other));
  EXPECT_NE(fault_key(one), fault_key(other));
  EXPECT_NE(one, other);
}

TEST(Attempts, APlainFaultIsNoSequence) {
  EXPECT_EQ(parsed_attempts("timeout:after").kind, FaultKind::kTimeout);
  EXPECT_FALSE(is_attempts_text("timeout:after"));
  EXPECT_FALSE(is_attempts_text("grpc:UNAVAILABLE@3"));
}

}  // namespace
}  // namespace filibuster
