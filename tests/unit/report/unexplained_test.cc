#include "daemon/report/unexplained.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

const std::string kNotMet = "plan not met: refused at a -> b GET / #1: its RPC was not issued";

Skipped inconclusive(const std::string& reason) {
  return {"execution {a -> b GET /: refused}", reason, true};
}

std::string cause_of(const std::string& reason) {
  const auto groups = group_by_cause({inconclusive(reason)});
  return groups.size() == 1 ? groups[0].cause : "";
}

TEST(Unexplained, IsOneLineForEachCause) {
  const std::string state = kNotMet + "; " + std::string(kNorWithoutFault);
  const auto groups = group_by_cause(
      {inconclusive(state), inconclusive("plan not met: 1 events were lost"), inconclusive(state)});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].cause, "state in a service");
  EXPECT_EQ(groups[0].executions, 2u);
  EXPECT_EQ(groups[1].cause, "lost events");
  EXPECT_EQ(to_line(groups[0]).find('\n'), std::string::npos);
}

TEST(Unexplained, IsOnlyWhatRanInVain) {
  EXPECT_TRUE(group_by_cause({{"3 executions", "bound max_executions 1", false}}).empty());
}

TEST(Unexplained, TellsKeepAliveRetriesAndStateApart) {
  EXPECT_EQ(cause_of(kNotMet + "; " + std::string(kNorWithoutFault)), "state in a service");
  EXPECT_EQ(cause_of(kNotMet + "; " + std::string(kAfterReset)), "retries by the library");
  EXPECT_EQ(cause_of(kNotMet + "; " + std::string(kAtConnect)), "keep-alive");
  EXPECT_EQ(cause_of("plan not met: reset at a -> b GET / #1: the connection ended first"),
            "keep-alive");
  EXPECT_EQ(cause_of(kNotMet + "; " + std::string(kOtherValues)), "values that vary");
  EXPECT_EQ(cause_of(kNotMet), "not known");
}

TEST(Unexplained, NamesAFreshStartOnlyAgainstState) {
  for (const std::string_view why : {kOtherValues, kNorWithoutFault, kAfterReset, kAtConnect}) {
    const auto groups = group_by_cause({inconclusive(kNotMet + "; " + std::string(why))});
    const bool named = groups[0].advice.find("\"restart\": \"each\"") != std::string::npos;
    EXPECT_EQ(named, why == kNorWithoutFault) << why;
  }
}

TEST(Unexplained, SaysAfterHowManyMessagesAnAnswerEnded) {
  const auto groups = group_by_cause({inconclusive(
      "plan not met: grpc:INTERNAL:@3 at a -> b s.S/M #1: the answer ended after 1 message")});
  EXPECT_NE(groups[0].advice.find("name an earlier message"), std::string::npos);
  EXPECT_NE(groups[0].example.find("after 1 message"), std::string::npos);
}

}  // namespace
}  // namespace filibuster
