// Which RPC is an attempt of a planned sequence: decided over lane memory alone.
#include "preload/rpc/attempts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/fault/fault.h"

namespace filibuster::preload {
namespace {

constexpr uint32_t kExecution = 7;

Hash128 hash(const char* text) {
  return hash_text(text);
}

// A lane with one sequence: "timeout:after, pass, status:503 when=3+" as the daemon writes it.
struct Lane {
  Lane() {
    entry(FaultKind::kAttempts, 0, 0, 0).index = hash("index");
    entry(FaultKind::kTimeout, 1, 1, 1).after_effect = 1;
    entry(FaultKind::kNone, 2, 2, 1);
    entry(FaultKind::kStatus, 3, 0, 1).status = 503;
    memory->sequences_planned = 1;
    memory->execution = kExecution;
  }
  PlanEntry& entry(FaultKind kind, uint32_t first, uint32_t last, uint32_t step) {
    PlanEntry& out = memory->plan[memory->plan_count];
    out.kind = static_cast<uint8_t>(kind);
    out.id = memory->plan_count++;
    out.attempt_first = first;
    out.attempt_last = last;
    out.attempt_step = step;
    return out;
  }
  const std::unique_ptr<LaneMemory> owned = std::make_unique<LaneMemory>();
  LaneMemory* const memory = owned.get();
};

AttemptIdentity call_of_attempt() {
  AttemptIdentity out;
  out.path = hash("cause");
  out.request = hash("GET /a");
  out.site = hash("shop.py:3");
  return out;
}
AttemptIdentity with_id(const char* id) {
  AttemptIdentity out = call_of_attempt();
  out.request_id = hash(id);
  return out;
}

FaultKind kind_of_outcome(const AttemptOutcome& outcome) {
  return static_cast<FaultKind>(outcome.entry.kind);
}

TEST(AttemptsInLane, EachTakesTheOutcomeOfItsNumber) {
  const Lane lane;
  const Attempt first =
      first_attempt(lane.memory, lane.memory->plan[0], kExecution, call_of_attempt());
  ASSERT_EQ(first.number, 1u);
  EXPECT_EQ(kind_of_outcome(attempt_outcome(lane.memory, first)), FaultKind::kTimeout);
  attempt_ended(lane.memory, first, kExecution, true);
  const Attempt second = further_attempt(lane.memory, kExecution, call_of_attempt());
  ASSERT_EQ(second.number, 2u);
  EXPECT_EQ(kind_of_outcome(attempt_outcome(lane.memory, second)), FaultKind::kNone);
  attempt_ended(lane.memory, second, kExecution, true);
  for (uint32_t number = 3; number < 6; ++number) {
    const Attempt next = further_attempt(lane.memory, kExecution, call_of_attempt());
    ASSERT_EQ(next.number, number);
    EXPECT_EQ(next.grouped_by, GroupedBy::kSameRequest);
    const AttemptOutcome outcome = attempt_outcome(lane.memory, next);
    EXPECT_EQ(kind_of_outcome(outcome), FaultKind::kStatus);
    EXPECT_EQ(outcome.entry.id, 3u);
    attempt_ended(lane.memory, next, kExecution, true);
  }
}

TEST(AttemptsInLane, WhatNoItemNamesPassesAndIsStillOfTheSequence) {
  Lane lane;
  lane.memory->plan_count = 2;  // without the last two items
  const Attempt first =
      first_attempt(lane.memory, lane.memory->plan[0], kExecution, call_of_attempt());
  attempt_ended(lane.memory, first, kExecution, true);
  const AttemptOutcome outcome =
      attempt_outcome(lane.memory, further_attempt(lane.memory, kExecution, call_of_attempt()));
  EXPECT_EQ(kind_of_outcome(outcome), FaultKind::kNone);
  EXPECT_EQ(outcome.entry.id, 0u);
}

TEST(AttemptsInLane, TheSameRequestIsAnAttemptOnlyAfterTheEarlierOneFailed) {
  const Lane lane;
  const Attempt first =
      first_attempt(lane.memory, lane.memory->plan[0], kExecution, call_of_attempt());
  EXPECT_EQ(further_attempt(lane.memory, kExecution, call_of_attempt()).group,
            0u);  // it is open: a sibling
  attempt_ended(lane.memory, first, kExecution, false);
  EXPECT_EQ(further_attempt(lane.memory, kExecution, call_of_attempt()).group,
            0u);  // it succeeded: another call
}

TEST(AttemptsInLane, AnotherCauseRequestOrSiteIsAnotherCall) {
  const Lane lane;
  const Attempt first =
      first_attempt(lane.memory, lane.memory->plan[0], kExecution, call_of_attempt());
  attempt_ended(lane.memory, first, kExecution, true);
  for (Hash128 AttemptIdentity::*part :
       {&AttemptIdentity::path, &AttemptIdentity::request, &AttemptIdentity::site}) {
    AttemptIdentity other = call_of_attempt();
    other.*part = hash("other");
    EXPECT_EQ(further_attempt(lane.memory, kExecution, other).group, 0u);
  }
  AttemptIdentity unknown = call_of_attempt();
  unknown.site = {};
  EXPECT_EQ(further_attempt(lane.memory, kExecution, unknown).group, 0u);
  EXPECT_EQ(further_attempt(lane.memory, kExecution + 1, call_of_attempt()).group, 0u);
  EXPECT_EQ(further_attempt(lane.memory, kExecution, call_of_attempt()).number, 2u);
}

TEST(AttemptsInLane, ARequestIdTellsAnAttemptWhateverElseDiffers) {
  const Lane lane;
  first_attempt(lane.memory, lane.memory->plan[0], kExecution, with_id("a"));
  AttemptIdentity next = with_id("a");
  next.request = hash("PUT /b");
  next.site = hash("other.py:9");
  const Attempt second = further_attempt(lane.memory, kExecution, next);
  EXPECT_EQ(second.number, 2u);
  EXPECT_EQ(second.grouped_by, GroupedBy::kRequestId);
}

TEST(AttemptsInLane, AnotherRequestIdIsAnotherCallAlsoAfterAFailure) {
  const Lane lane;
  const Attempt first = first_attempt(lane.memory, lane.memory->plan[0], kExecution, with_id("a"));
  attempt_ended(lane.memory, first, kExecution, true);
  EXPECT_EQ(further_attempt(lane.memory, kExecution, with_id("b")).group, 0u);
  EXPECT_EQ(further_attempt(lane.memory, kExecution, with_id("a")).number, 2u);
}

TEST(AttemptsInLane, AnIdThatIsPassedOnNeedsTheSameRequest) {
  const Lane lane;
  AttemptIdentity first = with_id("a"), other = with_id("a");
  first.request_id_with_path = other.request_id_with_path = true;
  other.request = hash("GET /b");
  first_attempt(lane.memory, lane.memory->plan[0], kExecution, first);
  EXPECT_EQ(further_attempt(lane.memory, kExecution, other).group, 0u);
  EXPECT_EQ(further_attempt(lane.memory, kExecution, first).grouped_by, GroupedBy::kRequestId);
}

TEST(AttemptsInLane, GrpcSaysThatThereWereAttempts) {
  const Lane lane;
  first_attempt(lane.memory, lane.memory->plan[0], kExecution, call_of_attempt());
  AttemptIdentity retry = call_of_attempt();
  retry.site = hash("another thread of the library");
  retry.was_attempted = true;
  EXPECT_EQ(further_attempt(lane.memory, kExecution, retry).grouped_by, GroupedBy::kGrpcAttempts);
  retry.request = hash("other");
  EXPECT_EQ(further_attempt(lane.memory, kExecution, retry).group, 0u);
}

TEST(AttemptsInLane, OneSequenceBeginsOnceInAnExecution) {
  const Lane lane;
  EXPECT_EQ(first_attempt(lane.memory, lane.memory->plan[0], kExecution, call_of_attempt()).number,
            1u);
  EXPECT_EQ(first_attempt(lane.memory, lane.memory->plan[0], kExecution, call_of_attempt()).group,
            0u);
  EXPECT_EQ(
      first_attempt(lane.memory, lane.memory->plan[0], kExecution + 1, call_of_attempt()).number,
      1u);
}

TEST(AttemptsInLane, ConcurrentRetriesGetDifferentNumbers) {
  const Lane lane;
  first_attempt(lane.memory, lane.memory->plan[0], kExecution, with_id("a"));
  constexpr int kThreads = 4, kEach = 500;
  std::vector<std::atomic<int>> seen(kThreads * kEach + 2);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i)
        ++seen[further_attempt(lane.memory, kExecution, with_id("a")).number];
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t number = 2; number < seen.size(); ++number) EXPECT_EQ(seen[number], 1) << number;
}

TEST(AttemptsInLane, OfTwoIdenticalCallsAfterAFailureOneIsTheRetry) {
  const Lane lane;
  const Attempt first =
      first_attempt(lane.memory, lane.memory->plan[0], kExecution, call_of_attempt());
  attempt_ended(lane.memory, first, kExecution, true);
  std::atomic<int> attempts{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      attempts += further_attempt(lane.memory, kExecution, call_of_attempt()).group != 0 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(attempts, 1);
}

}  // namespace
}  // namespace filibuster::preload
