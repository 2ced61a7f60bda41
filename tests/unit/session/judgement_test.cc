#include "daemon/session/judgement.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

constexpr char kBeyond[] =
    "plan not met: grpc:ABORTED@3 at test -> calls calls.Calls/Count: the answer ended after 1 message";
constexpr char kNotIssued[] = "plan not met: refused at front -> back GET /: its RPC was not issued";

TEST(AdviceOnAbandoned, BlamesStateOnlyWhereTheAnswerIsNotTooShort) {
  EXPECT_TRUE(advice_on_abandoned(0, {}).empty());
  const auto state = advice_on_abandoned(1, {{"execution", kNotIssued}});
  ASSERT_EQ(state.size(), 1u);
  EXPECT_NE(state[0].find("keep state between executions"), std::string::npos);
  const auto beyond = advice_on_abandoned(2, {{"execution", kBeyond}, {"execution", kBeyond}});
  ASSERT_EQ(beyond.size(), 1u);
  EXPECT_NE(beyond[0].find("name an earlier message"), std::string::npos);
  EXPECT_EQ(advice_on_abandoned(2, {{"execution", kBeyond}, {"execution", kNotIssued}}),
            (std::vector<std::string>{beyond[0], state[0]}));
}

TEST(AdviceOnAbandoned, CountsOnlyWhatWasNotMet) {
  const auto other = advice_on_abandoned(1, {{"execution", "not quiescent: still open: the answer ended after 1"}});
  ASSERT_EQ(other.size(), 1u);
  EXPECT_NE(other[0].find("keep state"), std::string::npos);
}

}  // namespace
}  // namespace filibuster
