#include "daemon/explore/exploration_report.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/explore/kept_state.h"
#include "daemon/explore/report_builder.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/text.h"
#include "daemon/report/unexplained.h"
#include "daemon/report/variation.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

ReportBuilder builder(const ExplorationState& state) {
  return ReportBuilder(
      {*state.dispatcher, *state.store, state.findings, state.ended, state.varies});
}

// Why scheduled executions are left.
RpcLedger::Rest rest_of_search(const ExplorationState& state, bool stopped) {
  using Rest = RpcLedger::Rest;
  const search::SearchCounts& counts = state.report.counts;
  if (counts.open == 0 && counts.abandoned == 0 && counts.beyond_bound == 0) return Rest::kNone;
  if (stopped) return Rest::kInterrupted;
  const bool bounded =
      counts.beyond_bound > 0 || state.config.bounds.stop_at_first || state.report.time_over;
  return bounded ? Rest::kBound : Rest::kNoConclusion;
}

// Which findings and how many executions are in doubt.
void add_drifts(const ExplorationState& state, TestReport* report) {
  report->again = state.drifts.again();
  for (Drift& drift : report->again.drifts) {
    for (const auto& [id, ended] : state.ended.by_id())
      drift.executions += drift.contains(ended.number) ? 1 : 0;
    for (const Finding& finding : report->findings) {
      if (drift.contains(finding.minimal_execution.number)) drift.findings.push_back(finding.id);
    }
  }
}

void add_bound(const BoundsConfig& bounds, TestReport* report) {
  if (report->counts.beyond_bound == 0) return;
  std::string reason;
  if (bounds.max_executions > 0)
    reason += "bound max_executions " + std::to_string(bounds.max_executions);
  if (bounds.max_faults > 0) {
    reason += (reason.empty() ? "" : ", ") + std::string("bound max_faults ") +
              std::to_string(bounds.max_faults);
  }
  report->skipped.push_back(
      {counted(report->counts.beyond_bound, "execution", "executions"), reason});
}

// What was counted over all executions takes the place of what the first ones have said.
void tell_appearances(ExplorationState* state) {
  TestReport& report = state->report;
  state->varies.tell(&report);
  for (const auto& [call, reason] : state->evidence.left_out()) {
    if (const std::string text = state->varies.appearance_text(call); !text.empty())
      state->evidence.leave_out(call, text);
  }
  for (auto& [call, reason] : report.rpcs.untested) {
    const std::string text = state->varies.appearance_text(call);
    if (text.empty()) continue;
    reason = text;
    state->evidence.leave_out(call, text);
  }
}

void add_notes(const ExplorationState& state, TestReport* report) {
  const auto any_varies = [&](const auto& is) {
    return std::any_of(report->variations.begin(), report->variations.end(), is);
  };
  report->notes = state.evidence.notes();
  if (any_varies(
          [](const Variation& one) { return one.effect == Variation::Effect::kStatusAlone; })) {
    report->notes.push_back(
        "answers that vary as a whole count by their status alone: the reduction does not see what "
        "their callers make of other answers with that status (--reduce off does)");
  }
  const bool is_told =
      std::any_of(report->notes.begin(), report->notes.end(),
                  [](const std::string& note) { return note.starts_with(kComeInSome); });
  if (!is_told && any_varies([](const Variation& one) { return one.comes_and_goes; }))
    report->notes.push_back(std::string(kComeInSome) + std::string(kFreshStart));
  if (report->damaged_fields > 0)
    report->notes.push_back(damaged_fields_text(report->damaged_fields));
  if (state.config.reduce == Reduction::kOff) report->notes.push_back("reduction (ESR) was off");
}

}  // namespace

Result<TestReport> report_so_far(const ExplorationState& state) {
  TestReport report;
  report.test = state.test.name;
  report.counts = state.dispatcher->counts();
  report.fault_configuration = describe_faults(state.config);
  report.reference = state.report.reference;
  report.reference_seconds = state.report.reference_seconds;
  report.findings = state.findings.so_far();
  auto page =
      builder(state).page(report.reference, report.findings, ReportBuilder::WithExecutions::kNo);
  if (!page) return page.error();
  report.page = std::move(page).value();
  return report;
}

void finish_report(ExplorationState* state, const ExplorationEnd& end) {
  TestReport& report = state->report;
  Evidence& evidence = state->evidence;
  const Dispatcher* dispatcher = state->dispatcher.get();
  report.test = state->test.name;
  if (dispatcher != nullptr) report.counts = dispatcher->counts();
  report.fault_configuration = describe_faults(state->config);
  report.default_faults = state->config.faults.empty();
  report.findings = state->findings.so_far();
  add_drifts(*state, &report);
  if (dispatcher != nullptr && !end.failed) {
    // A resumed session has not seen the RPCs of its earlier part, so it does not know which rules matched.
    if (!end.stopped && !state->resumed) evidence.note_unmatched_rules();
    if (std::string earlier = state->findings.not_found_again(); !earlier.empty())
      evidence.note(std::move(earlier));
  }
  add_bound(state->config.bounds, &report);
  if (dispatcher != nullptr) report.rpcs = evidence.tested(rest_of_search(*state, end.stopped));
  tell_appearances(state);
  evidence.tell(&report);
  if (dispatcher != nullptr) {
    builder(*state).add_cases(report.time_over ? "the time (--max-time) was over before"
                              : end.stopped    ? std::string(kInterruptedBefore)
                                               : "a bound or an error ended the exploration before",
                              &report);
  }
  report.unexplained = group_by_cause(report.skipped);
  add_notes(*state, &report);
  if (dispatcher != nullptr) {
    builder(*state).add_pruned_unlike(&report);
    if (dispatcher->search().health().ok()) {
      if (auto made = builder(*state).page(report.reference, report.findings,
                                           ReportBuilder::WithExecutions::kYes)) {
        report.page = std::move(made).value();
      } else {
        report.notes.push_back("report.html lacks the executions: " + made.error().message);
      }
    }
  }
  report.median_execution_seconds = state->ended.median_seconds();
}

}  // namespace filibuster
