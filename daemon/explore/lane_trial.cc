#include "daemon/explore/lane_trial.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace filibuster {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string lanes_text(uint32_t lanes) {
  return std::to_string(lanes) + (lanes == 1 ? " lane" : " lanes");
}

}  // namespace

LaneTrial::LaneTrial(uint32_t lanes, uint32_t busy) : lanes_(lanes), busy_(busy) {}

// The turns are all, half, half, all, and so on.
bool LaneTrial::has_few() const {
  const size_t taken = with_all_.size() + with_half_.size();
  return taken % 4 == 1 || taken % 4 == 2;
}

uint32_t LaneTrial::allowed() const {
  return !is_over() && has_few() ? (lanes_ + 1) / 2 : lanes_;
}

// A turn begins with an execution, when as many run as are allowed.
void LaneTrial::began(double now) {
  ++busy_;
  if (is_over() || busy_ != allowed()) return;
  if (measures_) {
    idle_ += now - idle_since_;
    return;
  }
  measures_ = true;
  since_ = now;
  idle_ = 0;
  executions_ = 0;
}

void LaneTrial::ended(double now) {
  --busy_;
  if (is_over() || !measures_) return;
  ++executions_;
  if (busy_ + 1 == allowed()) idle_since_ = now;
  const double passed = now - since_;
  if (passed < kTurnSeconds || executions_ < kExecutionsOfLane * lanes_) return;
  measures_ = false;
  ++turns_;
  if (idle_ <= kMostIdle * passed) end_turn(executions_ / passed);
}

// It is a turn that does not count: lanes are not kept back for as long as something interrupts.
void LaneTrial::interrupted() {
  if (measures_) ++turns_;
  measures_ = false;
}

void LaneTrial::end_turn(double rate) {
  (has_few() ? with_half_ : with_all_).push_back(rate);
  if (with_all_.size() == kPairs && with_half_.size() == kPairs) decide();
}

// One pair of turns may show a gain by chance. If two do, lanes stay: what differs between executions (some wait
// for a timeout, where lanes help most) is not to be taken for what the lanes do.
void LaneTrial::decide() {
  size_t gains = 0;
  for (size_t i = 0; i < kPairs; ++i) gains += with_all_[i] >= kGain * with_half_[i] ? 1 : 0;
  if (gains > 1 || mean(with_all_) >= kGain * mean(with_half_)) {
    turns_ = kMostTurns;
    return;
  }
  const uint32_t half = (lanes_ + 1) / 2;
  char text[160];
  snprintf(text, sizeof text, "%s ran %.3g executions a second here, and %s %.3g",
           lanes_text(lanes_).c_str(), mean(with_all_), lanes_text(half).c_str(), mean(with_half_));
  decisions_.push_back(std::string(text) + ": so " + lanes_text(half) +
                       (half == 1 ? " goes on" : " go on"));
  lanes_ = half;
  turns_ = 0;
  with_all_.clear();
  with_half_.clear();
}

}  // namespace filibuster
