#include "daemon/report/given_up.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

RpcRecord call_of(const std::string& caller, uint16_t flags) {
  RpcRecord out;
  out.caller = caller;
  out.flags = flags;
  return out;
}

TEST(GivenUp, CallsAreCountedForEachServiceWithTheirExecutions) {
  GivenUpCounts counts;
  ExecutionRecord record;
  record.rpcs = {call_of("web", kRpcHttp2), call_of("web", 0)};
  EXPECT_FALSE(counts.see(record));
  record.rpcs = {call_of("web", kRpcAfterGivingUp), call_of("users", kRpcAfterGivingUp),
                 call_of("web", kRpcAfterGivingUp | kRpcHttp2)};
  EXPECT_TRUE(counts.see(record));
  record.rpcs = {call_of("web", kRpcAfterGivingUp)};
  EXPECT_TRUE(counts.see(record));
  GivenUpCounts resumed;
  resumed.add_json(counts.to_json());
  resumed.add_json("no JSON");
  for (const auto& notes : {counts.notes(), resumed.notes()}) {
    ASSERT_EQ(notes.size(), 2u);
    EXPECT_TRUE(notes[0].starts_with(
        "users: it is not known which request caused 1 call in 1 execution, since a client had "))
        << notes[0];
    EXPECT_TRUE(
        notes[1].starts_with("web: it is not known which request caused 3 calls in 2 executions"))
        << notes[1];
  }
}

}  // namespace
}  // namespace filibuster
