#include "daemon/report/unexplained.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

Skipped inconclusive(NoConclusion cause, const std::string& reason = "plan not met: a -> b") {
  return {"execution {a -> b GET /: refused}", reason, cause};
}

Unexplained group_of(NoConclusion cause) {
  const auto groups = group_by_cause({inconclusive(cause)});
  return groups.size() == 1 ? groups[0] : Unexplained{};
}

constexpr auto kLast = static_cast<int>(NoConclusion::kOther);

TEST(Unexplained, IsOneLineForEachCause) {
  const auto groups = group_by_cause({inconclusive(NoConclusion::kStateInService),
                                      inconclusive(NoConclusion::kEventsLost),
                                      inconclusive(NoConclusion::kStateInService)});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].cause, "state in a service");
  EXPECT_EQ(groups[0].executions, 2u);
  EXPECT_EQ(groups[1].cause, "lost events");
  EXPECT_EQ(to_line(groups[0]).find('\n'), std::string::npos);
}

TEST(Unexplained, IsOnlyWhatRanInVain) {
  EXPECT_TRUE(group_by_cause({{"3 executions", "bound max_executions 1"}}).empty());
}

TEST(Unexplained, EveryCauseHasAnAdvice) {
  for (int i = 0; i <= kLast; ++i) {
    const auto cause = static_cast<NoConclusion>(i);
    const bool known = cause != NoConclusion::kOther && cause != NoConclusion::kNotIssued;
    EXPECT_EQ(group_of(cause).cause == "not known", !known) << i;
    EXPECT_FALSE(group_of(cause).advice.empty()) << i;
  }
}

TEST(Unexplained, KeepAliveIsOneCauseHoweverItIsSeenButItsAdvicesAreTwo) {
  const auto groups = group_by_cause(
      {inconclusive(NoConclusion::kAtConnect), inconclusive(NoConclusion::kConnectionEnded)});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].cause, groups[1].cause);
}

TEST(Unexplained, NamesAFreshStartOnlyAgainstStateAndKeptConnections) {
  for (int i = 0; i <= kLast; ++i) {
    const auto cause = static_cast<NoConclusion>(i);
    if (cause == NoConclusion::kNotHeard) continue;  // a new start of the service that is not heard
    const bool named = group_of(cause).advice.find("\"restart\": \"each\"") != std::string::npos;
    EXPECT_EQ(named, cause == NoConclusion::kStateInService || cause == NoConclusion::kAtConnect)
        << i;
  }
}

TEST(Unexplained, ItsExampleHasTheReason) {
  const auto groups =
      group_by_cause({inconclusive(NoConclusion::kAnswerEnded,
                                   "plan not met: grpc:INTERNAL:@3 at a -> b s.S/M #1: the "
                                   "answer ended after 1 message")});
  EXPECT_NE(groups[0].advice.find("name an earlier message"), std::string::npos);
  EXPECT_NE(groups[0].example.find("after 1 message"), std::string::npos);
}

}  // namespace
}  // namespace filibuster
