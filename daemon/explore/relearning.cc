#include "daemon/explore/relearning.h"

#include <algorithm>
#include <set>
#include <thread>

#include "daemon/observe/nondeterminism.h"
#include "daemon/observe/observation.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/unexplained.h"
#include "daemon/report/variation.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kComparisons = 3;  // comparisons for one kind of RPC, and runs in each of them
constexpr size_t kMostLearned = 32;   // times, in one exploration
// More than a second, since many requests carry the time in seconds.
constexpr milliseconds kCoarseClock{1100};

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

bool breaks_connection(const FaultSpec& fault) {
  return fault.kind == FaultKind::kRefused || fault.kind == FaultKind::kReset;
}

}  // namespace

Relearning::FaultIds Relearning::ids_of(const search::AbstractExecution& execution) {
  FaultIds out;
  for (const search::PlannedFault& fault : execution.faults)
    out.emplace_back(fault.index, fault.fault);
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::optional<ExecutionResult>> Relearning::run_to_compare(
    const std::vector<PlannedRpcFault>& plan, bool* stopped) {
  // Agents report the fields of every body.
  state_.lane.hub().report_fields(true);
  auto tried = executor_.attempt(plan);
  state_.lane.hub().report_fields(false);
  if (!tried) return tried.error();
  *stopped = tried->result.stopped;
  if (tried->result.stopped || is_inconclusive(tried->judgement.verdict))
    return std::optional<ExecutionResult>();
  return std::optional(std::move(tried->result));
}

// Why a mask for what varies under faults is refused: it must not merge RPCs that the reference
// execution tells apart. "": it merges none.
std::string Relearning::merges_in_reference(const NondeterminismRule& rule) const {
  ExecutionRecord reference;
  reference.rpcs = state_.report.reference;
  const Nondeterminism found =
      find_nondeterminism({&reference, &reference}, {rule}, state_.config.index_parts);
  return found.too_broad.empty() ? "" : "it would merge RPCs of the reference execution";
}

Result<Relearning::Varied> Relearning::compare(const Case& one, size_t prefix,
                                               const InjectedFault& missing) {
  const auto end = static_cast<std::ptrdiff_t>(prefix);
  const std::vector<PlannedRpcFault> plan(one.plan.begin(), one.plan.begin() + end);
  const std::vector<InjectedFault> faults(one.faults.begin(), one.faults.begin() + end);
  Varied out;
  const auto began = Clock::now();
  std::vector<ExecutionResult> runs;
  Nondeterminism found;
  for (size_t count = 1; count <= kComparisons; ++count) {
    if (count == kComparisons) std::this_thread::sleep_until(began + kCoarseClock);
    auto run = run_to_compare(plan, &out.stopped);
    if (!run) return run.error();
    if (!run.value()) return out;
    runs.push_back(std::move(*run.value()));
    out.comes_again = out.comes_again || shows(runs.back().record, missing.index);
    const std::vector<RpcRecord>& rpcs = runs.back().record.rpcs;
    const bool alike = std::any_of(rpcs.begin(), rpcs.end(), [&](const RpcRecord& rpc) {
      return differs_by_values(missing, rpc);
    });
    if (!alike) return out;
    if (count == 1) continue;
    std::vector<const ExecutionRecord*> records;
    for (const ExecutionResult& seen : runs) records.push_back(&seen.record);
    found = find_nondeterminism(records, state_.varies.masks(), state_.config.index_parts,
                                state_.field_names());
    if (!found.proposed.empty() || !found.unstable.lasting().empty()) break;
  }
  refuse_what_merges(found, to_line(faults), &out);
  return out;
}

void Relearning::refuse_what_merges(const Nondeterminism& found, const std::string& under,
                                    Varied* out) const {
  out->unstable = found.unstable.lasting();
  std::map<std::string, std::string> refused;  // RPC -> why its mask was refused
  for (const NondeterminismRule& rule : found.proposed) {
    const std::string why = merges_in_reference(rule);
    if (why.empty()) {
      out->rules.push_back(rule);
      continue;
    }
    leave_out(rule, "it varies under faults; " + why, &out->unstable);
    refused[rule.caller + " -> " + rule.service] = why;
  }
  for (Variation variation : found.variations) {
    using Effect = Variation::Effect;
    const bool is_known = variation.effect == Effect::kMasked && !variation.reason.empty();
    if (is_known || variation.effect == Effect::kNone || variation.comes_and_goes) continue;
    for (const auto& [rpc, why] : refused) {
      if (variation.effect != Effect::kMasked || !variation.rpc.starts_with(rpc)) continue;
      variation.effect = Effect::kNotFaulted;
      variation.reason = why;
    }
    variation.under = under;
    out->variations.push_back(std::move(variation));
  }
}

bool Relearning::came_with_other_values(search::AbstractId seen_in, const InjectedFault& missing,
                                        const ExecutionRecord& record) const {
  std::set<Hash128> expected;
  for (const search::ObservedRpc& rpc : state_.dispatcher->search().observed(seen_in))
    expected.insert(rpc.index);
  return std::any_of(record.rpcs.begin(), record.rpcs.end(), [&](const RpcRecord& rpc) {
    return differs_by_values(missing, rpc) && !expected.contains(rpc.index) &&
           state_.varies.unstable().find(rpc) == nullptr;
  });
}

Result<Relearning::Learned> Relearning::learn(const Case& one, Attempt* attempt) {
  const LanePool::Hold hold(executor_.lanes(), LanePool::Hold::Which::kAll);
  const std::vector<InjectedFault>& faults = one.faults;
  const ExecutionRecord& record = attempt->result.record;
  const auto missing = std::find_if(faults.begin(), faults.end(), [&](const InjectedFault& fault) {
    return !shows(record, fault.index);
  });
  if (missing == faults.end() || times_learned_ == kMostLearned) return Learned::kNothing;
  const auto number = static_cast<size_t>(missing - faults.begin());
  // The execution in which the missing RPC was first seen: it has only the faults before it.
  search::AbstractId seen_in = one.id;
  for (size_t i = faults.size(); i > number; --i)
    seen_in = state_.dispatcher->search().describe(seen_in).parent;
  const bool other_values = came_with_other_values(seen_in, *missing, record);
  Comparisons& compared = compared_[kind_of_fault(*missing)];
  if (compared.times < (other_values ? kComparisons : 1)) {
    ++compared.times;
    auto varied = compare(one, number, *missing);
    if (!varied) return varied.error();
    compared.comes_again = compared.comes_again || varied->comes_again;
    if (varied->stopped) return Learned::kStopped;
    if (!varied->is_empty()) {
      ++times_learned_;
      auto begun = begin_anew_with(varied.value());
      if (!begun) return begun.error();
      return begun.value() == Flow::kGoesOn ? Learned::kBeganAnew : Learned::kStopped;
    }
  }
  const NoConclusion cause = other_values            ? NoConclusion::kOtherValues
                             : !compared.comes_again ? NoConclusion::kStateInService
                                                     : cause_of(one, number, record);
  attempt->judgement.cause = std::min(attempt->judgement.cause, cause);
  if (const std::string_view seen = what_was_seen(cause); !seen.empty())
    attempt->judgement.detail += "; " + std::string(seen);
  return Learned::kNothing;
}

// Why an RPC that comes without its fault did not come with it: what its connection has to do with that.
NoConclusion Relearning::cause_of(const Case& one, size_t missing,
                                  const ExecutionRecord& record) const {
  const InjectedFault& rpc = one.faults[missing];
  for (size_t i = 0; i < missing; ++i) {
    const InjectedFault& before = one.faults[i];
    if (breaks_connection(one.plan[i].fault) && before.caller == rpc.caller &&
        before.service == rpc.service)
      return NoConclusion::kAfterReset;
  }
  if (!breaks_connection(one.plan[missing].fault)) return NoConclusion::kOther;
  const bool keeps = keeps_connections(executor_.reference(), rpc.caller, rpc.service) ||
                     keeps_connections(record, rpc.caller, rpc.service);
  return keeps ? NoConclusion::kAtConnect : NoConclusion::kFirstToConnect;
}

// Moves what stands into standing_, with its failures, so that the book does not remove their files when it forgets. What no
// longer stands of an earlier time is forgotten. Returns the reference execution, if it stands.
Result<std::optional<Relearning::Standing>> Relearning::keep_what_stands(const Varied& varied) {
  const bool answers = std::any_of(varied.rules.begin(), varied.rules.end(),
                                   [](const auto& rule) { return !rule.response.empty(); });
  const search::Search& search = state_.dispatcher->search();
  std::map<Hash128, bool> touched;
  const auto touches = [&](const search::ObservedRpc& seen) {
    const auto [entry, added] = touched.emplace(seen.index, answers);
    const InjectedFault* known = added ? state_.dispatcher->known().find(seen.index) : nullptr;
    if (known != nullptr) {
      const RpcRecord rpc = as_record(*known);
      entry->second = varied.unstable.concerns(rpc) ||
                      std::any_of(varied.rules.begin(), varied.rules.end(),
                                  [&](const auto& rule) { return rule_applies(rule, rpc); });
    }
    return entry->second;
  };
  auto rows = state_.store->results();
  if (!rows) return rows.error();
  std::map<search::AbstractId, search::ResultRow> results;
  for (search::ResultRow& row : rows.value()) results[row.id] = std::move(row);
  // There may still be executions from an earlier time that the search has not come to since.
  std::erase_if(standing_, [&](const auto& entry) {
    const Standing& earlier = entry.second;
    const bool gone = std::any_of(earlier.rpcs.begin(), earlier.rpcs.end(), touches);
    if (gone && earlier.row.failure) state_.findings.forget(earlier.row.failure->faults);
    return gone;
  });
  std::optional<Standing> reference;
  for (const search::AbstractId id : search.concluded()) {
    std::vector<search::ObservedRpc> rpcs = search.observed(id);
    if (std::any_of(rpcs.begin(), rpcs.end(), touches)) continue;
    Standing stands{std::move(results[id]), std::move(rpcs)};
    stands.row.failure = state_.findings.take(id);
    if (id == search::kReference) {
      reference = std::move(stands);
    } else {
      standing_.emplace(ids_of(search.describe(id)), std::move(stands));
    }
  }
  if (auto healthy = search.health(); !healthy) return healthy.error();
  return reference;
}

Result<Flow> Relearning::begin_anew_with(const Varied& varied) {
  auto reference = keep_what_stands(varied);
  if (!reference) return reference.error();
  state_.findings.forget_all();
  state_.ended.forget_ids();
  state_.report.skipped.clear();

  if (auto masked = state_.varies.mask_further(varied.rules); !masked) return masked.error();
  state_.varies.add(varied.unstable);
  for (const Variation& variation : varied.variations) state_.varies.add(variation);
  for (const std::string& line : summary_of(varied.variations)) state_.session.warn(line);
  if (auto begun = state_.dispatcher->begin_anew(); !begun) return begun.error();
  if (auto allowed = mutations_.allow_all(); !allowed) return allowed.error();
  if (auto saved = state_.varies.save(); !saved) return saved.error();
  if (!reference.value()) return reference_.run_again();
  return goes_on(state_.dispatcher->take_over(search::kReference, (*reference.value()).rpcs));
}

std::optional<Relearning::Standing> Relearning::take(const search::AbstractExecution& execution) {
  if (standing_.empty()) return std::nullopt;
  auto found = standing_.extract(ids_of(execution));
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

}  // namespace filibuster
