// Executions that are forked from a snapshot of the test, or started ahead of time: whether that pays, and
// whether they show what plain starts show.
#include <algorithm>
#include <cmath>

#include "daemon/explore/executor.h"
#include "daemon/model/caller.h"

namespace filibuster {
namespace {

// What the starts of all known executions must take. Less is not worth the executions that are run both ways.
constexpr double kLeastStartsMs = 400;
// Without faults: the second one shows whether something that the snapshot made once (a name) is used up.
constexpr int kForkedReferences = 2;
// Two children are reset in turn, so that the third one is the first that was reset.
constexpr int kResetReferences = 4;
constexpr int kComparedFaults = 3;  // executions with faults, besides each failure that is reported
constexpr int kReference = 1;
constexpr double kSlow = 2;  // seconds

bool is_own_call(const RpcRecord& rpc) {
  return rpc.caller == kTestService && (rpc.flags & kRpcEntry) == 0;
}

}  // namespace

std::string Executor::why_no_snapshots(NotForked* kind) {
  *kind = NotForked::kNotWorthIt;
  pays_later_ = false;
  if (state_.config.snapshots == Snapshots::kNever) return "snapshots are switched off";
  // Those that have ended count, too: a search that was long so far will be as long again.
  const search::SearchCounts counts = state_.dispatcher->counts();
  const uint64_t known = counts.open + counts.executed;
  const bool asks_price = state_.config.snapshots == Snapshots::kWhereItPays;
  if (asks_price && known <= kReference + kForkedReferences + kComparedFaults) {
    pays_later_ = true;
    return "few executions are to be run";
  }
  const std::vector<RpcRecord>& rpcs = reference_.record.rpcs;
  const auto first = std::find_if(rpcs.begin(), rpcs.end(), is_own_call);
  if (first == rpcs.end()) {
    *kind = NotForked::kUnseen;
    return "its own calls are not seen";
  }
  if (first->pid != static_cast<uint32_t>(reference_.pid)) {
    *kind = NotForked::kAnotherProcess;
    const std::vector<AgentRecord> agents = state_.lane.hub().agents();
    const auto agent = std::find_if(agents.begin(), agents.end(),
                                    [&](const AgentRecord& one) { return one.pid == first->pid; });
    return "its first call is made by another process that it starts" +
           (agent == agents.end() ? std::string() : " (" + agent->executable + ")");
  }
  const double ms = static_cast<double>(first->issued_ns -
                                        std::min(first->issued_ns, reference_.record.started_ns)) /
                    1e6;
  if (asks_price && static_cast<double>(known) * ms < kLeastStartsMs) {
    pays_later_ = true;
    return "its first call comes after " + std::to_string(std::lround(ms)) +
           " ms, and few executions are to be run";
  }
  return "";
}

// "": the two show the same.
Result<std::string> Executor::attempts_differ(const Attempt& one, const Attempt& other) {
  if (one.judgement.verdict != other.judgement.verdict)
    return std::string(verdict_name(one.judgement.verdict)) + " (" + one.judgement.detail +
           "), and not " + std::string(verdict_name(other.judgement.verdict));
  return state_.memory.differ(other.result.record, one.result.record);
}

// "": what was started in the way that is tried shows what the reference execution shows, or the session
// was stopped.
Result<std::string> Executor::why_forked_differs() {
  const int references =
      run_->starter().way() == Way::kReset ? kResetReferences : kForkedReferences;
  for (int number = 0; number < references; ++number) {
    auto run = attempt({}, TestStarter::Start::kBest);
    if (!run) return run.error();
    if (run->result.stopped) return std::string();
    if (run->judgement.verdict != Verdict::kPassed)
      return "it " + std::string(verdict_name(run->judgement.verdict)) + " without faults (" +
             run->judgement.detail + ")";
    auto differs = state_.memory.differ(reference_.record, run->result.record);
    if (!differs || !differs->empty()) return differs;
  }
  return std::string();
}

Result<void> Executor::begin_snapshots() {
  TestReport& report = state_.report;
  TestStarter& starter = run_->starter();
  NotForked kind;
  report.why_not_forked = why_no_snapshots(&kind);
  report.remedy = remedy_for(kind);
  if (!report.why_not_forked.empty()) return {};
  if (auto found = starter.find_way(run_->limit(), state_.lane.place().wake_fd); !found)
    return found.error();
  while (starter.way() != Way::kPlain) {
    const Way tried = starter.way();
    auto why = why_forked_differs();
    if (!why) return why.error();
    if (why->empty()) break;
    if (starter.way() == tried)
      starter.fall_back(std::string(way_name(tried)) +
                        ", it differs from a plain start: " + why.value());
  }
  return {};
}

Result<void> Executor::reconsider_snapshots() {
  if (!pays_later_) return {};
  // Lanes go on while it does not pay yet.
  NotForked kind;
  if (why_no_snapshots(&kind); pays_later_) return {};
  {
    const LanePool::Hold hold(pool_.get(), LanePool::Hold::Which::kFirstAndStarts);
    if (auto begun = begin_snapshots(); !begun) return begun;
  }
  if (pool_ && run_->starter().way() != Way::kPlain) pool_->find_ways();
  return {};
}

void Executor::tell(TestReport* report) {
  if (!run_) return;
  TestStarter& starter = run_->starter();
  report->start = way_name(starter.way());
  if (!starter.why_not_forked().empty()) {
    report->why_not_forked = starter.why_not_forked();
    report->remedy = remedy_for(starter.kind_of_why());
  }
  report->why_not_reset = starter.why_not_reset();
  starter.end_snapshots();
}

Result<CaseOutcome> Executor::execute(const Case& one, CaseSource* source) {
  TestStarter& starter = run_->starter();
  const auto best = TestStarter::Start::kBest;
  CaseOutcome out;
  auto first = run_on_lanes(one, source);
  if (!first) return first.error();
  if (first.value() && first.value()->result.stopped) {
    out.attempt = std::move(*first.value());
    return out;
  }
  auto tried = attempt(one.plan, best, std::move(first).value());
  if (!tried) return tried.error();
  out.attempt = std::move(tried).value();
  const Attempt& shown = out.attempt;
  if (shown.result.stopped || starter.way() == Way::kPlain || shown.number > 1) return out;
  const bool fails = is_failure(shown.judgement.verdict);
  const bool is_told = fails && !state_.findings.belongs_to_earlier(one.faults);
  // What is only slow (an injected silence that is waited for) is not worth its time twice.
  const bool is_slow = shown.result.seconds > kSlow;
  if (!is_told && (is_slow || ways_compared_ >= kComparedFaults)) return out;
  ++ways_compared_;
  auto plain = attempt(one.plan);
  if (!plain) return plain.error();
  if (plain->result.stopped) return CaseOutcome{std::move(plain).value()};
  if (is_inconclusive(plain->judgement.verdict)) return out;
  auto differs = attempts_differ(shown, plain.value());
  if (!differs) return differs.error();
  out.seen_twice = fails && is_failure(plain->judgement.verdict);
  if (differs->empty()) return out;
  // What varies from run to run in any way is not blamed on this one.
  auto again = attempt(one.plan, best);
  if (!again) return again.error();
  if (again->result.stopped) return CaseOutcome{std::move(again).value()};
  auto still = attempts_differ(again.value(), plain.value());
  if (!still) return still.error();
  if (still->empty()) return out;
  const std::string why = std::string(way_name(starter.way())) + ", execution " +
                          to_line(one.faults) + " differs from a plain start: " + still.value();
  const LanePool::Hold hold(pool_.get(), LanePool::Hold::Which::kAll);
  starter.fall_back(why);
  if (pool_) pool_->each_further([&](Lane&, TestRun& run) { run.starter().fall_back(why); });
  out.attempt = std::move(plain).value();
  return out;
}

}  // namespace filibuster
