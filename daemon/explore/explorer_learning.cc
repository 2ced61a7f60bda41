// What varies only under faults. An RPC that is made only under faults is planned with the values that
// it had when it was seen. If these vary, the plan is not met. Then the execution that showed the RPC
// is run again, up to three times with equal plans. What varies between these runs is masked, or its
// RPCs are left out, as between reference executions. The search then begins anew; executions that saw
// no RPC of the kind are taken over.
#include <algorithm>
#include <filesystem>
#include <thread>

#include "daemon/explore/explorer.h"
#include "daemon/explore/nondeterminism.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/unexplained.h"
#include "daemon/report/variation.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kComparisons = 3;  // comparisons for one kind of RPC, and runs in each of them
constexpr size_t kMaxLessons = 32;    // in one exploration
// More than a second, since many requests carry the time in seconds.
constexpr milliseconds kCoarseClock{1100};

}  // namespace

RpcRecord as_record(const InjectedFault& rpc) {
  RpcRecord out;
  out.caller = rpc.caller;
  out.service = rpc.service;
  out.method = rpc.method;
  out.target = rpc.path;
  if (rpc.protocol == Protocol::kGrpc) out.flags |= kRpcGrpc;
  if (rpc.protocol == Protocol::kRedis) out.flags |= kRpcRedis;
  if (rpc.protocol == Protocol::kSealed) out.flags |= kRpcSealed;
  return out;
}

namespace {

bool differs_by_values(const InjectedFault& planned, const RpcRecord& rpc) {
  const RpcRecord known = as_record(planned);
  return caller_of(rpc) == planned.caller && rpc.service == known.service &&
         rpc.method == known.method &&
         segments_of(request_path_of(rpc)).size() == segments_of(request_path_of(known)).size();
}

std::string kind_of_fault(const InjectedFault& rpc) {
  return rpc.caller + "|" + rpc.service + "|" + rpc.method + "|" + rpc.call_site + "|" +
         std::to_string(segments_of(request_path_of(as_record(rpc))).size());
}

bool shows(const ExecutionRecord& record, Hash128 index) {
  return std::any_of(record.rpcs.begin(), record.rpcs.end(),
                     [&](const RpcRecord& rpc) { return rpc.index == index; });
}

using FaultSet = std::vector<std::pair<Hash128, search::OutcomeId>>;

FaultSet fault_set(const std::vector<search::PlannedFault>& faults) {
  FaultSet out;
  for (const search::PlannedFault& fault : faults) out.emplace_back(fault.index, fault.fault);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

FieldNames Explorer::field_names() const {
  return [descriptors = session_.descriptors->get()](const RpcRecord& rpc,
                                                     const std::string& pointer, bool answer) {
    return descriptors->field_names(rpc.target, pointer, answer);
  };
}

// One more execution of `plan`, in which agents report the fields of every body. nullopt: it was
// stopped or inconclusive.
Result<std::optional<ExecutionResult>> Explorer::run_to_compare(
    const std::vector<PlannedRpcFault>& plan) {
  lane_.hub().report_fields(true);
  auto tried = attempt(plan);
  lane_.hub().report_fields(false);
  if (!tried) return tried.error();
  if (tried->result.stopped) exploration_.stopped = true;
  if (tried->result.stopped || is_inconclusive(tried->judgement.verdict))
    return std::optional<ExecutionResult>();
  return std::optional(std::move(tried->result));
}

// Why a mask for what varies under faults is refused: it must not merge RPCs that the reference
// execution tells apart. "": it merges none.
std::string Explorer::merges_in_reference(const NondeterminismRule& rule) const {
  ExecutionRecord reference;
  reference.rpcs = exploration_.report.reference;
  const Nondeterminism found =
      find_nondeterminism({&reference, &reference}, {rule}, config_.index_parts);
  return found.too_broad.empty() ? "" : "it would merge RPCs of the reference execution";
}

Result<Explorer::Lesson> Explorer::compare(const std::vector<PlannedRpcFault>& plan,
                                           const std::vector<InjectedFault>& faults,
                                           const InjectedFault& planned, bool* comes_again) {
  Lesson lesson;
  const auto began = Clock::now();
  std::vector<ExecutionResult> runs;
  Nondeterminism found;
  for (size_t count = 1; count <= kComparisons; ++count) {
    if (count == kComparisons) std::this_thread::sleep_until(began + kCoarseClock);
    auto run = run_to_compare(plan);
    if (!run) return run.error();
    if (!run.value()) return lesson;
    runs.push_back(std::move(*run.value()));
    *comes_again = *comes_again || shows(runs.back().record, planned.index);
    const std::vector<RpcRecord>& rpcs = runs.back().record.rpcs;
    const bool alike = std::any_of(rpcs.begin(), rpcs.end(), [&](const RpcRecord& rpc) {
      return differs_by_values(planned, rpc);
    });
    if (!alike) return lesson;
    if (count == 1) continue;
    std::vector<const ExecutionRecord*> records;
    for (const ExecutionResult& one : runs) records.push_back(&one.record);
    found = find_nondeterminism(records, varies_.masks(), config_.index_parts, field_names());
    if (!found.proposed.empty() || !found.unstable.lasting().empty()) break;
  }
  lesson.unstable = found.unstable.lasting();
  std::map<std::string, std::string> refused;  // RPC -> why its mask was refused
  for (NondeterminismRule& rule : found.proposed) {
    const std::string why = merges_in_reference(rule);
    if (why.empty()) {
      lesson.rules.push_back(std::move(rule));
      continue;
    }
    filibuster::leave_out(rule, "it varies under faults; " + why, &lesson.unstable);
    refused[rule.caller + " -> " + rule.service] = why;
  }
  const std::string under = to_line(faults);
  for (Variation& variation : found.variations) {
    using Effect = Variation::Effect;
    const bool known = variation.effect == Effect::kMasked && !variation.reason.empty();
    if (known || variation.effect == Effect::kNone || variation.comes_and_goes) continue;
    for (const auto& [rpc, why] : refused) {
      if (variation.effect != Effect::kMasked || !variation.rpc.starts_with(rpc)) continue;
      variation.effect = Effect::kNotFaulted;
      variation.reason = why;
    }
    variation.under = under;
    lesson.variations.push_back(std::move(variation));
  }
  return lesson;
}

Result<bool> Explorer::learn(const Dispatcher::Job& job, Attempt* attempt) {
  const LanePool::Hold hold(pool_.get(), LanePool::Hold::Which::kAll);
  const std::vector<InjectedFault>& faults = job.faults;
  const std::vector<PlannedRpcFault>& plan = job.plan;
  const search::Search& search = dispatcher_->search();
  const ExecutionRecord& record = attempt->result.record;
  const auto missing = std::find_if(faults.begin(), faults.end(), [&](const InjectedFault& fault) {
    return !shows(record, fault.index);
  });
  if (missing == faults.end() || lessons_ == kMaxLessons) return false;
  const auto place = missing - faults.begin();
  // The execution in which the missing RPC was first seen: it has only the faults before it.
  search::AbstractId seen_in = job.execution.id;
  for (size_t i = faults.size(); i > static_cast<size_t>(place); --i)
    seen_in = search.describe(seen_in).parent;
  std::set<Hash128> expected;
  for (const search::ObservedRpc& rpc : search.observed(seen_in)) expected.insert(rpc.index);
  const bool drifted =
      std::any_of(record.rpcs.begin(), record.rpcs.end(), [&](const RpcRecord& rpc) {
        return differs_by_values(*missing, rpc) && !expected.contains(rpc.index) &&
               varies_.unstable().find(rpc) == nullptr;
      });
  Comparison& compared = compared_[kind_of_fault(*missing)];
  if (compared.times < (drifted ? kComparisons : 1)) {
    ++compared.times;
    auto lesson = compare({plan.begin(), plan.begin() + place}, {faults.begin(), missing}, *missing,
                          &compared.comes_again);
    if (!lesson) return lesson.error();
    if (exploration_.stopped) return false;
    if (!lesson->rules.empty() || !lesson->unstable.empty()) {
      ++lessons_;
      if (auto begun = begin_anew_with(lesson.value()); !begun) return begun.error();
      return true;
    }
  }
  const auto breaks_connection = [](const PlannedRpcFault& fault) {
    return fault.fault.kind == FaultKind::kRefused || fault.fault.kind == FaultKind::kReset;
  };
  const bool after_reset =
      std::any_of(plan.begin(), plan.begin() + place, [&](const PlannedRpcFault& fault) {
        const InjectedFault& before = faults[static_cast<size_t>(&fault - plan.data())];
        return breaks_connection(fault) && before.caller == missing->caller &&
               before.service == missing->service;
      });
  const bool at_connect = breaks_connection(plan[static_cast<size_t>(place)]);
  const bool kept = keeps_connections(plain_.record, missing->caller, missing->service) ||
                    keeps_connections(record, missing->caller, missing->service);
  const NoConclusion cause = drifted                 ? NoConclusion::kOtherValues
                             : !compared.comes_again ? NoConclusion::kStateInService
                             : after_reset           ? NoConclusion::kAfterReset
                             : !at_connect           ? NoConclusion::kOther
                             : kept                  ? NoConclusion::kAtConnect
                                                     : NoConclusion::kFirstToConnect;
  attempt->judgement.cause = std::min(attempt->judgement.cause, cause);
  if (const std::string_view seen = what_was_seen(cause); !seen.empty())
    attempt->judgement.detail += "; " + std::string(seen);
  return false;
}

// Keeps the executions that are the same under the new masks (kept_), and forgets the rest of the search.
Result<void> Explorer::begin_anew_with(const Lesson& lesson) {
  const bool answers = std::any_of(lesson.rules.begin(), lesson.rules.end(),
                                   [](const auto& rule) { return !rule.response.empty(); });
  const search::Search& search = dispatcher_->search();
  std::map<Hash128, bool> touched;
  const auto touches = [&](const search::ObservedRpc& seen) {
    const auto [place, added] = touched.emplace(seen.index, answers);
    const InjectedFault* known = added ? dispatcher_->known().find(seen.index) : nullptr;
    if (known != nullptr) {
      const RpcRecord rpc = as_record(*known);
      place->second = lesson.unstable.concerns(rpc) ||
                      std::any_of(lesson.rules.begin(), lesson.rules.end(),
                                  [&](const auto& rule) { return rule_applies(rule, rpc); });
    }
    return place->second;
  };
  auto rows = store_->results();
  if (!rows) return rows.error();
  std::map<search::AbstractId, search::ResultRow> results;
  for (search::ResultRow& row : rows.value()) results[row.id] = std::move(row);
  std::optional<Kept> reference;
  // kept_ may still hold executions from an earlier lesson that the search has not come to since.
  std::erase_if(kept_, [&](const auto& entry) {
    const Kept& kept = entry.second;
    const bool gone = std::any_of(kept.rpcs.begin(), kept.rpcs.end(), touches);
    if (gone && kept.row.failure) findings_.forget(kept.row.failure->faults);
    return gone;
  });
  for (const search::AbstractId id : search.concluded()) {
    std::vector<search::ObservedRpc> rpcs = search.observed(id);
    if (std::any_of(rpcs.begin(), rpcs.end(), touches)) continue;
    Kept kept{std::move(results[id]), std::move(rpcs)};
    kept.row.failure = findings_.take(id);
    if (id == search::kReference) {
      reference = std::move(kept);
    } else {
      kept_.emplace(fault_set(search.describe(id).faults), std::move(kept));
    }
  }
  if (auto healthy = search.health(); !healthy) return healthy;
  findings_.forget_all();
  results_.clear();
  exploration_.report.skipped.clear();

  if (auto masked = varies_.mask_further(lesson.rules); !masked) return masked;
  varies_.add(lesson.unstable);
  for (const Variation& variation : lesson.variations) {
    varies_.add(variation);
    warn(to_line(variation));
  }
  if (auto begun = dispatcher_->begin_anew(); !begun) return begun;
  if (auto allowed = allow_mutations(); !allowed) return allowed;
  if (auto done = varies_.save(); !done) return done;
  if (reference) return dispatcher_->take_over(search::kReference, reference->rpcs);
  lane_.hub().report_fields(true);
  auto run = reference_execution("the reference execution with masks learned under faults");
  lane_.hub().report_fields(false);
  if (!run) return run.error();
  if (!run.value()) {
    exploration_.stopped = true;
    return {};
  }
  plain_ = {run.value()->pid, run.value()->record};
  drifts_.begin_with(run.value()->record.execution);
  auto taken = take_reference(*run.value());
  return taken.ok() ? Result<void>{} : taken.error();
}

Result<bool> Explorer::take_over(const search::AbstractExecution& next) {
  const auto place = kept_.find(fault_set(next.faults));
  if (place == kept_.end()) return false;
  Kept kept = std::move(place->second);
  kept_.erase(place);
  kept.row.id = next.id;
  if (kept.row.skipped) exploration_.report.skipped.push_back(*kept.row.skipped);
  if (auto put = store_->put_result(kept.row); !put) return put.error();
  results_[next.id] = {kept.row.number, kept.row.verdict, static_cast<float>(kept.row.seconds)};
  if (auto done = dispatcher_->take_over(next.id, kept.rpcs); !done) return done.error();
  if (!kept.row.failure) return true;
  Execution failure = std::move(*kept.row.failure);
  failure.id = next.id;
  findings_.add(failure);
  auto plan = plan_for(failure.faults);
  if (!plan) return plan.error();
  if (auto told = found(failure, plan.value()); !told) return told.error();
  return true;
}

}  // namespace filibuster
