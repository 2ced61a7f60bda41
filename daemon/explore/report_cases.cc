// What came of each RPC with each of its faults, and what the time did not suffice for.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/index/stable_identity.h"
#include "daemon/explore/report_builder.h"
#include "daemon/observe/observation.h"
#include "daemon/redact/redact.h"
#include "daemon/report/tested.h"

namespace filibuster {
namespace {

using search::AbstractState;
using Newest = std::pair<Hash128, search::OutcomeId>;

// The executions whose newest fault is the one of a case.
struct Tally {
  InjectedFault fault;
  FaultCase row;
  std::optional<search::AbstractId> alone, passed, failed, redundant, abandoned, left_out, open;
  AbstractState alone_state = AbstractState::kOpen;
  uint64_t left = 0;
  bool alone_left = false;
};

// What is left, by place.
void add_left(const InjectedFault& newest, size_t faults, LeftPlace* place) {
  if (faults > 1) {
    ++(faults == 2 ? place->pairs : place->more);
    return;
  }
  auto known = std::find_if(place->singles.begin(), place->singles.end(),
                            [&](const auto& one) { return one.fault == newest.fault; });
  if (known == place->singles.end())
    known = place->singles.insert(known, LeftPlace::Single{newest.fault, 0});
  ++known->executions;
}

// By the number of the place.
void put_left(const FaultPlaces& places, std::map<size_t, LeftPlace> left, TestReport* report) {
  report->places = places.counts();
  for (auto& [number, row] : left) {
    const FaultPlaces::Place& place = places.all()[number];
    row.caller = place.caller;
    row.service = place.service;
    row.call_site = place.call_site;
    row.tried = place.tried;
    report->left_places.push_back(std::move(row));
  }
  std::stable_sort(report->left_places.begin(), report->left_places.end(),
                   [](const LeftPlace& a, const LeftPlace& b) { return !a.tried && b.tried; });
}

void note_first(std::optional<search::AbstractId>* place, search::AbstractId id) {
  if (!*place) *place = id;
}

}  // namespace

void ReportBuilder::add_cases(const std::string& left_because, TestReport* out) const {
  TestReport& report = *out;
  std::unordered_map<search::AbstractId, std::string> reasons;
  if (auto rows = from_.store.reasons(AbstractState::kAbandoned); rows.ok())
    reasons.insert(rows.value().begin(), rows.value().end());

  // RPCs that are the same but for what an index has besides (their arguments) share a case.
  std::vector<Tally> tallies;
  std::map<Newest, std::optional<size_t>> by_newest;
  std::map<std::string, size_t> by_id;
  const auto tally_of = [&](const search::PlannedFault& newest) -> Tally* {
    const auto [known, added] = by_newest.emplace(Newest{newest.index, newest.fault}, std::nullopt);
    if (added) {
      auto fault = from_.dispatcher.describe(newest);
      if (!fault) return nullptr;
      Tally tally;
      tally.fault = std::move(*fault);
      tally.row.id = finding_id(report.test, {tally.fault});
      const auto [place, fresh] = by_id.emplace(tally.row.id, tallies.size());
      if (fresh) tallies.push_back(std::move(tally));
      known->second = place->second;
    }
    return known->second ? &tallies[*known->second] : nullptr;
  };
  FaultPlaces places = from_.dispatcher.places();
  std::map<size_t, LeftPlace> left_places;
  from_.dispatcher.search().each_scheduled([&](const search::Search::Scheduled& one) {
    Tally* tally = tally_of(one.newest);
    if (tally == nullptr) return;
    if (one.state == AbstractState::kOpen)
      add_left(tally->fault, one.faults, &left_places[places.add(tally->fault)]);
    if (one.faults == 1 && !tally->alone) {
      tally->alone = one.id;
      tally->alone_state = one.state;
    }
    if (const EndedExecution* ended = from_.ended.find(one.id))
      tally->row.seconds += ended->seconds;
    switch (one.state) {
      case AbstractState::kExecuted:
        ++tally->row.executions;
        note_first(from_.findings.failure(one.id) != nullptr ? &tally->failed : &tally->passed,
                   one.id);
        break;
      case AbstractState::kAbandoned:
        ++tally->row.executions;
        note_first(&tally->abandoned, one.id);
        break;
      case AbstractState::kLeftOut:
        note_first(&tally->left_out, one.id);
        break;
      case AbstractState::kRedundant:
        note_first(&tally->redundant, one.id);
        break;
      case AbstractState::kOpen:
        note_first(&tally->open, one.id);
        ++tally->left;
        tally->alone_left = tally->alone_left || one.faults == 1;
        break;
    }
  });

  for (const EarlyAttempts::Ahead& early : from_.dispatcher.early()) {
    Tally* tally = tally_of(early.faults.back());
    if (tally == nullptr) continue;
    ++tally->row.executions;
    if (const EndedExecution* ended = from_.ended.find(early.id))
      tally->row.seconds += ended->seconds;
    note_first(from_.findings.failure(early.id) != nullptr ? &tally->failed : &tally->passed,
               early.id);
  }
  put_left(places, std::move(left_places), out);

  std::map<std::string, std::vector<std::string>> findings;  // case -> findings that have its fault
  for (const Finding& finding : report.findings) {
    for (const InjectedFault& fault : finding.minimal)
      findings[finding_id(report.test, {fault})].push_back(finding.id);
  }
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
    if (executed && (!comes_alone || from_.findings.failure(*tally->alone) == nullptr)) {
      row.state = CaseState::kPassed;
    } else if (comes_alone ? executed : tally->failed.has_value()) {
      row.findings = findings[row.id];
      row.state = CaseState::kFailed;
      if (row.findings.empty())
        skip("it comes only under other faults, under which the test fails without it");
    } else if (counts(tally->redundant, AbstractState::kRedundant)) {
      // It ends as the executions do that have shown all of it.
      const search::AbstractId id = comes_alone ? *tally->alone : *tally->redundant;
      const auto because = from_.dispatcher.search().redundant_because(id);
      row.redundant = true;
      row.state = CaseState::kPassed;
      if (std::any_of(because.begin(), because.end(), [&](search::AbstractId one) {
            return from_.findings.failure(one) != nullptr;
          })) {
        skip("redundant: what it shows was seen in executions that fail");
      }
    } else if (counts(tally->abandoned, AbstractState::kAbandoned)) {
      row.state = CaseState::kInconclusive;
      row.reason = redact(reasons[comes_alone ? *tally->alone : *tally->abandoned]);
    } else if (counts(tally->left_out, AbstractState::kLeftOut)) {
      const std::string seen =
          from_.varies.appearance_text(describe_rpc(as_record(tally->fault), from_.varies.masks()));
      skip(redact("it did not come when it was to have this fault" +
                  (seen.empty() ? "" : " (" + seen + ")")));
    } else {
      skip(left_because);
    }
  };
  for (Tally& tally : tallies) {
    const std::string rpc =
        redact(describe_rpc(as_record(tally.fault), from_.varies.masks()) + tally.fault.query);
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
