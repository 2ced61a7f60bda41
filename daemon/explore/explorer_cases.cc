// What came of each RPC with each of its faults, and what the time did not suffice for.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/index/stable_identity.h"
#include "daemon/report/redact.h"
#include "daemon/explore/explorer.h"

namespace filibuster {
namespace {

using search::AbstractState;
using Newest = std::pair<Hash128, search::OutcomeId>;

// The executions whose newest fault is the one of a case.
struct Tally {
  InjectedFault fault;
  FaultCase row;
  std::optional<search::AbstractId> alone, passed, failed, redundant, abandoned, open;
  AbstractState alone_state = AbstractState::kOpen;
  uint64_t left = 0;
  bool alone_left = false;
};

void note_first(std::optional<search::AbstractId>* place, search::AbstractId id) {
  if (!*place) *place = id;
}

}  // namespace

// FILIBUSTER_TIME_UP_AFTER is for tests: the time is over after so many executions, whatever a
// clock says.
bool Explorer::is_time_over() const {
  if (!session_.deadline) return false;
  if (const char* after = getenv("FILIBUSTER_TIME_UP_AFTER"))
    return search_->counts().executed >= std::strtoull(after, nullptr, 10);
  return std::chrono::steady_clock::now() >= *session_.deadline;
}

size_t Explorer::rank_of(std::span<const search::PlannedFault> faults) {
  constexpr size_t kMostFaults = 64;  // beyond them, faults do not change the rank any more
  bool suspect[kMostFaults] = {};
  const size_t number = std::min(faults.size(), kMostFaults);
  for (size_t i = 0; i < number; ++i) {
    const auto [known, added] = suspect_.emplace(Newest{faults[i].index, faults[i].fault}, false);
    const InjectedFault* rpc = added ? known_->find(faults[i].index) : nullptr;
    const FaultSpec* spec = rpc != nullptr ? outcomes_->fault(faults[i].fault) : nullptr;
    if (spec != nullptr) {
      InjectedFault fault = *rpc;
      fault.set_fault(*spec);
      known->second = suspects_.are_met_by(fault);
    }
    suspect[i] = known->second;
  }
  return Suspects::rank({suspect, number});
}

void Explorer::note_cases() {
  TestReport& report = exploration_.report;
  std::unordered_map<search::AbstractId, double> seconds;
  if (auto rows = store_->results(); rows.ok()) {
    for (const auto& [number, text] : rows.value()) {
      const auto row = nlohmann::json::parse(text, nullptr, false);
      if (row.is_object()) seconds[row.value("id", 0u)] = row.value("seconds", 0.0);
    }
  }
  std::unordered_map<search::AbstractId, std::string> reasons;
  if (auto rows = store_->reasons(AbstractState::kAbandoned); rows.ok())
    reasons.insert(rows.value().begin(), rows.value().end());

  // RPCs that are the same but for what an index has besides (their arguments) share a case.
  std::vector<Tally> tallies;
  std::map<Newest, std::optional<size_t>> by_newest;
  std::map<std::string, size_t> by_id;
  const auto tally_of = [&](const search::PlannedFault& newest) -> Tally* {
    const auto [known, added] = by_newest.emplace(Newest{newest.index, newest.fault}, std::nullopt);
    if (added) {
      const InjectedFault* rpc = known_->find(newest.index);
      const FaultSpec* spec = outcomes_->fault(newest.fault);
      if (rpc == nullptr || spec == nullptr) return nullptr;
      Tally tally;
      tally.fault = *rpc;
      tally.fault.set_fault(*spec);
      tally.row.id = finding_id(report.test, {tally.fault});
      const auto [place, fresh] = by_id.emplace(tally.row.id, tallies.size());
      if (fresh) tallies.push_back(std::move(tally));
      known->second = place->second;
    }
    return known->second ? &tallies[*known->second] : nullptr;
  };
  search_->each_scheduled([&](const search::Search::Scheduled& one) {
    Tally* tally = tally_of(one.newest);
    if (tally == nullptr) return;
    if (one.alone && !tally->alone) {
      tally->alone = one.id;
      tally->alone_state = one.state;
    }
    if (const auto took = seconds.find(one.id); took != seconds.end())
      tally->row.seconds += took->second;
    switch (one.state) {
      case AbstractState::kExecuted:
        ++tally->row.executions;
        note_first(failures_.contains(one.id) ? &tally->failed : &tally->passed, one.id);
        break;
      case AbstractState::kAbandoned:
        ++tally->row.executions;
        note_first(&tally->abandoned, one.id);
        break;
      case AbstractState::kRedundant:
        note_first(&tally->redundant, one.id);
        break;
      case AbstractState::kOpen:
        note_first(&tally->open, one.id);
        ++tally->left;
        tally->alone_left = tally->alone_left || one.alone;
        break;
    }
  });

  std::map<std::string, std::vector<std::string>> findings;  // case -> findings that have its fault
  for (const Finding& finding : report.findings) {
    for (const InjectedFault& fault : finding.minimal)
      findings[finding_id(report.test, {fault})].push_back(finding.id);
  }
  const std::string left_because = report.time_over ? "the time (--max-time) was over before"
                                   : exploration_.stopped
                                       ? std::string(kInterruptedBefore)
                                       : "a bound or an error ended the exploration before";
  const auto judge = [&](Tally* tally) {
    FaultCase& row = tally->row;
    const auto skip = [&](const std::string& reason) {
      row.state = CaseState::kSkipped;
      row.reason = reason;
    };
    // A fault that comes alone is judged by that execution, any other by what it adds to others.
    const bool comes_alone = tally->alone.has_value();
    const auto counts = [&](const std::optional<search::AbstractId>& id, AbstractState state) {
      return comes_alone ? tally->alone_state == state : id.has_value();
    };
    if (const auto own = findings.find(row.id);
        own != findings.end() &&
        std::find(own->second.begin(), own->second.end(), row.id) != own->second.end()) {
      row.findings = own->second;
      row.state = CaseState::kFailed;
      return;
    }
    const bool executed = counts(tally->passed, AbstractState::kExecuted);
    if (executed && (!comes_alone || !failures_.contains(*tally->alone))) {
      row.state = CaseState::kPassed;
    } else if (comes_alone ? executed : tally->failed.has_value()) {
      row.findings = findings[row.id];
      row.state = CaseState::kFailed;
      if (row.findings.empty())
        skip("it comes only under other faults, under which the test fails without it");
    } else if (counts(tally->redundant, AbstractState::kRedundant)) {
      // It ends as the executions do that have shown all of it.
      const search::AbstractId id = comes_alone ? *tally->alone : *tally->redundant;
      const auto because = search_->redundant_because(id);
      row.redundant = true;
      row.state = CaseState::kPassed;
      if (std::any_of(because.begin(), because.end(),
                      [&](search::AbstractId one) { return failures_.contains(one); })) {
        skip("redundant: what it shows was seen in executions that fail");
      }
    } else if (counts(tally->abandoned, AbstractState::kAbandoned)) {
      row.state = CaseState::kInconclusive;
      row.reason = redact(reasons[comes_alone ? *tally->alone : *tally->abandoned]);
    } else {
      skip(left_because);
    }
  };
  for (Tally& tally : tallies) {
    const std::string rpc = redact(describe_rpc(as_record(tally.fault), masks_));
    tally.row.name =
        rpc +
        (tally.fault.call_site.empty() ? "" : " at " + frame_without_line(tally.fault.call_site)) +
        ": " + tally.fault.fault;
    tally.row.call_site = tally.fault.call_site;
    judge(&tally);
    if (tally.left > 0)
      report.left.push_back({rpc, tally.fault.fault, tally.alone_left, tally.left});
    report.cases.push_back(std::move(tally.row));
  }
}

}  // namespace filibuster
