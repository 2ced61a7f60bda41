#include "daemon/explore/report_builder.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "daemon/explore/minimal_sets.h"
#include "daemon/observe/observation.h"
#include "daemon/report/finding_text.h"

namespace filibuster {
namespace {

constexpr size_t kMaxLike = 3;  // executions that a redundant one is shown to be like

ShownOutcome shown(std::string_view text) {
  return {std::string(text), outcome_in_words(text), !is_good_outcome(text)};
}

// Gives calls and outcomes the places that they have in a PageTest.
class Places {
 public:
  Places(PageTest* page, KnownRpcs* known, search::SearchStore* store)
      : page_(*page), known_(*known), store_(*store) {}

  uint32_t call(Hash128 index) {
    const auto [place, added] = calls_.emplace(index, static_cast<uint32_t>(page_.calls.size()));
    if (!added) return place->second;
    const InjectedFault* rpc = known_.find(index);
    page_.calls.push_back(rpc == nullptr ? InjectedFault{} : *rpc);
    // An RPC whose index varies by itself stands in the search under one that does not.
    page_.calls.back().index = index;
    return place->second;
  }
  uint32_t outcome(search::OutcomeId id) {
    const auto [place, added] = outcomes_.emplace(id, static_cast<uint32_t>(page_.outcomes.size()));
    if (added) page_.outcomes.push_back(shown(store_.outcome_text(id)));
    return place->second;
  }
  std::vector<PagePair> faults(const search::AbstractExecution& execution) {
    std::vector<PagePair> out;
    for (const search::PlannedFault& fault : execution.faults)
      out.emplace_back(call(fault.index), outcome(fault.fault));
    return out;
  }

 private:
  PageTest& page_;
  KnownRpcs& known_;
  search::SearchStore& store_;
  std::unordered_map<Hash128, uint32_t, Hash128Hasher> calls_;
  std::unordered_map<search::OutcomeId, uint32_t> outcomes_;
};

}  // namespace

Result<std::shared_ptr<const PageTest>> ReportBuilder::page(const std::vector<RpcRecord>& reference,
                                                            const std::vector<Finding>& findings,
                                                            WithExecutions with) const {
  auto page = std::make_shared<PageTest>();
  Places places(page.get(), &from_.dispatcher.known(), &from_.store);
  for (const RpcRecord& rpc : reference) places.call(rpc.index);

  std::vector<search::AbstractRow> rows;
  if (auto read =
          from_.store.each_abstract([&](const search::AbstractRow& row) { rows.push_back(row); });
      !read) {
    return read.error();
  }
  MinimalSets minimal;
  for (uint32_t place = 0; place < findings.size(); ++place)
    minimal.add(from_.dispatcher.faults_of(findings[place].minimal_execution.id), place);
  std::map<PagePair, size_t> cells;
  const auto cell_of = [&](const std::vector<search::PlannedFault>& faults) -> PageCell& {
    const PagePair newest{places.call(faults.back().index), places.outcome(faults.back().fault)};
    const auto [place, added] = cells.emplace(newest, page->cells.size());
    if (added) {
      page->cells.emplace_back();
      page->cells.back().fault = newest;
      page->cells.back().findings = minimal.with(faults.back());
    }
    return page->cells[place->second];
  };
  for (const search::AbstractRow& row : rows) {
    if (row.id == search::kReference) continue;
    const search::AbstractExecution execution = from_.dispatcher.search().describe(row.id);
    if (execution.faults.empty()) continue;
    PageCell& cell = cell_of(execution.faults);
    const EndedExecution* ended = from_.ended.find(row.id);
    // An execution that fails without the fault, too, says nothing of it: it is the example only where no other is.
    const bool told = cell.passed + cell.failed + cell.inconclusive > 0;
    bool tells = true;
    switch (row.state) {
      case search::AbstractState::kOpen:
      case search::AbstractState::kLeftOut:
        ++cell.open;
        continue;
      case search::AbstractState::kRedundant:
        if (++cell.redundant == 1) {
          for (const search::AbstractId like :
               from_.dispatcher.search().redundant_because(row.id)) {
            const EndedExecution* shown = from_.ended.find(like);
            // The reference execution has no row of its own among the results; its number is 1.
            const uint32_t number = shown == nullptr ? 1 : shown->number;
            if (cell.like.size() < kMaxLike) cell.like.push_back(number);
          }
        }
        continue;
      case search::AbstractState::kAbandoned:
        ++cell.inconclusive;
        break;
      case search::AbstractState::kExecuted:
        if (ended == nullptr) break;
        tells = !is_failure(ended->verdict) || !minimal.fail_without_newest(execution.faults);
        ++(!tells ? cell.anyway : is_failure(ended->verdict) ? cell.failed : cell.passed);
        break;
    }
    if (ended == nullptr) continue;
    const bool smaller = execution.faults.size() < cell.least_faults;
    if (cell.example == 0 || (tells ? smaller || !told : smaller && !told)) {
      cell.least_faults = execution.faults.size();
      cell.example = ended->number;
      cell.verdict = ended->verdict;
    }
  }
  for (const EarlyAttempts::Ahead& early : from_.dispatcher.early()) {
    const EndedExecution* ended = from_.ended.find(early.id);
    if (ended == nullptr) continue;
    PageCell& cell = cell_of(early.faults);
    ++(is_failure(ended->verdict) ? cell.failed : cell.passed);
    if (cell.example != 0) continue;
    cell.least_faults = early.faults.size();
    cell.example = ended->number;
    cell.verdict = ended->verdict;
  }
  for (const Finding& finding : findings) {
    if (!from_.ended.trees.contains(finding.minimal_execution.number)) continue;
    auto tree = from_.store.tree(finding.minimal_execution.number);
    if (!tree) return tree.error();
    if (tree.value())
      page->trees.emplace(finding.minimal_execution.number, std::move(*tree.value()));
  }
  if (with == WithExecutions::kNo) return std::shared_ptr<const PageTest>(page);

  const auto add_execution = [&](const EndedExecution& ended,
                                 const search::AbstractExecution& execution,
                                 const std::vector<search::ObservedRpc>& rpcs) {
    if (page->executions.size() >= kMaxPageExecutions) {
      ++page->executions_left_out;
      return;
    }
    PageExecution out{.number = ended.number,
                      .verdict = ended.verdict,
                      .seconds = ended.seconds,
                      .faults = places.faults(execution),
                      .rpcs = {}};
    for (const search::ObservedRpc& rpc : rpcs)
      out.rpcs.emplace_back(places.call(rpc.index), places.outcome(rpc.outcome));
    page->executions.push_back(std::move(out));
  };
  for (const EarlyAttempts::Ahead& early : from_.dispatcher.early()) {
    if (const EndedExecution* ended = from_.ended.find(early.id))
      add_execution(*ended, {early.id, search::kReference, early.faults}, early.rpcs);
  }
  for (const search::AbstractRow& row : rows) {
    const bool executed = row.state == search::AbstractState::kExecuted ||
                          row.state == search::AbstractState::kAbandoned;
    const EndedExecution* ended = from_.ended.find(row.id);
    if (!executed || ended == nullptr) continue;
    const search::Search& search = from_.dispatcher.search();
    add_execution(*ended, search.describe(row.id),
                  row.state == search::AbstractState::kExecuted
                      ? search.observed(row.id)
                      : std::vector<search::ObservedRpc>());
  }
  std::sort(page->executions.begin(), page->executions.end(),
            [](const PageExecution& a, const PageExecution& b) { return a.number < b.number; });
  return std::shared_ptr<const PageTest>(page);
}

// Fills report.pruned_unlike: executions that are redundant only because an answer was taken as another
// one (Search::unlike). One row for each newest fault, which counts its executions and shows the
// smallest set of faults.
void ReportBuilder::add_pruned_unlike(TestReport* report) const {
  std::map<std::pair<Hash128, search::OutcomeId>, size_t> rows;
  std::vector<PrunedUnlike>& out = report->pruned_unlike;
  for (const search::Unlike& unlike : from_.dispatcher.search().unlike()) {
    const search::AbstractExecution pruned = from_.dispatcher.search().describe(unlike.id);
    if (pruned.faults.empty()) continue;
    const search::PlannedFault& newest = pruned.faults.back();
    const auto [row, added] = rows.emplace(std::pair(newest.index, newest.fault), out.size());
    if (!added) ++out[row->second].executions;
    if (!added && out[row->second].faults.size() <= pruned.faults.size()) continue;
    const auto faults = from_.dispatcher.describe(pruned);
    const auto like = from_.dispatcher.describe(from_.dispatcher.search().describe(unlike.like));
    const InjectedFault* rpc = from_.dispatcher.known().find(unlike.rpc);
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

}  // namespace filibuster
