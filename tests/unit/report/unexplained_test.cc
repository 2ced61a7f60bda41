#include "daemon/report/unexplained.h"

#include <gtest/gtest.h>

#include "daemon/agents/execution_record.h"

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

TEST(Unexplained, IsNotToldByTheNamesOfRpcs) {
  for (const char* name : {"a -> lease-service GET /", "a -> b GET /releases/1", "a -> b GET /shared/x",
                           "a -> b GET /share"}) {
    const std::string at = std::string("plan not met: refused at ") + name + " #1: ";
    EXPECT_EQ(cause_of(at + "its RPC was not issued"), "not known") << name;
    EXPECT_EQ(cause_of(at + "the connection ended first"), "keep-alive") << name;
    EXPECT_EQ(cause_of(at + std::string(kSentBeforeBody)), "a body that comes late") << name;
    EXPECT_EQ(cause_of(at + "its RPC was not issued; " + std::string(kOtherValues)),
              "values that vary") << name;
  }
}

TEST(Unexplained, KnowsWhatIsSaidOfBusyMachinesUnheardProcessesAndSharedIndexes) {
  const std::string at = "plan not met: refused at a -> b GET / #1: ";
  EXPECT_EQ(cause_of(at + "the daemon's lease is older than 1 s"), "a busy machine");
  EXPECT_EQ(cause_of("users (pid 7): its agent could not use its registration; not read any more, "
                     "its executions are incomplete"),
            "a process that is not heard");
  EXPECT_EQ(cause_of(at + "it fired at 2 RPCs that share the index"), "RPCs that nothing tells apart");
  EXPECT_EQ(cause_of(at + "several requests share its preliminary index"),
            "RPCs that nothing tells apart");
  EXPECT_EQ(cause_of("requests went over HTTP/2 connections that were open before the session, and "
                     "are being retired: 2 of front to back"),
            "connections of before the session");
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
