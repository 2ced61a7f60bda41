// The loop over cases: what it asks of a source and of a runner, and when it ends.
#include "daemon/explore/case_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace filibuster {
namespace {

Case numbered(uint32_t id) {
  Case one;
  one.id = id;
  return one;
}

// Hands out the cases 1 to `cases`.
class Numbers final : public CaseSource, public CaseRunner {
 public:
  explicit Numbers(uint32_t cases) : cases_(cases) {}

  Result<std::optional<Case>> next() override {
    if (fails_at == 'n') return Error{"next"};
    if (last_ == cases_) return std::optional<Case>();
    return std::optional(numbered(++last_));
  }
  Result<CaseOutcome> execute(const Case& one, CaseSource* source) override {
    EXPECT_EQ(source, this);
    log += " run " + std::to_string(one.id);
    if (fails_at == 'e') return Error{"execute"};
    CaseOutcome out;
    out.tries = one.id;
    out.attempt.result.stopped = one.id == stopped_in;
    return out;
  }
  Result<Flow> conclude(const Case& one, CaseOutcome result) override {
    EXPECT_EQ(result.tries, one.id);
    log += " conclude " + std::to_string(one.id);
    if (fails_at == 'c') return Error{"conclude"};
    return one.id == stopped_after ? Flow::kStopped : Flow::kGoesOn;
  }

  std::string log;
  char fails_at = ' ';
  uint32_t stopped_in = 0, stopped_after = 0;

 private:
  const uint32_t cases_;
  uint32_t last_ = 0;
};

TEST(Cases, EachIsRunAndConcludedBeforeTheNextIsAskedFor) {
  Numbers numbers(2);
  const auto flow = run_cases(&numbers, &numbers, -1);
  ASSERT_TRUE(flow.ok());
  EXPECT_EQ(flow.value(), Flow::kGoesOn);
  EXPECT_EQ(numbers.log, " run 1 conclude 1 run 2 conclude 2");
}

TEST(Cases, OneInWhichTheUserStoppedIsNotConcluded) {
  Numbers numbers(3);
  numbers.stopped_in = 2;
  EXPECT_EQ(run_cases(&numbers, &numbers, -1).value(), Flow::kStopped);
  EXPECT_EQ(numbers.log, " run 1 conclude 1 run 2");
}

TEST(Cases, ASourceThatWasStoppedEndsTheLoop) {
  Numbers numbers(3);
  numbers.stopped_after = 1;
  EXPECT_EQ(run_cases(&numbers, &numbers, -1).value(), Flow::kStopped);
  EXPECT_EQ(numbers.log, " run 1 conclude 1");
}

TEST(Cases, AReadableDescriptorStopsTheLoopBeforeTheNextCase) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  Numbers numbers(3);
  EXPECT_EQ(run_cases(&numbers, &numbers, ends[0]).value(), Flow::kStopped);
  EXPECT_EQ(numbers.log, "");
  close(ends[0]);
  close(ends[1]);
}

TEST(Cases, ASourceThatFoundNoCaseBecauseItWasStoppedIsNotAtItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  class Stopped final : public CaseSource {
   public:
    explicit Stopped(int fd) : fd_(fd) {}
    Result<std::optional<Case>> next() override {
      EXPECT_EQ(write(fd_, "x", 1), 1);
      return std::optional<Case>();
    }
    Result<Flow> conclude(const Case&, CaseOutcome) override { return Flow::kGoesOn; }

   private:
    const int fd_;
  } source(ends[1]);
  Numbers runner(0);
  EXPECT_EQ(run_cases(&source, &runner, ends[0]).value(), Flow::kStopped);
  close(ends[0]);
  close(ends[1]);
}

TEST(Cases, AnErrorOfAnyStepIsTheErrorOfTheLoop) {
  for (const auto& [step, text] : {std::pair{'n', "next"}, {'e', "execute"}, {'c', "conclude"}}) {
    Numbers numbers(1);
    numbers.fails_at = step;
    const auto flow = run_cases(&numbers, &numbers, -1);
    ASSERT_FALSE(flow.ok());
    EXPECT_EQ(flow.error().message, text);
  }
}

}  // namespace
}  // namespace filibuster
