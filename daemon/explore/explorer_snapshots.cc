// Executions that are forked from a snapshot of the test, or started ahead of time: whether that pays, and
// whether they show what plain starts show.
#include <algorithm>
#include <cmath>

#include "daemon/explore/explorer.h"
#include "daemon/lane/not_forked.h"
#include "daemon/model/caller.h"

namespace filibuster {
namespace {

// A plain start that takes less is not worth the executions that are run both ways.
constexpr double kLeastStartMs = 25;
// Without faults: the second one shows whether something that the snapshot made once (a name) is used up.
constexpr int kForkedReferences = 2;
constexpr int kComparedFaults = 3;  // executions with faults, besides each failure that is reported
constexpr double kSlow = 2;         // seconds
constexpr char kFew[] = "few executions are to be run";

bool is_own_call(const RpcRecord& rpc) {
  return rpc.caller == kTestService && (rpc.flags & kRpcEntry) == 0;
}

}  // namespace

// Why it is of no use to try; "": it may be.
std::string Explorer::why_no_snapshots(NotForked* kind) const {
  *kind = NotForked::kNotWorthIt;
  if (config_.snapshots == Snapshots::kNever) return "snapshots are switched off";
  const uint64_t open = dispatcher_->search().counts().open;
  if (config_.snapshots == Snapshots::kWhereItPays && open <= kForkedReferences + kComparedFaults)
    return kFew;
  const std::vector<RpcRecord>& rpcs = plain_.record.rpcs;
  const auto first = std::find_if(rpcs.begin(), rpcs.end(), is_own_call);
  if (first == rpcs.end()) {
    *kind = NotForked::kUnseen;
    return "its own calls are not seen";
  }
  if (first->pid != static_cast<uint32_t>(plain_.pid)) {
    *kind = NotForked::kAnotherProcess;
    const std::vector<AgentRecord> agents = lane_.hub().agents();
    const auto agent = std::find_if(agents.begin(), agents.end(),
                                    [&](const AgentRecord& one) { return one.pid == first->pid; });
    return "its first call is made by another process that it starts" +
           (agent == agents.end() ? std::string() : " (" + agent->executable + ")");
  }
  const double ms =
      static_cast<double>(first->issued_ns - std::min(first->issued_ns, plain_.record.started_ns)) /
      1e6;
  if (config_.snapshots == Snapshots::kWhereItPays && ms < kLeastStartMs)
    return "its first call comes after " + std::to_string(std::lround(ms)) + " ms";
  return "";
}

// "": the two show the same.
Result<std::string> Explorer::attempts_differ(const Attempt& one, const Attempt& other) {
  if (one.judgement.verdict != other.judgement.verdict)
    return std::string(verdict_name(one.judgement.verdict)) + " (" + one.judgement.detail +
           "), and not " + std::string(verdict_name(other.judgement.verdict));
  return memory_.differ(other.result.record, one.result.record);
}

// "": what was started in the way that is tried shows what the reference execution shows, or the session
// was stopped.
Result<std::string> Explorer::why_forked_differs() {
  for (int number = 0; number < kForkedReferences; ++number) {
    auto run = attempt({}, TestStarter::Start::kBest);
    if (!run) return run.error();
    if (run->result.stopped) return std::string();
    if (run->judgement.verdict != Verdict::kPassed)
      return "it " + std::string(verdict_name(run->judgement.verdict)) + " without faults (" +
             run->judgement.detail + ")";
    auto differs = memory_.differ(plain_.record, run->result.record);
    if (!differs || !differs->empty()) return differs;
  }
  return std::string();
}

Result<bool> Explorer::begin_snapshots() {
  TestReport& report = exploration_.report;
  TestStarter& starter = run_->starter();
  const int wake = lane_.place().wake_fd;
  NotForked kind;
  report.why_not_forked = why_no_snapshots(&kind);
  report.remedy = remedy_for(kind);
  if (!report.why_not_forked.empty()) return true;
  if (auto found = starter.find_way(run_->limit(), wake); !found) return found.error();
  while (starter.way() != Way::kPlain) {
    const Way tried = starter.way();
    auto why = why_forked_differs();
    if (!why) return why.error();
    if (why->empty()) break;
    if (starter.way() == tried)
      starter.fall_back(std::string(way_name(tried)) +
                        ", it differs from a plain start: " + why.value());
  }
  return true;
}

Result<bool> Explorer::reconsider_snapshots() {
  // The ways of other lanes were found when they began.
  if (pool_ || exploration_.report.why_not_forked != kFew) return true;
  if (dispatcher_->search().counts().open <= kForkedReferences + kComparedFaults) return true;
  return begin_snapshots();
}

Result<Attempt> Explorer::attempt_job(const Dispatcher::Job& job, bool* seen_twice) {
  TestStarter& starter = run_->starter();
  const auto best = TestStarter::Start::kBest;
  auto first = run_on_lanes(job);
  if (!first) return first.error();
  if (first.value() && first.value()->result.stopped) return std::move(*first.value());
  auto tried = attempt(job.plan, best, std::move(first).value());
  if (!tried || tried->result.stopped || starter.way() == Way::kPlain || tried->number > 1)
    return tried;
  const bool fails = is_failure(tried->judgement.verdict);
  const bool is_told = fails && !findings_.belongs_to_earlier(job.faults);
  // What is only slow (an injected silence that is waited for) is not worth its time twice.
  const bool is_slow = tried->result.seconds > kSlow;
  if (!is_told && (is_slow || ways_compared_ >= kComparedFaults)) return tried;
  ++ways_compared_;
  auto plain = attempt(job.plan);
  if (!plain || plain->result.stopped) return plain;
  if (is_inconclusive(plain->judgement.verdict)) return tried;
  auto differs = attempts_differ(tried.value(), plain.value());
  if (!differs) return differs.error();
  *seen_twice = fails && is_failure(plain->judgement.verdict);
  if (differs->empty()) return tried;
  // What varies from run to run in any way is not blamed on this one.
  auto again = attempt(job.plan, best);
  if (!again || again->result.stopped) return again;
  auto still = attempts_differ(again.value(), plain.value());
  if (!still) return still.error();
  if (still->empty()) return tried;
  const std::string why = std::string(way_name(starter.way())) + ", execution " +
                          to_line(job.faults) + " differs from a plain start: " + still.value();
  const LanePool::Hold hold(pool_.get(), LanePool::Hold::Which::kAll);
  starter.fall_back(why);
  if (pool_) pool_->each_further([&](Lane&, TestRun& run) { run.starter().fall_back(why); });
  return plain;
}

}  // namespace filibuster
