// Executions on several lanes (lane_pool.h): when they are used, and how they are made equal to lane 0.
#include <algorithm>

#include "daemon/explore/explorer.h"
#include "daemon/explore/lane_answers.h"

namespace filibuster {

// Adds lanes to the search, if several are wanted and there is enough to run.
void Explorer::begin_lanes() {
  const uint32_t lanes = session_.lanes;
  exploration_.report.lanes = 1;
  if (lanes < 2 || session_.further_lanes == nullptr) return;
  if (!session_.compare_lanes && dispatcher_->search().counts().open < 2) return;
  LanePool::Options options;
  options.session = &session_;
  options.further = session_.further_lanes;
  options.first = run_.get();
  options.first_lane = &lane_;
  options.test = &test_;
  options.config = &config_;
  options.lanes = lanes;
  options.prepare = [this](Lane& lane) {
    // compile_masks() has succeeded for these rules before.
    if (auto table = compile_masks(varies_.masks())) lane.hub().set_masks(*table.value());
    lane.hub().set_hang_limit(hang_limit_);
  };
  options.compare = [this](const Attempt& sample) -> std::string {
    if (sample.result.stopped) return "the session was stopped";
    const Judgement judgement = judge(sample.result, {});
    if (judgement.verdict != Verdict::kPassed)
      return "without faults, the test there " + std::string(verdict_name(judgement.verdict)) +
             " (" + judgement.detail + ")";
    ExecutionRecord record = sample.result.record;
    read_as_of_lane_0(sample, &record);
    auto differs = memory_.differ(plain_.record, record);
    return differs ? differs.value() : differs.error().message;
  };
  pool_ = std::make_unique<LanePool>(std::move(options));
}

void Explorer::end_lanes() {
  if (!pool_) return;
  if (session_.compare_lanes && !exploration_.stopped) pool_->compare_all();
  TestReport& report = exploration_.report;
  report.lanes = std::max(pool_->lanes_used(), 1u);
  report.thrown_away = pool_->thrown_away();
  for (const std::string& problem : pool_->problems()) {
    evidence_.warn_and_note(problem);
  }
  pool_.reset();
}

// False: an answer is of a lane with other ports, and not all of it was seen.
bool Explorer::read_as_of_lane_0(const Attempt& attempt, ExecutionRecord* record) const {
  const PortMap& first = lane_.place().automatic_ports;
  if (attempt.ports == first) return true;
  return LaneAnswers(attempt.ports, first).translate(record, [&](Hash128 answer) {
    return known_answers_.contains(answer);
  });
}

// The first execution of the job on any lane; nullopt: there is one lane.
Result<std::optional<Attempt>> Explorer::run_on_lanes(const Dispatcher::Job& job) {
  if (!pool_) return std::optional<Attempt>();
  auto run = pool_->run(job.plan, [this](size_t most) -> Result<std::vector<LanePool::Plan>> {
    auto next = dispatcher_->ahead(most);
    if (!next) return next.error();
    std::vector<LanePool::Plan> plans;
    for (Dispatcher::Job& one : next.value()) plans.push_back(std::move(one.plan));
    return plans;
  });
  if (!run) return run.error();
  // Lane 0 runs it again if an answer of it cannot be compared with those of lane 0.
  if (!run->result.stopped && !read_as_of_lane_0(run.value(), &run->result.record))
    return std::optional<Attempt>();
  // What is run ahead has an earlier number than what the search comes to before it.
  run->result.record.execution = session_.counters.next_execution++;
  return std::optional(std::move(run).value());
}

}  // namespace filibuster
