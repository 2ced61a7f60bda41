// Whether further lanes make executions faster on this machine. One lane keeps more than one processor busy: a
// test, its services, this daemon. Where that is all that the processors can do, further lanes only take memory.
// So the first executions run on all lanes and on half of them, in turn, and their rates are compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace filibuster {

// Knows no clock and no threads: its owner tells it what happens, in seconds of a steady clock.
class LaneTrial {
 public:
  LaneTrial(uint32_t lanes, uint32_t busy);  // busy: they run an execution already

  // How many lanes may begin an execution now.
  uint32_t allowed() const;
  // An execution begins, or ends.
  void began(double now);
  void ended(double now);
  // What was measured since the last turn does not count: lanes stood still for another reason.
  void interrupted();
  // The lanes that a decision left: the others may be stopped. It never grows.
  uint32_t kept() const { return lanes_; }
  // What was decided, a sentence for each time that lanes were given up.
  const std::vector<std::string>& decisions() const { return decisions_; }

 private:
  bool is_over() const { return lanes_ < 2 || turns_ >= kMostTurns; }
  bool has_few() const;
  void end_turn(double rate);
  void decide();

  // Turns are taken as all, half, half, all, …, so that what drifts meets both.
  static constexpr size_t kPairs = 4;
  static constexpr size_t kMostTurns = 6 * kPairs;  // those that did not count among them
  static constexpr double kTurnSeconds = 0.5;       // at least
  static constexpr uint32_t kExecutionsOfLane = 4;  // at least, in a turn
  static constexpr double kMostIdle = 0.2;          // of a turn, else it does not count
  static constexpr double kGain = 1.1;              // what further lanes must bring

  uint32_t lanes_;
  size_t turns_ = 0;
  std::vector<double> with_all_, with_half_;  // executions a second, by turn
  uint32_t busy_ = 0;
  bool measures_ = false;
  double since_ = 0, idle_since_ = 0, idle_ = 0;
  uint32_t executions_ = 0;
  std::vector<std::string> decisions_;
};

}  // namespace filibuster
