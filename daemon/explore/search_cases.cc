#include "daemon/explore/search_cases.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "daemon/base/descriptors.h"
#include "daemon/base/fail_point.h"
#include "daemon/explore/exploration_report.h"
#include "daemon/explore/logged_exceptions.h"
#include "daemon/explore/plan_faults.h"
#include "daemon/page/data.h"
#include "daemon/redact/redact.h"
#include "daemon/report/seen.h"

namespace filibuster {
namespace {

// The live page may cost the exploration one part in so many of its time.
constexpr int kLivePart = 20;
constexpr std::chrono::milliseconds kLivePause{500};

std::vector<search::PlannedFault> faults_in(const Observation& seen) {
  std::vector<search::PlannedFault> out;
  for (const search::ObservedRpc& rpc : seen.rpcs)
    if (rpc.injected != 0) out.push_back({rpc.index, rpc.injected});
  return out;
}

// What an execution with a sequence shows is what one with a fault of its own at each attempt would show.
ExecutionRecord as_single_faults(ExecutionRecord record) {
  for (RpcRecord& rpc : record.rpcs) rpc.attempt = 0;
  return record;
}

Mending redacted(const Mending& mending) {
  Mending out{redact(mending.begin), {}, redact(mending.end), redact(mending.end_of_several)};
  for (const std::string& text : mending.of) out.of.push_back(redact(text));
  return out;
}

}  // namespace

Result<void> SearchCases::begin() {
  watch_.begin();
  return offer_page();
}

void SearchCases::go_on(const search::Reach& reach, uint64_t most) {
  reach_ = reach;
  left_ = most == 0 ? std::nullopt : std::optional(most);
  state_.dispatcher->start_clock();
}

Result<std::optional<Case>> SearchCases::next() {
  const std::optional<Case> none;
  while (!is_readable(state_.lane.place().wake_fd)) {
    if (auto decided = executor_.reconsider_snapshots(); !decided) return decided.error();
    if (met_first_failure() || left_ == 0u) return none;
    auto one = state_.dispatcher->next(reach_);
    if (!one || !one.value()) return one;
    // What was handed out and is not executed stays open: the same command goes on with it.
    if (state_.dispatcher->is_time_over()) {
      state_.report.time_over = true;
      return none;
    }
    auto taken = take_over(*one.value());
    if (!taken) return taken.error();
    if (taken.value()) continue;
    const InjectedFault* gone = state_.varies.given_up(*one.value());
    if (gone == nullptr) {
      if (left_) --*left_;
      tell_what_is_tried("", one.value()->faults);
      return one;
    }
    if (auto left = leave_out(*one.value(), *gone); !left) return left.error();
  }
  return none;
}

bool SearchCases::met_first_failure() {
  if (!state_.config.bounds.stop_at_first || !state_.findings.has_new_failure()) return false;
  const uint64_t open = state_.dispatcher->counts().open;
  if (open > 0 && !met_bound_) {
    state_.report.skipped.push_back(
        {std::to_string(open) + " scheduled executions", "bound stop_at_first: one failure"});
  }
  met_bound_ = true;
  return true;
}

// The result of an early execution has its row, and a failure of it was told.
Result<bool> SearchCases::take_over_early(const search::AbstractExecution& one) {
  auto early = state_.dispatcher->take_early(one);
  if (!early) return early.error();
  if (!early.value()) return false;
  const search::AbstractId early_id = early.value()->id;
  auto rows = state_.store->results();
  if (!rows) return rows.error();
  const auto row = std::find_if(rows->begin(), rows->end(),
                                [&](const search::ResultRow& each) { return each.id == early_id; });
  if (row == rows->end()) return false;
  row->id = one.id;
  if (auto put = state_.store->put_result(*row); !put) return put.error();
  state_.ended.rename(early_id, *row);
  if (auto failure = state_.findings.take(early_id)) {
    failure->id = one.id;
    state_.findings.add(std::move(*failure));
    state_.dispatcher->failed(one.id);
  }
  if (auto done = state_.dispatcher->take_over(one.id, early.value()->rpcs); !done)
    return done.error();
  return true;
}

Result<bool> SearchCases::take_over(const Case& one) {
  if (EarlyAttempts::is_early(one.id)) return false;
  const search::AbstractExecution execution = state_.dispatcher->search().describe(one.id);
  auto early = take_over_early(execution);
  if (!early || early.value()) return early;
  auto standing = relearning_.take(execution);
  if (!standing) return false;
  search::ResultRow& row = standing->row;
  row.id = one.id;
  if (row.skipped) state_.report.skipped.push_back(*row.skipped);
  if (auto put = state_.store->put_result(row); !put) return put.error();
  state_.ended.put(row);
  if (auto done = state_.dispatcher->take_over(one.id, standing->rpcs); !done) return done.error();
  if (!row.failure) return true;
  Execution failure = std::move(*row.failure);
  failure.id = one.id;
  state_.findings.add(failure);
  auto plan = plan_faults(state_.config, failure.faults);
  if (!plan) return plan.error();
  if (auto told = found(failure, plan.value(), false); !told) return told.error();
  return true;
}

Result<void> SearchCases::leave_out(const Case& one, const InjectedFault& missing) {
  state_.evidence.did_not_come(describe_rpc(as_record(missing), state_.varies.masks()));
  if (auto kept = state_.varies.keep_appearances(); !kept) return kept;
  return state_.dispatcher->leave_out(one.id, "it did not come");
}

Result<Flow> SearchCases::conclude(const Case& one, CaseOutcome outcome) {
  const auto ended = Clock::now();
  const double stored = state_.store->seconds();
  Phases phases = outcome.attempt.result.phases;
  auto flow = look_at(one, &outcome);
  phases.store = state_.store->seconds() - stored;
  const double since = std::chrono::duration<double>(Clock::now() - ended).count();
  phases.verdict = std::max(0.0, since - phases.store);
  profile_.add(phases);
  return flow;
}

Result<Flow> SearchCases::look_at(const Case& one, CaseOutcome* outcome) {
  Attempt& attempt = outcome->attempt;
  if (auto waited = wait_for_what_comes(one, &attempt); !waited) return waited.error();
  if (attempt.result.stopped) return Flow::kStopped;
  if (EarlyAttempts::is_early(one.id)) return look_at_attempts(one, outcome);
  if (attempt.judgement.verdict == Verdict::kPlanNotMet) {
    auto learned = learn_from_unmet_plan(one, &attempt);
    if (!learned) return learned.error();
    if (learned.value() == Unmet::kStopped) return Flow::kStopped;
    if (learned.value() == Unmet::kDealtWith) return Flow::kGoesOn;
  }
  return keep(one, outcome);
}

// The attempts that a sequence has met, as the set of faults that it stands for. Where not each had its fault, or there was one only,
// the execution says nothing that another one does not.
Result<Flow> SearchCases::look_at_attempts(const Case& one, CaseOutcome* outcome) {
  Attempt& attempt = outcome->attempt;
  std::vector<search::PlannedFault> attempts;
  if (attempt.judgement.plan_met && !is_inconclusive(attempt.judgement.verdict)) {
    const std::vector<RpcRecord>& rpcs = attempt.result.record.rpcs;
    const auto met = std::count_if(rpcs.begin(), rpcs.end(), [](const RpcRecord& rpc) {
      return rpc.attempt != 0 && rpc.injected;
    });
    auto seen = learn_and_observe(as_single_faults(attempt.result.record));
    if (!seen) return seen.error();
    attempts = faults_in(seen.value());
    if (met < 2 || attempts.size() != static_cast<size_t>(met)) attempts.clear();
  }
  if (attempts.empty()) return filibuster::goes_on(state_.dispatcher->conclude_early({}, {}));
  auto set = state_.dispatcher->case_of({one.id, search::kReference, std::move(attempts)});
  return set ? keep(set.value(), outcome) : set.error();
}

Result<Flow> SearchCases::keep(const Case& one, CaseOutcome* outcome) {
  Attempt& attempt = outcome->attempt;
  auto confirmed = confirm_by_time(one, outcome);
  if (!confirmed || confirmed.value() == Flow::kStopped) return confirmed;
  if (auto done = record(one, attempt); !done) return done.error();
  if (const Execution* failure = state_.findings.failure(one.id)) {
    if (auto told = found(*failure, one.plan, outcome->seen_twice); !told) return told.error();
  }
  if (auto offered = offer_page(); !offered) return offered.error();
  if (state_.ended_by_hand.empty()) return watch_.look_in_between();
  return Error{"service '" + state_.ended_by_hand +
               "', which this session did not start, ended in execution " + to_line(one.faults) +
               "; start it again, and the same command goes on where this one stopped"};
}

Result<void> SearchCases::wait_for_what_comes(const Case& one, Attempt* attempt) {
  while (attempt->judgement.verdict == Verdict::kPlanNotMet && !attempt->result.stopped) {
    const InjectedFault* missing = state_.varies.did_not_come(one, attempt->result.record);
    if (missing == nullptr) return {};
    state_.note_appearances(attempt->result.record);
    // Each of its executions was without it.
    if (state_.varies.misses(*missing, static_cast<uint32_t>(attempt->number))) return {};
    auto again = executor_.attempt(one.plan);
    if (!again) return again.error();
    *attempt = std::move(again).value();
  }
  return {};
}

Result<SearchCases::Unmet> SearchCases::learn_from_unmet_plan(const Case& one, Attempt* attempt) {
  if (const InjectedFault* missing = state_.varies.did_not_come(one, attempt->result.record)) {
    auto left = leave_out(one, *missing);
    return left.ok() ? Result<Unmet>(Unmet::kDealtWith) : left.error();
  }
  auto learned = relearning_.learn(one, attempt);
  if (!learned) return learned.error();
  switch (learned.value()) {
    case Relearning::Learned::kStopped:
      return Unmet::kStopped;
    case Relearning::Learned::kBeganAnew:
      return Unmet::kDealtWith;
    case Relearning::Learned::kNothing:
      break;
  }
  return Unmet::kCounts;
}

Result<Flow> SearchCases::confirm_by_time(const Case& one, CaseOutcome* result) {
  const Judgement& first = result->attempt.judgement;
  if (!is_by_time(first.verdict) || result->seen_twice ||
      state_.findings.belongs_to_earlier(one.faults))
    return Flow::kGoesOn;
  auto again = executor_.attempt(one.plan);
  if (!again) return again.error();
  if (again->result.stopped) return Flow::kStopped;
  // An inconclusive second run does not take the failure back.
  if (is_inconclusive(again->judgement.verdict)) return Flow::kGoesOn;
  result->seen_twice = is_by_time(again->judgement.verdict);
  if (!result->seen_twice) {
    state_.evidence.warn_and_note("execution " + to_line(one.faults) + " exceeded a time limit (" +
                                  first.detail +
                                  "), but not when it was run again: that run counts");
  }
  result->attempt = std::move(again).value();
  return Flow::kGoesOn;
}

Result<void> SearchCases::record(const Case& one, const Attempt& attempt) {
  Execution execution = state_.describe(one.faults, attempt);
  execution.id = one.id;
  search::ResultRow row{execution.number,  execution.id, execution.verdict,
                        execution.seconds, {},           {}};
  if (is_inconclusive(execution.verdict) || execution.verdict == Verdict::kNotQuiescent)
    note_skipped(one, attempt, &row);
  if (is_failure(execution.verdict)) {
    if (auto kept = keep_failure(execution, attempt, &row); !kept) return kept;
  }
  // The result is stored before the search is told: if the daemon dies between the two, the execution
  // is run again and its newer result replaces this one. The other order could lose a failure.
  if (auto put = state_.store->put_result(row); !put) return put;
  fail_point("recorded");
  watch_.count_execution();
  state_.ended.add_seconds(execution.seconds);
  state_.ended.put(row);
  if (auto told = tell_search(one, attempt); !told) return told;
  tell_execution(execution);
  return {};
}

void SearchCases::note_skipped(const Case& one, const Attempt& attempt, search::ResultRow* row) {
  const Judgement& judgement = attempt.judgement;
  const bool inconclusive = is_inconclusive(judgement.verdict);
  row->skipped = Skipped{"execution " + to_line(one.faults),
                         inconclusive ? judgement.detail
                                      : "it ran, but did not become quiet in time "
                                        "(bounds.quiesce_timeout): " +
                                            judgement.detail,
                         inconclusive ? std::optional(judgement.cause) : std::nullopt};
  state_.report.skipped.push_back(*row->skipped);
  if (!inconclusive) return;
  for (const InjectedFault& fault : one.faults)
    state_.evidence.had_no_conclusion(describe_rpc(as_record(fault), state_.varies.masks()));
}

// Keeps the tree of the execution, too, if it begins a finding of its own.
Result<void> SearchCases::keep_failure(Execution execution, const Attempt& attempt,
                                       search::ResultRow* row) {
  const std::vector<RpcRecord>& rpcs = attempt.result.record.rpcs;
  execution.output = with_service_logs(attempt.output, attempt.result);
  execution.seen = what_was_seen(rpcs, state_.report.reference);
  const auto logged = logged_exceptions(attempt.result.wrote, execution.faults);
  for (std::string& line : to_lines(logged)) execution.seen.push_back(std::move(line));
  execution.mending =
      redacted(lint::what_would_mend(execution, rpcs, state_.report.reference, logged));
  row->failure = execution;
  state_.findings.add(execution);
  state_.dispatcher->failed(execution.id);
  std::set<uint32_t>& trees = state_.ended.trees;
  if (trees.size() >= kMaxPageTrees || state_.findings.belongs_to_earlier(execution.faults))
    return {};
  trees.insert(execution.number);
  return state_.store->put_tree(execution.number, page_tree(rpcs));
}

Result<void> SearchCases::tell_search(const Case& one, const Attempt& attempt) {
  Dispatcher& dispatcher = *state_.dispatcher;
  if (!attempt.judgement.plan_met || is_inconclusive(attempt.judgement.verdict))
    return dispatcher.abandon(one.id, attempt.judgement.detail);
  const bool is_early = EarlyAttempts::is_early(one.id);
  std::optional<ExecutionRecord> single_faults;
  if (is_early) single_faults = as_single_faults(attempt.result.record);
  const ExecutionRecord& record = single_faults ? *single_faults : attempt.result.record;
  state_.note_appearances(record);
  if (auto kept = state_.varies.keep_appearances(); !kept) return kept;
  if (auto noted = mutations_.note(record); !noted) return noted;
  auto seen = learn_and_observe(record);
  if (!seen) return seen.error();
  if (auto noted = executor_.note_met(seen.value(), record); !noted) return noted;
  if (is_early) return dispatcher.conclude_early(faults_in(seen.value()), seen->rpcs);
  return dispatcher.conclude(one.id, seen->rpcs, attempt.judgement.verdict == Verdict::kPassed);
}

Result<Observation> SearchCases::learn_and_observe(const ExecutionRecord& record) {
  Dispatcher& dispatcher = *state_.dispatcher;
  const Variability& varies = state_.varies;
  if (auto learned = dispatcher.known().learn(record, varies.masks(), varies.unstable()); !learned)
    return learned.error();
  return dispatcher.observe(record, varies.unstable(), varies.masks());
}

void SearchCases::tell_execution(const Execution& execution) {
  const search::SearchCounts counts = state_.dispatcher->counts();
  const search::Places places = state_.dispatcher->places().counts();
  const Dispatcher::Estimate estimate = state_.dispatcher->estimate();
  std::vector<std::string> faults;
  for (const InjectedFault& fault : execution.faults) faults.push_back(to_line(fault));
  state_.session.sink({{"type", "execution"},
                       {"test", execution.test},
                       {"number", execution.number},
                       {"executed", counts.executed},
                       {"scheduled", counts.scheduled},
                       {"open", counts.open},
                       {"redundant", counts.redundant},
                       {"places", places.known},
                       {"places_tried", places.tried},
                       {"findings", state_.findings.count()},
                       {"faults", faults},
                       {"passed", execution.verdict == Verdict::kPassed},
                       {"verdict", verdict_name(execution.verdict)},
                       {"seconds", execution.seconds},
                       {"rate", estimate.rate},
                       {"eta_seconds", estimate.seconds_left}});
}

Result<void> SearchCases::found(const Execution& failure, const std::vector<PlannedRpcFault>& plan,
                                bool seen_twice) {
  const auto replay = [&]() -> Result<std::optional<bool>> {
    if (seen_twice) return std::optional(true);
    if (!state_.ended_by_hand.empty()) return std::optional<bool>();  // a service is gone
    tell_what_is_tried("once more: ", failure.faults);
    auto again = executor_.attempt(plan);
    if (!again) return again.error();
    if (again->result.stopped) return std::optional<bool>();  // it says nothing
    return std::optional(is_failure(again->judgement.verdict));
  };
  return state_.findings.tell(failure, replay,
                              {to_config_text(state_.varies.masks()), executor_.hang_limit()});
}

void SearchCases::tell_what_is_tried(const char* how,
                                     const std::vector<InjectedFault>& faults) const {
  if (!state_.session.tries) return;
  std::string text;
  for (const InjectedFault& fault : faults) text += (text.empty() ? how : " + ") + to_line(fault);
  state_.session.tries(text.empty() ? "without faults" : std::move(text));
}

Result<void> SearchCases::offer_page() {
  const SessionContext& session = state_.session;
  if (!session.page_is_wanted || Clock::now() < next_offer_ || !session.page_is_wanted()) return {};
  const auto began = Clock::now();
  auto report = report_so_far(state_);
  if (!report) return report.error();
  session.offer_page(std::move(report).value());
  next_offer_ =
      Clock::now() + std::max<Clock::duration>(kLivePause, (Clock::now() - began) * kLivePart);
  return {};
}

void SearchCases::tell(TestReport* report) const {
  report->profiled = profile_.executions();
  report->median_phases = profile_.median();
  report->total_phases = profile_.total();
}

}  // namespace filibuster
