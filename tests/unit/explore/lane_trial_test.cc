// Lanes on machines that can do more or less of them at the same time.
#include "daemon/explore/lane_trial.h"

#include <gtest/gtest.h>

#include <functional>
#include <queue>
#include <vector>

namespace filibuster {
namespace {

// A machine without a clock: lanes take one execution after the other.
class Machine {
 public:
  // What execution `number` takes while so many run, in seconds; what passes between two of a lane.
  using Lasts = std::function<double(uint32_t number, uint32_t busy)>;
  Machine(uint32_t lanes, Lasts lasts, double pause = 0)
      : trial(lanes, 0), lasts_(std::move(lasts)), pause_(pause), ready_(lanes, 0.0) {}

  void run(double seconds) {
    while (now < seconds) {
      const bool begun = begin_what_may();
      if (ends_.empty()) {
        now += 0.001;
      } else if (!begun || busy_ == trial.allowed()) {
        end_next();
      }
    }
  }

  LaneTrial trial;
  double now = 0;
  uint32_t executions = 0;

 private:
  struct End {
    double at;
    size_t lane;
    bool operator>(const End& other) const { return at > other.at; }
  };
  bool begin_what_may() {
    bool begun = false;
    for (size_t lane = 0; lane < ready_.size() && lane < trial.allowed(); ++lane) {
      if (ready_[lane] < 0 || ready_[lane] > now) continue;
      ready_[lane] = -1;
      ++busy_;
      trial.began(now);
      ends_.push({now + lasts_(++executions, trial.allowed()), lane});
      begun = true;
    }
    return begun;
  }
  void end_next() {
    const End next = ends_.top();
    double wakes = next.at;
    for (size_t lane = 0; lane < ready_.size() && lane < trial.allowed(); ++lane) {
      if (ready_[lane] > now && ready_[lane] < wakes) wakes = ready_[lane];
    }
    now = wakes;
    if (wakes < next.at) return;
    ends_.pop();
    --busy_;
    trial.ended(now);
    ready_[next.lane] = now + pause_;
  }

  Lasts lasts_;
  double pause_;
  std::vector<double> ready_;  // when a lane may begin; -1: it runs an execution
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  uint32_t busy_ = 0;
};

// `processors` are shared by what runs.
Machine::Lasts computes(double seconds, uint32_t processors) {
  return [=](uint32_t, uint32_t busy) {
    return seconds * std::max(1.0, static_cast<double>(busy) / processors);
  };
}

TEST(LaneTrial, GivesUpLanesThatMakeNothingFaster) {
  Machine machine(2, computes(0.04, 1));
  machine.run(20);
  EXPECT_EQ(machine.trial.kept(), 1u);
  EXPECT_EQ(machine.trial.allowed(), 1u);
  ASSERT_EQ(machine.trial.decisions().size(), 1u);
  EXPECT_NE(machine.trial.decisions()[0].find(", and 1 lane 25: so 1 lane goes on"),
            std::string::npos);
}

TEST(LaneTrial, KeepsLanesThatAreFaster) {
  Machine machine(2, computes(0.04, 2));
  machine.run(20);
  EXPECT_EQ(machine.trial.kept(), 2u);
  EXPECT_EQ(machine.trial.allowed(), 2u);
  EXPECT_TRUE(machine.trial.decisions().empty());
}

TEST(LaneTrial, HalvesUntilLanesAreOfUse) {
  Machine machine(8, computes(0.04, 2));
  machine.run(60);
  EXPECT_EQ(machine.trial.kept(), 2u);
  EXPECT_EQ(machine.trial.decisions().size(), 2u);
}

TEST(LaneTrial, KeepsLanesThatWait) {
  // Every third execution waits for two seconds, and the others compute on the only processor.
  Machine machine(
      2, [](uint32_t number, uint32_t busy) { return number % 3 == 0 ? 2.0 : 0.05 * busy; });
  machine.run(300);
  EXPECT_EQ(machine.trial.kept(), 2u);
}

TEST(LaneTrial, AnOddNumberIsHalvedUpwards) {
  Machine machine(3, computes(0.04, 1));
  machine.run(60);
  EXPECT_EQ(machine.trial.kept(), 1u);
  ASSERT_EQ(machine.trial.decisions().size(), 2u);
  EXPECT_NE(machine.trial.decisions()[0].find("so 2 lanes go on"), std::string::npos);
}

TEST(LaneTrial, DecidesNothingWhereLanesHaveNothingToDo) {
  // Between two executions a lane waits as long as the execution took.
  Machine machine(2, computes(0.04, 1), 0.08);
  machine.run(100);
  EXPECT_EQ(machine.trial.kept(), 2u);
  EXPECT_EQ(machine.trial.allowed(), 2u);
}

TEST(LaneTrial, WhatWasInterruptedIsMeasuredAnew) {
  LaneTrial trial(2, 1);
  trial.began(0.0);  // both run
  for (int i = 1; i < 8; ++i) {
    trial.ended(0.1 * i);
    trial.began(0.1 * i);
  }
  trial.interrupted();
  trial.ended(0.8);
  trial.began(0.8);
  trial.ended(0.9);
  EXPECT_EQ(trial.allowed(), 2u);  // the turn that ended at 0.8 would have been the first
  trial.began(0.9);
  for (int i = 10; i < 16; ++i) {
    trial.ended(0.1 * i);
    trial.began(0.1 * i);
  }
  EXPECT_EQ(trial.allowed(), 2u);
  trial.ended(1.6);
  EXPECT_EQ(trial.allowed(), 1u);
}

TEST(LaneTrial, LanesAreNotKeptBackWhileSomethingInterrupts) {
  Machine machine(2, computes(0.04, 1));
  machine.run(0.7);
  EXPECT_EQ(machine.trial.allowed(), 1u);
  for (int i = 0; i < 100; ++i) {
    machine.run(machine.now + 0.2);
    machine.trial.interrupted();
  }
  EXPECT_EQ(machine.trial.allowed(), 2u);
  EXPECT_EQ(machine.trial.kept(), 2u);
}

}  // namespace
}  // namespace filibuster
