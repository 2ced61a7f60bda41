// How an execution is run, and on which lane (lane_pool.h). executor_snapshots.cc has how it is started.
#include "daemon/explore/executor.h"

#include <algorithm>
#include <utility>

#include "daemon/explore/lane_answers.h"

namespace filibuster {

Result<void> Executor::begin() {
  auto run = TestRun::make(&state_.session, &state_.lane, state_.test, state_.config);
  if (!run) return run.error();
  run_ = std::move(run).value();
  state_.evidence.add_obstacles(run_->obstacles());
  return {};
}

void Executor::mask(const MaskTable& masks) {
  state_.lane.hub().set_masks(masks);
  if (pool_) pool_->each_further([&](Lane& lane, TestRun&) { lane.hub().set_masks(masks); });
}

void Executor::set_hang_limit(std::chrono::milliseconds limit) {
  hang_limit_ = limit;
  state_.lane.hub().set_hang_limit(limit);
}

void Executor::put_aside() {
  known_rpcs_ = state_.lane.hub().known_rpcs();
}

Result<void> Executor::take_up() {
  if (!known_rpcs_) return {};
  auto masks = compile_masks(state_.varies.masks());
  if (!masks) return masks.error();
  state_.lane.hub().set_masks(*masks.value());
  state_.lane.hub().recall_rpcs(*known_rpcs_);
  state_.lane.hub().set_hang_limit(hang_limit_);
  known_rpcs_.reset();
  return {};
}

Result<void> Executor::note_met(const Observation& seen, const ExecutionRecord& record) {
  for (const RpcRecord& rpc : record.rpcs) answers_.insert(rpc.response);
  return state_.evidence.see_met(seen, record, state_.varies.masks(), state_.report.reference);
}

Result<Attempt> Executor::attempt(const std::vector<PlannedRpcFault>& plan,
                                  TestStarter::Start start, std::optional<Attempt> first) {
  // What has run on any lane needs lane 0 only if it is to be repeated there.
  const bool repeats = !first || is_inconclusive(judge(first->result, plan).verdict);
  const LanePool::Hold hold(repeats ? pool_.get() : nullptr, LanePool::Hold::Which::kFirst);
  const auto observer = [this](const Attempt& one) {
    state_.evidence.see(one.result);
    for (const ServiceEnd& end : one.result.ended) {
      if (end.by_hand) state_.ended_by_hand = end.name;
    }
    note_repetition(one);
  };
  return run_->attempt(plan, observer, std::chrono::milliseconds(0), start, std::move(first));
}

void Executor::note_repetition(const Attempt& one) {
  if (!one.runs_again || one.number > 1 || !is_inconclusive(one.judgement.verdict)) return;
  state_.evidence.note("execution " + std::to_string(one.result.record.execution) +
                       " was inconclusive and was run again: " + one.judgement.detail);
}

void Executor::begin_lanes() {
  SessionContext& session = state_.session;
  state_.report.lanes = std::max(state_.report.lanes, 1u);
  if (session.lanes < 2 || session.further_lanes == nullptr) return;
  if (!session.compare_lanes && state_.dispatcher->counts().open < 2) return;
  LanePool::Options options;
  options.session = &session;
  options.further = session.further_lanes;
  options.first = run_.get();
  options.first_lane = &state_.lane;
  options.test = &state_.test;
  options.config = &state_.config;
  options.lanes = session.lanes;
  options.prepare = [this](Lane& lane) {
    // compile_masks() has succeeded for these rules before.
    if (auto table = compile_masks(state_.varies.masks())) lane.hub().set_masks(*table.value());
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
    auto differs = state_.memory.differ(reference_.record, record);
    return differs ? differs.value() : differs.error().message;
  };
  pool_ = std::make_unique<LanePool>(std::move(options));
}

void Executor::end_lanes(bool compare) {
  if (!pool_) return;
  if (state_.session.compare_lanes && compare) pool_->compare_all();
  state_.report.lanes = std::max(pool_->lanes_used(), state_.report.lanes);
  state_.report.thrown_away += pool_->thrown_away();
  for (const std::string& problem : pool_->problems()) state_.evidence.warn_and_note(problem);
  pool_.reset();
}

bool Executor::read_as_of_lane_0(const Attempt& attempt, ExecutionRecord* record) const {
  const PortMap& first = state_.lane.place().automatic_ports;
  if (attempt.ports == first) return true;
  return LaneAnswers(attempt.ports, first).translate(record, [&](Hash128 answer) {
    return answers_.contains(answer);
  });
}

Result<std::optional<Attempt>> Executor::run_on_lanes(const Case& one, CaseSource* source) {
  if (!pool_) return std::optional<Attempt>();
  auto run = pool_->run(one.plan, [&](size_t most) -> Result<std::vector<LanePool::Plan>> {
    auto next = source->ahead(most);
    if (!next) return next.error();
    std::vector<LanePool::Plan> plans;
    for (Case& later : next.value()) plans.push_back(std::move(later.plan));
    return plans;
  });
  if (!run) return run.error();
  // Lane 0 runs it again if an answer of it cannot be compared with those of lane 0.
  if (!run->result.stopped && !read_as_of_lane_0(run.value(), &run->result.record))
    return std::optional<Attempt>();
  // What is run ahead has an earlier number than what the search comes to before it.
  run->result.record.execution = state_.session.counters.next_execution++;
  return std::optional(std::move(run).value());
}

}  // namespace filibuster
