// The report of an exploration: what an earlier session of the same search has kept for it, and what is said at the end.
#include <algorithm>

#include "core/fault/attempts.h"
#include "daemon/explore/explorer.h"
#include "daemon/lane/not_forked.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/text.h"
#include "daemon/report/unexplained.h"
#include "daemon/report/variation.h"
#include "daemon/report/words.h"

namespace filibuster {

Result<void> Explorer::load_results() {
  if (auto loaded = evidence_.load(); !loaded) return loaded;
  if (auto loaded = varies_.load_appearances(); !loaded) return loaded;
  if (auto loaded = load_sent_again(); !loaded) return loaded;
  if (auto loaded = drifts_.load(); !loaded) return loaded;
  auto rows = store_->results();
  if (!rows) return rows.error();
  for (search::ResultRow& row : rows.value()) {
    std::atomic<uint32_t>& next = session_.counters.next_execution;
    for (uint32_t seen = next;
         seen <= row.number && !next.compare_exchange_weak(seen, row.number + 1);) {
    }
    const auto seconds = static_cast<float>(row.seconds);
    seconds_.push_back(seconds);
    results_[row.id] = {row.number, row.verdict, seconds};
    if (row.skipped) exploration_.report.skipped.push_back(*row.skipped);
    if (!row.failure) continue;
    Execution execution = std::move(*row.failure);
    execution.test = test_.name;
    auto is_finding = findings_.recall(std::move(execution));
    if (!is_finding) return is_finding.error();
    if (is_finding.value()) trees_.insert(row.number);
  }
  return {};
}

Result<void> Explorer::found(const Execution& failure, const std::vector<PlannedRpcFault>& plan,
                             bool seen_twice) {
  const auto replay = [&]() -> Result<std::optional<bool>> {
    if (seen_twice) return std::optional(true);
    if (!ended_by_hand_.empty()) return std::optional<bool>();  // a service is gone
    auto again = attempt(plan);
    if (!again) return again.error();
    return std::optional(is_failure(again->judgement.verdict));
  };
  return findings_.tell(failure, replay, {to_config_text(varies_.masks()), hang_limit_});
}

ReportBuilder Explorer::builder() {
  return ReportBuilder({*dispatcher_, *store_, findings_, results_, trees_, varies_});
}

// Why scheduled executions are left.
RpcLedger::Rest Explorer::rest_of_search() const {
  using Rest = RpcLedger::Rest;
  const TestReport& report = exploration_.report;
  if (report.counts.open == 0 && report.counts.abandoned == 0 && report.counts.beyond_bound == 0)
    return Rest::kNone;
  if (exploration_.stopped) return Rest::kInterrupted;
  const bool bounded =
      report.counts.beyond_bound > 0 || config_.bounds.stop_at_first || report.time_over;
  return bounded ? Rest::kBound : Rest::kNoConclusion;
}

void Explorer::finish_report() {
  TestReport& report = exploration_.report;
  report.test = test_.name;
  if (dispatcher_) report.counts = dispatcher_->search().counts();
  report.fault_configuration = describe_faults(config_);
  if (!sent_again_.empty())
    report.fault_configuration.push_back(
        "mutations that were sent again: " + describe_fault(default_mutation_fault()) +
        ", too (default set)");
  report.default_faults = config_.faults.empty();
  report.findings = findings_.so_far();
  report.again = drifts_.again();
  // Which findings and how many executions are in doubt.
  for (Drift& drift : report.again.drifts) {
    for (const auto& [id, result] : results_)
      drift.executions += drift.contains(result.number) ? 1 : 0;
    for (const Finding& finding : report.findings) {
      if (drift.contains(finding.minimal_execution.number)) drift.findings.push_back(finding.id);
    }
  }
  // A resumed session has not seen the RPCs of its earlier part, so it does not know which rules matched.
  if (dispatcher_ && !exploration_.error && !exploration_.stopped && !resumed_)
    evidence_.note_unmatched_rules();
  if (dispatcher_ && !exploration_.error) {
    if (std::string earlier = findings_.not_found_again(); !earlier.empty())
      evidence_.note(std::move(earlier));
  }
  if (report.counts.beyond_bound > 0) {
    const BoundsConfig& bounds = config_.bounds;
    std::string reason;
    if (bounds.max_executions > 0) {
      reason += "bound max_executions " + std::to_string(bounds.max_executions);
    }
    if (bounds.max_faults > 0) {
      reason += (reason.empty() ? "" : ", ") + std::string("bound max_faults ") +
                std::to_string(bounds.max_faults);
    }
    report.skipped.push_back(
        {counted(report.counts.beyond_bound, "execution", "executions"), reason});
  }
  if (dispatcher_) report.rpcs = evidence_.tested(rest_of_search());
  tell_appearances();
  evidence_.tell(&report);
  if (dispatcher_) {
    builder().add_cases(report.time_over       ? "the time (--max-time) was over before"
                        : exploration_.stopped ? std::string(kInterruptedBefore)
                                               : "a bound or an error ended the exploration before",
                        &report);
  }
  report.unexplained = group_by_cause(report.skipped);
  report.notes = evidence_.notes();
  if (std::any_of(report.variations.begin(), report.variations.end(),
                  [](const Variation& v) { return v.effect == Variation::Effect::kStatusAlone; })) {
    report.notes.push_back(
        "answers that vary as a whole count by their status alone: the reduction does not see what "
        "their callers make of other answers with that status (--reduce off does)");
  }
  if (std::any_of(report.variations.begin(), report.variations.end(),
                  [](const Variation& v) { return v.comes_and_goes; })) {
    report.notes.push_back("RPCs that come in some executions only: " + std::string(kFreshStart));
  }
  if (report.damaged_fields > 0) report.notes.push_back(damaged_fields_text(report.damaged_fields));
  if (config_.reduce == Reduction::kOff) report.notes.push_back("reduction (ESR) was off");
  if (dispatcher_) builder().add_pruned_unlike(&report);
  if (dispatcher_ && dispatcher_->search().health().ok()) {
    if (auto made = builder().page(report.reference, report.findings,
                                   ReportBuilder::WithExecutions::kYes)) {
      report.page = std::move(made).value();
    } else {
      report.notes.push_back("report.html lacks the executions: " + made.error().message);
    }
  }
  report.profiled = profile_.executions();
  report.median_phases = profile_.median();
  report.total_phases = profile_.total();
  if (run_) {
    report.start = way_name(run_->starter().way());
    if (!run_->starter().why_not_forked().empty()) {
      report.why_not_forked = run_->starter().why_not_forked();
      report.remedy = remedy_for(run_->starter().kind_of_why());
    }
    run_->starter().end_snapshots();
  }
  if (!seconds_.empty()) {
    const auto middle = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2);
    std::nth_element(seconds_.begin(), middle, seconds_.end());
    report.median_execution_seconds = *middle;
  }
}

}  // namespace filibuster
