// The findings of an exploration: loading earlier ones from the store, their replay, their
// counterexample files, and the report at the end.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/fault/attempts.h"
#include "daemon/base/fail_point.h"
#include "daemon/explore/explorer.h"
#include "daemon/lane/not_forked.h"
#include "daemon/model/counterexample.h"
#include "daemon/report/counterexample_json.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/observed.h"
#include "daemon/report/refusals.h"
#include "daemon/report/tested.h"
#include "daemon/report/text.h"
#include "daemon/report/unexplained.h"
#include "daemon/report/variation.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;

std::string fault_identity(const InjectedFault& fault) {
  return to_hex(fault.index) + ":" + fault.identity();
}

std::set<std::string> fault_identities(const std::vector<InjectedFault>& faults) {
  std::set<std::string> out;
  for (const InjectedFault& fault : faults) out.insert(fault_identity(fault));
  return out;
}

std::string set_key(const std::vector<InjectedFault>& faults) {
  std::string all;
  for (const std::string& identity : fault_identities(faults)) all += identity + "\n";
  return to_hex(hash_text(all));
}

// The number of a counterexample file; nullopt: the file is something else.
std::optional<uint32_t> number_of(const fs::path& file) {
  const std::string stem = file.stem().string();
  if (stem.empty() || stem.size() > 9 || stem.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return static_cast<uint32_t>(std::stoul(stem));
}

// The highest number of a counterexample file, of any test; 0: there is none.
uint32_t last_number(const std::string& folder) {
  uint32_t last = 0;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    last = std::max(last, number_of(entry.path()).value_or(0));
  return last;
}

// An encrypted connection whose requests are all known, as those of Go are: they are tested like others.
bool is_known_by_requests(const NotInterposedRecord& row, const std::vector<RpcRecord>& reference) {
  if (row.reason != reason_name(NotInterposedReason::kSealed)) return false;
  bool some = false, all = true;
  for (const RpcRecord& rpc : reference) {
    if (!rpc.is_sealed() || rpc.caller != row.service || rpc.service != row.target_service)
      continue;
    some = true;
    all = all && !rpc.target.empty();  // a connection has a call of its own, and no target
  }
  return some && all;
}

}  // namespace

// Finds the file that has the same test and the same faults, so that a failure keeps its number from
// run to run, whatever else is found: that file is written anew.
const std::map<uint32_t, std::string>& Explorer::counterexamples() {
  if (counterexamples_) return *counterexamples_;
  std::map<uint32_t, std::string>& keys = counterexamples_.emplace();
  std::error_code failed;
  for (const auto& entry :
       fs::directory_iterator(lane_.place().root + "/counterexamples", failed)) {
    const auto number = number_of(entry.path());
    const auto text = read_file(entry.path().string());
    if (!number || !text) continue;
    const auto known = parse_counterexample(text.value());
    const bool same = known.ok() && known.value().test == test_.name;
    keys[*number] = same ? set_key(known.value().faults) : "";
  }
  return keys;
}

Result<void> Explorer::load_results() {
  auto observed = store_->saved(Saved::kObserved);
  if (!observed) return observed.error();
  if (observed.value()) observed_.add_json(*observed.value());
  if (auto loaded = load_tested(); !loaded) return loaded;
  if (auto loaded = load_appearances(); !loaded) return loaded;
  if (auto loaded = load_sent_again(); !loaded) return loaded;
  if (auto loaded = load_drifts(); !loaded) return loaded;
  auto refusals = store_->saved(Saved::kRefusals);
  if (!refusals) return refusals.error();
  if (refusals.value()) refusals_.add_json(*refusals.value());
  auto rows = store_->results();
  if (!rows) return rows.error();
  for (const auto& [number, text] : rows.value()) {
    std::atomic<uint32_t>& next = session_.counters.next_execution;
    for (uint32_t seen = next; seen <= number && !next.compare_exchange_weak(seen, number + 1);) {
    }
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) continue;
    seconds_.push_back(json.value("seconds", 0.0f));
    results_[json.value("id", 0u)] = {number, static_cast<Verdict>(json.value("verdict", 0)),
                                      json.value("seconds", 0.0f)};
    if (json.contains("skipped")) {
      std::optional<NoConclusion> cause;
      if (is_inconclusive(static_cast<Verdict>(json.value("verdict", 0))))
        cause = cause_by_key(json.value("cause", ""));
      exploration_.report.skipped.push_back(
          {json.value("skipped", ""), json.value("reason", ""), cause});
    }
    if (!json.contains("failure")) continue;
    const auto failure = parse_counterexample(json.value("failure", ""));
    if (!failure) return failure.error();
    Execution execution;
    execution.test = test_.name;
    execution.id = json.value("id", 0u);
    execution.number = number;
    execution.faults = failure.value().faults;
    execution.verdict = static_cast<Verdict>(json.value("verdict", 0));
    execution.detail = failure.value().detail;
    execution.output = failure.value().output;
    execution.seen = failure.value().seen;
    execution.seconds = json.value("seconds", 0.0);
    failing_sets_.push_back(fault_identities(execution.faults));
    const std::string key = set_key(execution.faults);
    const auto finding = store_->finding(key);
    if (finding && finding.value()) {
      const auto known = nlohmann::json::parse(*finding.value(), nullptr, false);
      std::optional<bool> reproduced;
      if (const auto said = known.find("reproduced"); said != known.end() && said->is_boolean())
        reproduced = said->get<bool>();
      findings_[key] = {known.value("number", 0u), reproduced, known.value("counterexample", "")};
      trees_.insert(number);
    }
    failures_[execution.id] = std::move(execution);
  }
  return {};
}

Result<bool> Explorer::replays(const std::vector<PlannedRpcFault>& plan) {
  auto again = attempt(plan);
  if (!again) return again.error();
  return is_failure(again->judgement.verdict);
}

bool Explorer::belongs_to_earlier(const std::vector<InjectedFault>& faults) const {
  const std::set<std::string> set = fault_identities(faults);
  return std::any_of(failing_sets_.begin(), failing_sets_.end(),
                     [&](const std::set<std::string>& earlier) {
                       return std::includes(set.begin(), set.end(), earlier.begin(), earlier.end());
                     });
}

Result<void> Explorer::found(const Execution& execution, const std::vector<PlannedRpcFault>& plan,
                             bool seen_twice) {
  const bool known_cause = belongs_to_earlier(execution.faults);
  failing_sets_.push_back(fault_identities(execution.faults));
  const std::string key = set_key(execution.faults);
  if (known_cause || findings_.contains(key)) return {};
  Known known;
  if (seen_twice) {
    known.reproduced = true;
  } else if (ended_by_hand_.empty()) {  // otherwise a service is gone, and nothing can be replayed
    auto reproduced = replays(plan);
    if (!reproduced) return reproduced.error();
    known.reproduced = reproduced.value();
  }
  fail_point("finding");
  known.counterexample = write_counterexample(execution, &known.number);
  findings_[key] = known;
  const nlohmann::json row{{"number", known.number},
                           {"reproduced", known.reproduced ? nlohmann::json(*known.reproduced)
                                                           : nlohmann::json(nullptr)},
                           {"counterexample", known.counterexample}};
  if (auto set_row = store_->put_finding(key, dump_json(row)); !set_row) return set_row;
  Finding finding;
  finding.minimal_execution = execution;
  finding.minimal = execution.faults;
  finding.reproduced = known.reproduced;
  finding.counterexample = known.counterexample;
  finding.number = known.number;
  finding.id = finding_id(execution.test, execution.faults);
  const bool accepted = is_accepted(execution);
  session_.sink({{"type", "finding"},
                 {"test", execution.test},
                 {"number", known.number},
                 {"id", finding.id},
                 {"accepted", accepted},
                 {"headline", (accepted ? "accepted: " : "") + to_line(finding)},
                 {"text", to_text(finding)},
                 {"counterexample", known.counterexample}});
  return {};
}

bool Explorer::is_accepted(const Execution& failure) const {
  const std::string id = finding_id(failure.test, failure.faults);
  return std::any_of(
      session_.baseline.accepted.begin(), session_.baseline.accepted.end(),
      [&](const Acceptance& row) { return row.finding == id && session_.day <= row.until; });
}

// True if there is a failing execution that does not belong to an accepted finding.
bool Explorer::has_new_failure() {
  if (session_.baseline.accepted.empty()) return !failures_.empty();
  std::vector<std::set<std::string>> accepted;
  for (const auto& [id, failure] : failures_) {
    if (is_accepted(failure)) accepted.push_back(fault_identities(failure.faults));
  }
  return std::any_of(failures_.begin(), failures_.end(), [&](const auto& entry) {
    const std::set<std::string> set = fault_identities(entry.second.faults);
    return std::none_of(
        accepted.begin(), accepted.end(), [&](const std::set<std::string>& smaller) {
          return std::includes(set.begin(), set.end(), smaller.begin(), smaller.end());
        });
  });
}

// Called when the search begins anew: the failing execution runs again, with other indexes.
void Explorer::forget_finding(const std::vector<InjectedFault>& faults) {
  const auto known = findings_.find(set_key(faults));
  if (known == findings_.end()) return;
  std::error_code failed;
  if (!known->second.counterexample.empty()) fs::remove(known->second.counterexample, failed);
  if (counterexamples_) counterexamples_->erase(known->second.number);
  findings_.erase(known);
}

std::string Explorer::write_counterexample(const Execution& execution, uint32_t* number) {
  const std::string folder = lane_.place().root + "/counterexamples";
  if (auto made = make_private_folder(folder); !made) {
    warn(made.error().message);
    return "";
  }
  // Another test may write its own at the same time.
  const std::lock_guard lock(session_.counters.counterexamples);
  const std::map<uint32_t, std::string>& numbers = counterexamples();
  const std::string key = set_key(execution.faults);
  const auto same = std::find_if(numbers.begin(), numbers.end(),
                                 [&](const auto& entry) { return entry.second == key; });
  *number = same != numbers.end() ? same->first : last_number(folder) + 1;
  Counterexample out;
  out.test = execution.test;
  out.config_path = config_.path;
  out.config_text = session_.config_text;
  out.directory = config_.directory;
  out.index_parts = config_.index_parts;
  out.nondeterminism = to_config_text(masks_);
  out.descriptors = session_.descriptors->learnt();
  out.ports = lane_.place().automatic_ports;
  out.hang_limit_ms = static_cast<uint32_t>(hang_limit_.count());
  out.faults = execution.faults;
  out.verdict = std::string(verdict_name(execution.verdict));
  out.detail = execution.detail;
  out.output = execution.output;
  out.seen = execution.seen;
  std::string path = folder + "/" + std::to_string(*number) + ".json";
  if (auto written = write_file(path, to_json(out)); !written) {
    warn(written.error().message);
    return "";
  }
  counterexamples_->insert_or_assign(*number, key);
  return path;
}

// Names the counterexamples of earlier runs that this run did not find. They are not removed: the
// failure may be mended, or the options of this run may not reach it.
void Explorer::note_earlier_counterexamples() {
  std::string earlier;
  for (const auto& [number, key] : counterexamples()) {
    if (!key.empty() && !findings_.contains(key)) {
      earlier += (earlier.empty() ? "" : ", ") + std::to_string(number) + ".json";
    }
  }
  if (earlier.empty()) return;
  notes_.insert("counterexamples of earlier runs of this test, which this run did not find: " +
                earlier + " in " + lane_.place().root +
                "/counterexamples; `filibuster replay` says whether they still fail");
}

// Fills report.pruned_unlike: executions that are redundant only because an answer was taken as another
// one (Search::unlike). One row for each newest fault, which counts its executions and shows the
// smallest set of faults.
void Explorer::note_pruned_unlike() {
  std::map<std::pair<Hash128, search::OutcomeId>, size_t> rows;
  std::vector<PrunedUnlike>& out = exploration_.report.pruned_unlike;
  for (const search::Unlike& unlike : dispatcher_->search().unlike()) {
    const search::AbstractExecution pruned = dispatcher_->search().describe(unlike.id);
    if (pruned.faults.empty()) continue;
    const search::PlannedFault& newest = pruned.faults.back();
    const auto [row, added] = rows.emplace(std::pair(newest.index, newest.fault), out.size());
    if (!added) ++out[row->second].executions;
    if (!added && out[row->second].faults.size() <= pruned.faults.size()) continue;
    const auto faults = dispatcher_->describe(pruned);
    const auto like = dispatcher_->describe(dispatcher_->search().describe(unlike.like));
    const InjectedFault* rpc = dispatcher_->known().find(unlike.rpc);
    PrunedUnlike told;
    if (faults) told.faults = faults.value();
    if (like) told.like = like.value();
    if (rpc != nullptr) told.rpc = call_text(*rpc, " ");
    if (!added) told.executions = out[row->second].executions;
    if (added) {
      out.push_back(std::move(told));
    } else {
      out[row->second] = std::move(told);
    }
  }
}

std::vector<Finding> Explorer::findings_so_far() const {
  std::vector<Execution> failures;
  for (const auto& [id, execution] : failures_) failures.push_back(execution);
  std::sort(failures.begin(), failures.end(),
            [](const Execution& a, const Execution& b) { return a.number < b.number; });
  std::vector<Finding> findings = group_failures(failures);
  for (Finding& finding : findings) {
    const auto known = findings_.find(set_key(finding.minimal));
    if (known == findings_.end()) continue;
    finding.reproduced = known->second.reproduced;
    finding.counterexample = known->second.counterexample;
    finding.number = known->second.number;
  }
  return findings;
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
  report.findings = findings_so_far();
  note_doubts();
  // A resumed session has not seen the RPCs of its earlier part, so it does not know which rules matched.
  if (dispatcher_ && !exploration_.error && !exploration_.stopped && !resumed_) {
    for (const std::string& line : rule_use_.unmatched()) notes_.insert(line);
  }
  if (dispatcher_ && !exploration_.error) note_earlier_counterexamples();
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
  if (dispatcher_) report.rpcs = tested_rpcs();
  tell_appearances();
  for (const auto& [what, reason] : not_applicable_) report.skipped.push_back({what, reason});
  for (const auto& [rpc, reason] : left_out_) report.without_cause.push_back(rpc + ": " + reason);
  for (const std::string& call : late_calls_) {
    const bool in_time =
        std::any_of(report.reference.begin(), report.reference.end(),
                    [&](const RpcRecord& rpc) { return describe_rpc(rpc) == call; });
    if (in_time) {
      notes_.insert("late: " + call +
                    ": in some executions it was made after their end, and got no fault there");
    } else if (!left_out_.contains(call)) {
      report.without_cause.push_back(call + ": " + std::string(kLateCall));
    }
  }
  if (dispatcher_) note_cases();
  report.timeouts = timeouts_.all();
  report.unexplained = group_by_cause(report.skipped);
  report.observed = observed_.all();
  report.refusals = refusals_.all();
  for (const Refusals& client : report.refusals) {
    if (!client.never_refused.empty()) notes_.insert(to_note(client));
  }
  for (const std::string& note : given_up_.notes()) notes_.insert(note);
  if (observed_.full()) {
    notes_.insert("services answered with errors in more than " +
                  std::to_string(ObservedAnswers::kMax) + " ways: 'observed' has the first ones");
  }
  if (ledger_.full()) {
    notes_.insert("more than " + std::to_string(RpcLedger::kMaxRpcs) +
                  " RPCs with names of their own: 'rpcs' has the first ones (masks of "
                  "`nondeterminism` leave out of a path what varies)");
  }
  for (const auto& [key, row] : dependencies_) {
    if (!is_known_by_requests(row, report.reference)) report.dependencies_not_tested.push_back(row);
  }
  report.notes = obstacles_;
  const std::vector<std::string>& ports = lane_.place().port_notes;
  report.notes.insert(report.notes.end(), ports.begin(), ports.end());
  report.notes.insert(report.notes.end(), notes_.begin(), notes_.end());
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
  if (dispatcher_) note_pruned_unlike();
  if (dispatcher_ && dispatcher_->search().health().ok()) {
    if (auto made = page(report.findings, WithExecutions::kYes)) {
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
