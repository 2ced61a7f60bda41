// The reference executions of an exploration: the first one must settle and pass; the others show
// what varies from run to run, which is masked from then on, or kept out of the search.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/explore/explorer.h"
#include "daemon/explore/nondeterminism.h"
#include "daemon/explore/silent_services.h"
#include "daemon/lane/application.h"
#include "daemon/lane/programs_outside.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/variation.h"

namespace filibuster {
namespace {

// More than one round is needed: some fields are seen to differ only after others are masked and RPCs
// are matched better, and what varies rarely may be equal in the first two runs.
constexpr int kMaskRounds = 3;
constexpr size_t kTold = 20;  // variations shown as warnings; the report has all of them

}  // namespace

// nullopt: the session was stopped, or the test of a suite has nothing to explore.
Result<std::optional<ExecutionResult>> Explorer::reference_execution(const std::string& which) {
  auto run = run_->reference([this](const Attempt& one) {
    evidence_.see(one.result);
    note_repetition(one);
    note_calls_without_end(one.result.record);
  });
  if (!run) return run.error();
  if (run->result.stopped) return std::optional<ExecutionResult>();
  const std::string what = which + " of test '" + test_.name + "' ";
  if (auto problem = run_->why_unusable(what, run.value())) return *problem;
  const ExecutionResult& result = run->result;
  if (test_.of_suite) {
    std::string& nothing = exploration_.report.nothing_to_explore;
    nothing = !result.not_run.empty()      ? result.not_run
              : result.record.rpcs.empty() ? "it makes no remote call"
                                           : "";
    if (!nothing.empty()) return std::optional<ExecutionResult>();
  }
  if (!result.not_run.empty())
    return Error{what + "ended well, but nothing was tested: " + result.not_run};
  if (result.record.rpcs.empty()) {
    return Error{"no RPC was seen in " + what +
                 "(it passed): there is nothing to inject faults into" + evidence_.no_rpc_hint()};
  }
  if (run->judgement.verdict == Verdict::kNotQuiescent) {
    warn(what + "passed, but RPCs stayed open: " + run->judgement.detail);
  }
  return std::optional(std::move(run->result));
}

// Adds reference executions to `runs` until there are `count`. False: stopped, or nothing to explore.
Result<bool> Explorer::repeat_reference(size_t count, std::vector<ExecutionResult>* runs) {
  while (runs->size() < count) {
    auto run =
        reference_execution(runs->empty() ? "the reference execution"
                                          : "the reference execution passed once; its repetition");
    if (!run) return run.error();
    if (!run.value()) return false;
    runs->push_back(std::move(*run.value()));
  }
  return true;
}

// Compares the runs, masks what varies, runs them again, until nothing new varies. False: stopped.
Result<bool> Explorer::settle_nondeterminism(std::vector<ExecutionResult>* runs) {
  for (int round = 0;; ++round) {
    std::vector<const ExecutionRecord*> records;
    for (const ExecutionResult& run : *runs) records.push_back(&run.record);
    Nondeterminism found =
        find_nondeterminism(records, varies_.masks(), config_.index_parts, field_names());
    if (found.proposed.empty() && found.too_broad.empty()) {
      const size_t before = runs->size();
      auto more = tell_apart(found, runs);
      if (!more || !more.value()) return more;
      if (runs->size() > before) {
        records.clear();
        for (const ExecutionResult& run : *runs) records.push_back(&run.record);
        found = find_nondeterminism(records, varies_.masks(), config_.index_parts, field_names());
      }
    }
    if (!found.too_broad.empty()) {
      std::string text = "a mask is too broad; nothing is explored with it:";
      for (const std::string& why : found.too_broad) text += "\n  - " + why;
      return Error{text};
    }
    varies_.add(found);
    if (found.proposed.empty()) break;
    if (round == kMaskRounds) {
      // An RPC in which other fields differ after every round of masks is not masked further.
      for (const NondeterminismRule& rule : found.proposed) {
        varies_.add(Variation{
            rule.caller + " -> " + rule.service + " " + rule.method + " " + rule.path,
            "other fields in every comparison", Variation::Effect::kNotFaulted, "", "", false});
        varies_.leave_out(rule, "other fields of it vary in every comparison");
      }
      break;
    }
    if (auto masked = varies_.mask_further(found.proposed); !masked) return masked.error();
    runs->clear();
    auto again = repeat_reference(config_.bounds.reference_executions, runs);
    if (!again || !again.value()) return again;
  }
  const std::vector<Variation>& variations = varies_.variations();
  for (size_t i = 0; i < variations.size() && i < kTold; ++i) warn(to_line(variations[i]));
  if (variations.size() > kTold) {
    warn(std::to_string(variations.size() - kTold) +
         " more things vary between executions without faults: see the report");
  }
  if (auto stored = varies_.save(); !stored) return stored.error();
  return true;
}

Result<bool> Explorer::run_reference() {
  // A resumed search has its reference execution. One more shows that the application is still the same.
  const bool resumed = dispatcher_->has_begun();
  const uint32_t count = resumed ? 1 : config_.bounds.reference_executions;
  if (resumed) {
    if (auto loaded = varies_.load_masks(); !loaded) return loaded.error();
  } else if (auto masked = varies_.mask_as_configured(); !masked) {
    return masked.error();
  }
  std::vector<ExecutionResult> runs;
  lane_.hub().report_fields(count > 1);
  auto done = repeat_reference(1, &runs);
  if (done.ok() && done.value()) {
    exploration_.report.reference_seconds = runs[0].seconds;
    run_->set_reference_seconds(runs[0].seconds);
    done = repeat_reference(count, &runs);
    // The first execution pays for what is loaded once. Limits count with it, the report does not.
    exploration_.report.reference_seconds = runs.back().seconds;
    if (done.ok() && done.value() && count > 1) done = settle_nondeterminism(&runs);
  }
  lane_.hub().report_fields(false);
  if (!done || !done.value()) return done;
  if (resumed) {
    auto why = memory_.changed(runs.back().record, files_by_hand());
    if (!why) return why.error();
    // The difference may be one that varies by itself and was not noticed: then a repetition may be
    // equal to the stored reference.
    if (!why.value().empty()) {
      if (done = repeat_reference(2, &runs); !done || !done.value()) return done;
      why = memory_.changed(runs.back().record, files_by_hand());
      if (!why) return why.error();
    }
    if (!why.value().empty()) {
      if (auto begun = begin_anew(why.value()); !begun) return begun.error();
      return run_reference();
    }
  }
  exploration_.report.reference_executions = resumed ? count : static_cast<uint32_t>(runs.size());
  plain_ = {runs.back().pid, runs.back().record};
  for (const ExecutionResult& run : runs) note_appearances(run.record);
  if (auto kept = varies_.keep_appearances(); !kept) return kept.error();
  if (auto closed = drifts_.as_before(runs.back().record.execution); !closed) return closed.error();
  return take_reference(runs[resumed ? 0 : varies_.reference_to_take(runs)]);
}

// With coverage the services are started anew here. The reference execution is then repeated, so that
// the first execution with faults meets services that have served an execution, as it does without
// coverage. False: stopped.
Result<bool> Explorer::begin_faults() {
  auto anew = lane_.services().begin_coverage(coverage::Phase::kUnderFaults);
  if (!anew) return anew.error();
  if (!anew.value()) return true;
  auto run = reference_execution(
      "the reference execution passed; its repetition with services that were started anew (for "
      "--coverage)");
  if (!run) return run.error();
  return run.value().has_value();
}

void Explorer::warn_of_services_without_agent(const ExecutionRecord& record) {
  const auto found = services_without_agent(config_, record, lane_.hub().agents());
  if (const std::string text = beside_others(lane_.hub().others());
      !found.empty() && !text.empty() && evidence_.note(text)) {
    warn(text);
  }
  for (const auto& [service, text] : found) {
    // What executed its program has named it, too (ConnectedAgents::name_outside).
    if (evidence_.names_obstacle("'" + service + "'") ||
        evidence_.has_note_beginning("service '" + service + "' starts "))
      continue;
    evidence_.warn_and_note(text +
                            listener_outside(attach::Proc(), config_, lane_.place(), service));
  }
}

void Explorer::note_calls_without_end(const ExecutionRecord& record) {
  if (calls_without_end_noted_) return;  // the text has the depth, so it differs each time
  const std::string text = calls_without_end(record);
  if (text.empty()) return;
  calls_without_end_noted_ = true;
  evidence_.warn_and_note(text);
}

Result<bool> Explorer::take_reference(const ExecutionResult& result) {
  warn_of_services_without_agent(result.record);
  for (const std::string& text : evidence_.unknown_services(result.record)) warn(text);
  exploration_.report.reference = result.record.rpcs;
  const UnstableRpcs none;
  if (auto learned = dispatcher_->known().learn(
          result.record, varies_.masks(),
          varies_.unstable().has_recurring() ? varies_.unstable() : none);
      !learned)
    return learned.error();
  run_->set_usual_acts(retries::count_acts(result.record, config_.retries.mutations));
  if (auto noted = note_sent_again(result.record); !noted) return noted.error();
  auto seen = dispatcher_->observe(result.record, varies_.unstable(), varies_.masks());
  if (!seen) return seen.error();
  if (auto noted = note_met(seen.value(), result.record); !noted) return noted.error();
  if (std::none_of(seen->rpcs.begin(), seen->rpcs.end(),
                   [](const search::ObservedRpc& rpc) { return !rpc.faults.empty(); })) {
    std::string why;
    size_t shown = 0;
    for (const auto& [rpc, reason] : evidence_.left_out()) {
      why += "\n  - " + rpc + ": " + reason;
      if (++shown == kTold) break;
    }
    for (const std::string& call : evidence_.late_calls())
      why += "\n  - " + call + ": " + std::string(kLateCall);
    const std::vector<RpcRecord>& rpcs = result.record.rpcs;
    const bool only_its_own = std::all_of(rpcs.begin(), rpcs.end(), is_test_call);
    if (why.empty() && test_.of_suite)
      exploration_.report.nothing_to_explore =
          only_its_own ? "only the test itself makes remote calls, and these get no fault"
                       : "the fault rules of the configuration match none of its remote calls";
    else
      warn("no RPC of the reference execution gets a fault:" +
           (!why.empty()   ? why
            : only_its_own ? " only the test's own calls were seen" + evidence_.no_rpc_hint()
                           : std::string(" the fault rules of the configuration match none")));
  }
  const double seconds = exploration_.report.reference_seconds;
  session_.sink({{"type", "reference"},
                 {"test", test_.name},
                 {"seconds", seconds},
                 {"rpcs", result.record.rpcs.size()}});
  hang_limit_ = hang_limit_of(config_.bounds, seconds);
  lane_.hub().set_hang_limit(hang_limit_);
  if (dispatcher_->has_begun()) return true;
  seconds_.push_back(static_cast<float>(seconds));
  if (auto kept = memory_.keep(result.record, files_by_hand()); !kept) return kept.error();
  if (auto done = dispatcher_->conclude(search::kReference, seen->rpcs); !done) return done.error();
  return true;
}

}  // namespace filibuster
