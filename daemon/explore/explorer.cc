#include "daemon/explore/explorer.h"

#include <chrono>
#include <utility>

#include "daemon/explore/exploration_report.h"

namespace filibuster {

// Counts the time of a turn.
class Explorer::Turn {
 public:
  explicit Turn(Explorer* explorer) : explorer_(*explorer) {}
  ~Turn() { explorer_.seconds_ += std::chrono::duration<double>(Clock::now() - began_).count(); }
  Turn(const Turn&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Explorer& explorer_;
  const Clock::time_point began_ = Clock::now();
};

Explorer::Explorer(SessionContext* session, Lane* lane, const TestConfig& test)
    : state_(session, lane, test, [this](const MaskTable& masks) { executor_.mask(masks); }),
      executor_(&state_),
      mutations_(&state_),
      stored_(&state_, &mutations_),
      reference_(&state_, &executor_, &stored_, &mutations_),
      relearning_(&state_, &executor_, &reference_, &mutations_),
      watch_(&state_, &executor_),
      cases_(&state_, &executor_, &relearning_, &watch_, &mutations_) {}

Exploration Explorer::explore() {
  begin();
  search({});
  return end();
}

void Explorer::begin() {
  const Turn turn(this);
  flow_ = open();
  if (goes_on()) flow_ = filibuster::goes_on(cases_.begin());
}

Result<Flow> Explorer::open() {
  if (auto opened = stored_.open(); !opened) return opened.error();
  if (auto begun = executor_.begin(); !begun) return begun.error();
  if (auto begun = state_.lane.services().begin_coverage(coverage::Phase::kWithoutFaults); !begun)
    return begun.error();
  for (const auto step : {&SearchReference::run, &SearchReference::begin_faults}) {
    auto flow = (reference_.*step)();
    if (!flow || flow.value() == Flow::kStopped) return flow;
  }
  return filibuster::goes_on(executor_.begin_snapshots());
}

void Explorer::search(const search::Reach& reach, uint64_t most) {
  if (!goes_on()) return;
  const Turn turn(this);
  cases_.go_on(reach, most);
  // A few executions are over before another lane has begun.
  const bool takes_lanes = most == 0;
  if (takes_lanes) executor_.begin_lanes();
  flow_ = run_cases(&cases_, &executor_, state_.lane.place().wake_fd);
  // Each lane is looked at while this test has it.
  const bool is_last = takes_lanes && reach.max_faults == 0;
  if (is_last && flow_.ok() && flow_.value() == Flow::kGoesOn) flow_ = watch_.look_at_the_end();
  if (takes_lanes) executor_.end_lanes(flow_.ok() && flow_.value() == Flow::kGoesOn);
}

bool Explorer::goes_on() const {
  return flow_.ok() && flow_.value() == Flow::kGoesOn && cases_.goes_on();
}

bool Explorer::is_stopped() const {
  return flow_.ok() && flow_.value() == Flow::kStopped && state_.report.nothing_to_explore.empty();
}

void Explorer::compare_lanes() {
  const Turn turn(this);
  executor_.begin_lanes();
  executor_.end_lanes(true);
}

void Explorer::take_up() {
  if (auto taken = executor_.take_up(); !taken) flow_ = taken.error();
}

Exploration Explorer::end() {
  bool stopped = false;
  {
    const Turn turn(this);
    if (flow_.ok() && flow_.value() == Flow::kGoesOn) flow_ = watch_.look_at_the_end();
    const auto work = [&]() -> Result<void> {
      if (!flow_) return flow_.error();
      const std::string& nothing = state_.report.nothing_to_explore;
      if (!nothing.empty()) state_.evidence.note("nothing to explore: " + nothing);
      stopped = is_stopped();
      return close(!stopped);
    }();
    if (state_.dispatcher) state_.report.search_seconds = state_.dispatcher->search().seconds();
    if (state_.store) state_.report.store_seconds = state_.store->seconds();
    if (!work.ok()) {
      state_.report.error = work.error().message;
      flow_ = work.error();
    }
    finish_report(&state_, {stopped, !work.ok()});
    mutations_.tell(&state_.report);
    cases_.tell(&state_.report);
    executor_.tell(&state_.report);
  }
  state_.report.seconds = seconds_;
  state_.dispatcher.reset();
  state_.store.reset();
  Exploration out;
  out.report = std::move(state_.report);
  if (!flow_) out.error = flow_.error();
  out.stopped = stopped;
  out.resumed = state_.resumed;
  return out;
}

Result<void> Explorer::close(bool ended) {
  if (auto kept = state_.varies.keep_appearances(true); !kept) return kept;
  const search::SearchCounts counts = state_.dispatcher->counts();
  state_.report.finished =
      ended && counts.open == 0 && counts.beyond_bound == 0 && counts.abandoned == 0;
  // A search that met a bound is finished, too. What the time did not suffice for is left to the next run.
  return stored_.close(ended && !state_.report.time_over);
}

}  // namespace filibuster
