#include "daemon/explore/explorer.h"

#include <chrono>
#include <utility>

#include "daemon/explore/exploration_report.h"

namespace filibuster {

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
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  bool stopped = false;
  const auto work = [&]() -> Result<void> {
    auto flow = begin();
    if (flow.ok() && flow.value() == Flow::kGoesOn) flow = search();
    if (!flow) return flow.error();
    const std::string& nothing = state_.report.nothing_to_explore;
    if (!nothing.empty()) state_.evidence.note("nothing to explore: " + nothing);
    stopped = flow.value() == Flow::kStopped && nothing.empty();
    return close(!stopped);
  }();
  executor_.end_lanes(!stopped);
  if (state_.dispatcher) state_.report.search_seconds = state_.dispatcher->search().seconds();
  if (state_.store) state_.report.store_seconds = state_.store->seconds();
  if (!work.ok()) state_.report.error = work.error().message;
  finish_report(&state_, {stopped, !work.ok()});
  mutations_.tell(&state_.report);
  cases_.tell(&state_.report);
  executor_.tell(&state_.report);
  state_.report.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  state_.dispatcher.reset();
  state_.store.reset();
  Exploration out;
  out.report = std::move(state_.report);
  if (!work.ok()) out.error = work.error();
  out.stopped = stopped;
  out.resumed = state_.resumed;
  return out;
}

Result<Flow> Explorer::begin() {
  if (auto opened = stored_.open(); !opened) return opened.error();
  if (auto begun = executor_.begin(); !begun) return begun.error();
  if (auto begun = state_.lane.services().begin_coverage(coverage::Phase::kWithoutFaults); !begun)
    return begun.error();
  for (const auto step : {&SearchReference::run, &SearchReference::begin_faults}) {
    auto flow = (reference_.*step)();
    if (!flow || flow.value() == Flow::kStopped) return flow;
  }
  if (auto begun = executor_.begin_snapshots(); !begun) return begun.error();
  executor_.begin_lanes();
  return Flow::kGoesOn;
}

Result<Flow> Explorer::search() {
  if (auto begun = cases_.begin(); !begun) return begun.error();
  auto flow = run_cases(&cases_, &executor_, state_.lane.place().wake_fd);
  if (!flow || flow.value() == Flow::kStopped) return flow;
  return watch_.look_at_the_end();
}

Result<void> Explorer::close(bool ended) {
  if (auto kept = state_.varies.keep_appearances(true); !kept) return kept;
  const search::SearchCounts counts = state_.dispatcher->search().counts();
  state_.report.finished =
      ended && counts.open == 0 && counts.beyond_bound == 0 && counts.abandoned == 0;
  // A search that met a bound is finished, too. What the time did not suffice for is left to the next run.
  return stored_.close(ended && !state_.report.time_over);
}

}  // namespace filibuster
