#include "daemon/explore/search_reference.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/observe/observation.h"
#include "daemon/report/variation.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

constexpr size_t kTold =
    20;  // RPCs without faults that a warning names; the report has all of them

constexpr char kFirst[] = "the reference execution";
constexpr char kRepetition[] = "the reference execution passed once; its repetition";

}  // namespace

ReferencePhase SearchReference::phase(uint32_t executions, const std::string& first,
                                      const std::string& repetition) {
  ReferencePhase::Options options;
  options.lane = &state_.lane;
  options.run = &executor_.run();
  options.index_parts = state_.config.index_parts;
  options.executions = executions;
  options.varies = &state_.varies;
  options.field_names = state_.field_names();
  options.observer = [this](const Attempt& one) {
    state_.evidence.see(one.result);
    state_.evidence.see_calls_without_end(one.result.record);
    executor_.note_repetition(one);
  };
  options.accept = [this, first, repetition](const Attempt& attempt, size_t earlier) {
    return accept(attempt, earlier == 0 ? first : repetition);
  };
  return ReferencePhase(std::move(options));
}

Result<bool> SearchReference::accept(const Attempt& attempt, const std::string& which) {
  const std::string what = which + " of test '" + state_.test.name + "' ";
  if (auto problem = executor_.run().why_unusable(what, attempt)) return *problem;
  const ExecutionResult& result = attempt.result;
  if (state_.test.of_suite) {
    std::string& nothing = state_.report.nothing_to_explore;
    nothing = !result.not_run.empty()      ? result.not_run
              : result.record.rpcs.empty() ? "it makes no remote call"
                                           : "";
    if (!nothing.empty()) return false;
  }
  if (!result.not_run.empty())
    return Error{what + "ended well, but nothing was tested: " + result.not_run};
  if (result.record.rpcs.empty()) {
    return Error{"no RPC was seen in " + what +
                 "(it passed): there is nothing to inject faults into" +
                 state_.evidence.no_rpc_hint()};
  }
  if (attempt.judgement.verdict == Verdict::kNotQuiescent) {
    state_.session.warn(what + "passed, but RPCs stayed open: " + attempt.judgement.detail);
  }
  return true;
}

Result<Flow> SearchReference::run() {
  // A resumed search has its reference execution. One more shows that the application is still the same.
  const bool resumed = state_.dispatcher->has_begun();
  Variability& varies = state_.varies;
  if (auto masked = resumed ? varies.load_masks() : varies.mask_as_configured(); !masked)
    return masked.error();
  ReferencePhase executions =
      phase(resumed ? 1 : state_.config.bounds.reference_executions, kFirst, kRepetition);
  auto end = executions.run();
  state_.report.reference_seconds = executions.seconds();
  if (!end) return end.error();
  if (end.value() == ReferencePhase::End::kNotComparable) return Error{executions.why()};
  if (end.value() != ReferencePhase::End::kSettled) return Flow::kStopped;
  if (resumed) {
    bool anew = false;
    auto compared = compare_with_kept(&executions, &anew);
    if (!compared || compared.value() == Flow::kStopped) return compared;
    if (anew) return run();
  } else if (state_.config.bounds.reference_executions > 1) {
    for (const std::string& line : summary_of(varies.variations())) state_.session.warn(line);
    if (auto stored = varies.save(); !stored) return stored.error();
  }
  const std::vector<ExecutionResult>& runs = executions.runs();
  state_.report.reference_executions = resumed ? 1 : static_cast<uint32_t>(runs.size());
  executor_.set_reference(runs.back());
  for (const ExecutionResult& one : runs) state_.note_appearances(one.record);
  if (auto kept = varies.keep_appearances(); !kept) return kept.error();
  if (auto closed = state_.drifts.as_before(runs.back().record.execution); !closed)
    return closed.error();
  if (auto begun = begin_with(runs[resumed ? 0 : varies.reference_to_take(runs)]); !begun)
    return begun.error();
  return goes_on(resumed ? Result<void>() : tell_kept_state(executions.all()));
}

Result<Flow> SearchReference::compare_with_kept(ReferencePhase* phase, bool* anew) {
  const auto changed = [&] {
    return state_.memory.changed(phase->runs().back().record, stored_.files_by_hand());
  };
  auto why = changed();
  if (!why) return why.error();
  // The difference may be one that varies by itself and was not noticed: then a repetition may be
  // equal to the stored reference.
  if (!why.value().empty()) {
    auto repeated = phase->repeat(2);
    if (!repeated) return repeated.error();
    if (repeated.value() != ReferencePhase::End::kSettled) return Flow::kStopped;
    why = changed();
    if (!why) return why.error();
  }
  *anew = !why.value().empty();
  if (!*anew) return Flow::kGoesOn;
  return goes_on(stored_.begin_anew(why.value()));
}

Result<void> SearchReference::tell_kept_state(const Records& runs) {
  if (runs.size() < 2) return {};
  std::vector<CallOfSome> once;
  std::vector<std::string> again;
  for (CallOfSome& call :
       calls_of_some(runs, state_.config, state_.varies.masks(), state_.varies.unstable())) {
    if (!state_.evidence.is_known(call.rpc)) {
      if (auto noted = state_.evidence.came_once(call.rpc, why_not_planned(call, runs.size()));
          !noted)
        return noted;
    }
    if (call.in_runs.size() > 1) again.push_back(call.rpc);
    if (call.in_runs.size() == 1 && !state_.evidence.gets_faults(call.rpc))
      once.push_back(std::move(call));
  }
  if (!again.empty()) {
    state_.session.warn(
        counted(again.size(), "call comes", "calls come") +
        " in some of the executions without faults only, and faults are tried where " +
        (again.size() == 1 ? "it comes" : "they come") + " (" + first_of(again) + ")");
  }
  if (once.empty()) return {};
  state_.session.warn(kept_state_warning(once, runs, state_.config));
  state_.evidence.note(kept_state_note(once, runs, state_.config));
  return {};
}

Result<Flow> SearchReference::begin_faults() {
  auto anew = state_.lane.services().begin_coverage(coverage::Phase::kUnderFaults);
  if (!anew) return anew.error();
  if (!anew.value()) return Flow::kGoesOn;
  const std::string which =
      "the reference execution passed; its repetition with services that were started anew (for "
      "--coverage)";
  auto end = phase(1, which, which).repeat(1);
  if (!end) return end.error();
  return end.value() == ReferencePhase::End::kSettled ? Flow::kGoesOn : Flow::kStopped;
}

Result<Flow> SearchReference::run_again() {
  const std::string which = "the reference execution with masks learned under faults";
  ReferencePhase again = phase(1, which, which);
  state_.lane.hub().report_fields(true);
  auto end = again.repeat(1);
  state_.lane.hub().report_fields(false);
  if (!end) return end.error();
  if (end.value() != ReferencePhase::End::kSettled) return Flow::kStopped;
  const ExecutionResult& result = again.runs().back();
  executor_.set_reference(result);
  state_.drifts.begin_with(result.record.execution);
  return goes_on(begin_with(result));
}

Result<void> SearchReference::begin_with(const ExecutionResult& result) {
  const ExecutionRecord& record = result.record;
  Variability& varies = state_.varies;
  state_.evidence.see_services_without_agent(record);
  for (const std::string& text : state_.evidence.unknown_services(record))
    state_.session.warn(text);
  state_.report.reference = record.rpcs;
  const UnstableRpcs none;
  if (auto learned = state_.dispatcher->known().learn(
          record, varies.masks(), varies.unstable().has_recurring() ? varies.unstable() : none);
      !learned)
    return learned;
  executor_.run().set_usual_acts(retries::count_acts(record, state_.config.retries.mutations));
  if (auto noted = mutations_.note(record); !noted) return noted;
  auto seen = state_.dispatcher->observe(record, varies.unstable(), varies.masks());
  if (!seen) return seen.error();
  if (auto noted = executor_.note_met(seen.value(), record); !noted) return noted;
  if (std::none_of(seen->rpcs.begin(), seen->rpcs.end(),
                   [](const search::ObservedRpc& rpc) { return !rpc.faults.empty(); }))
    tell_why_no_faults(record.rpcs);
  const double seconds = state_.report.reference_seconds;
  state_.session.sink({{"type", "reference"},
                       {"test", state_.test.name},
                       {"seconds", seconds},
                       {"rpcs", record.rpcs.size()}});
  executor_.set_hang_limit(hang_limit_of(state_.config.bounds, seconds));
  if (state_.dispatcher->has_begun()) return {};
  state_.ended.add_seconds(seconds);
  if (auto kept = state_.memory.keep(record, stored_.files_by_hand()); !kept) return kept;
  return state_.dispatcher->conclude(search::kReference, seen->rpcs, false);
}

void SearchReference::tell_why_no_faults(const std::vector<RpcRecord>& rpcs) {
  const Evidence& evidence = state_.evidence;
  std::string why;
  size_t shown = 0;
  for (const auto& [rpc, reason] : evidence.left_out()) {
    why += "\n  - " + rpc + ": " + reason;
    if (++shown == kTold) break;
  }
  for (const std::string& call : evidence.late_calls())
    why += "\n  - " + call + ": " + std::string(kLateCall);
  const bool only_its_own = std::all_of(rpcs.begin(), rpcs.end(), is_test_call);
  if (why.empty() && state_.test.of_suite) {
    state_.report.nothing_to_explore =
        only_its_own ? "only the test itself makes remote calls, and these get no fault"
                     : "the fault rules of the configuration match none of its remote calls";
    return;
  }
  state_.session.warn("no RPC of the reference execution gets a fault:" +
                      (!why.empty() ? why
                       : only_its_own
                           ? " only the test's own calls were seen" + evidence.no_rpc_hint()
                           : std::string(" the fault rules of the configuration match none")));
}

}  // namespace filibuster
