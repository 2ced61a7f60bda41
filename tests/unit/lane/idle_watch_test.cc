#include "daemon/lane/idle_watch.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "daemon/base/descriptors.h"

namespace filibuster {
namespace {

RpcRecord call(const std::string& caller, Cause cause) {
  RpcRecord out;
  out.caller = caller;
  out.cause = cause;
  return out;
}

ExecutionResult passed(std::vector<RpcRecord> rpcs) {
  ExecutionResult out;
  out.exit = ExitStatus{false, 0};
  out.record.rpcs = std::move(rpcs);
  return out;
}

TEST(IdleWatch, IsOwedOnlyForCallsWhoseCauseItMayChange) {
  IdleWatch watch;
  watch.owe();
  EXPECT_FALSE(watch.may_change({}, passed({})));
  EXPECT_FALSE(watch.may_change({}, passed({call("test", Cause::kEntry), call("test", Cause::kNone),
                                            call("web", Cause::kThread), call("web", Cause::kTask),
                                            call("web", Cause::kHeader)})));
  EXPECT_TRUE(
      watch.may_change({}, passed({call("web", Cause::kThread), call("web", Cause::kOnlyActive)})));
  EXPECT_TRUE(watch.may_change({}, passed({call("web", Cause::kNone)})));
  EXPECT_TRUE(watch.may_change({PlannedRpcFault{}}, passed({call("web", Cause::kOnlyActive)})));
}

TEST(IdleWatch, AServiceThatWasNotQuiteReadyIsGivenTheTime) {
  IdleWatch watch;
  watch.owe();
  ExecutionResult failed = passed({});
  failed.exit = ExitStatus{false, 1};
  EXPECT_TRUE(watch.may_change({}, failed));
  // With a fault a test may well fail.
  EXPECT_FALSE(watch.may_change({PlannedRpcFault{}}, failed));
}

TEST(IdleWatch, WhatHasEndedIsToldAsItIs) {
  IdleWatch watch;
  watch.owe();
  ExecutionResult crashed = passed({call("web", Cause::kOnlyActive)});
  crashed.ended.push_back({"web", {}, "", false});
  EXPECT_FALSE(watch.may_change({}, crashed));
  ExecutionResult stopped = passed({call("web", Cause::kOnlyActive)});
  stopped.stopped = true;
  EXPECT_FALSE(watch.may_change({}, stopped));
  ExecutionResult silent = passed({call("web", Cause::kOnlyActive)});
  silent.exit.reset();
  EXPECT_FALSE(watch.may_change({}, silent));
}

TEST(IdleWatch, IsMadeUpForOnce) {
  const ExecutionResult shows = passed({call("web", Cause::kOnlyActive)});
  IdleWatch watch;
  EXPECT_FALSE(watch.may_change({}, shows));  // nothing is owed
  watch.owe();
  EXPECT_TRUE(watch.may_change({}, shows));
  EXPECT_TRUE(watch.make_up(-1));
  EXPECT_FALSE(watch.may_change({}, shows));
}

TEST(IdleWatch, AStopEndsIt) {
  const UniqueFd wake(eventfd(1, EFD_CLOEXEC));
  IdleWatch watch;
  watch.owe();
  EXPECT_FALSE(watch.make_up(wake.get()));
}

TEST(IdleWatch, WhatAgentsReportOnceIsCarriedOver) {
  ExecutionRecord before, record;
  before.notes = {"one", "both"};
  record.notes = {"both", "other"};
  before.runtime_problems = {"web: node: not followed"};
  before.not_interposed = {{"web", "10.0.0.1:1", "", "unknown protocol", true, 4},
                           {"web", "10.0.0.1:2", "", "unknown protocol", true, 1}};
  record.not_interposed = {{"web", "10.0.0.1:1", "", "unknown protocol", true, 1}};
  before.rpcs.push_back(call("web", Cause::kNone));
  before.late_calls = {"web -> back GET /"};
  carry_over(before, &record);
  EXPECT_EQ(record.notes, (std::vector<std::string>{"both", "other", "one"}));
  EXPECT_EQ(record.runtime_problems, before.runtime_problems);
  ASSERT_EQ(record.not_interposed.size(), 2u);
  EXPECT_EQ(record.not_interposed[0].times, 1u);
  EXPECT_EQ(record.not_interposed[1].peer, "10.0.0.1:2");
  EXPECT_TRUE(record.rpcs.empty());
  EXPECT_TRUE(record.late_calls.empty());
}

}  // namespace
}  // namespace filibuster
