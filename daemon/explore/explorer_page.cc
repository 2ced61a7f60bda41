// What the exploration adds to report.html: every execution with one outcome for each RPC, which fault
// was tried where, and the trees of the findings.
#include <algorithm>

#include "daemon/explore/explorer.h"
#include "daemon/page/data.h"

namespace filibuster {
namespace {

using Clock = std::chrono::steady_clock;

// The live page may cost the exploration one part in so many of its time.
constexpr int kLivePart = 20;
constexpr std::chrono::milliseconds kLivePause{500};
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

// Keeps the tree of a failing execution, if it begins a finding of its own.
Result<void> Explorer::keep_tree(const Execution& execution, const ExecutionRecord& record) {
  if (trees_.size() >= kMaxPageTrees || findings_.belongs_to_earlier(execution.faults)) return {};
  trees_.insert(execution.number);
  return store_->put_tree(execution.number, page_tree(record.rpcs));
}

Result<std::shared_ptr<const PageTest>> Explorer::page(const std::vector<Finding>& findings,
                                                       WithExecutions with) {
  auto page = std::make_shared<PageTest>();
  Places places(page.get(), &dispatcher_->known(), store_.get());
  for (const RpcRecord& rpc : exploration_.report.reference) places.call(rpc.index);

  std::vector<search::AbstractRow> rows;
  if (auto read =
          store_->each_abstract([&](const search::AbstractRow& row) { rows.push_back(row); });
      !read) {
    return read.error();
  }
  std::map<PagePair, size_t> cells;
  for (const search::AbstractRow& row : rows) {
    if (row.id == search::kReference) continue;
    const search::AbstractExecution execution = dispatcher_->search().describe(row.id);
    if (execution.faults.empty()) continue;
    const PagePair newest{places.call(execution.faults.back().index),
                          places.outcome(execution.faults.back().fault)};
    const auto [place, added] = cells.emplace(newest, page->cells.size());
    if (added) page->cells.emplace_back();
    PageCell& cell = page->cells[place->second];
    cell.fault = newest;
    const auto result = results_.find(row.id);
    switch (row.state) {
      case search::AbstractState::kOpen:
      case search::AbstractState::kLeftOut:
        ++cell.open;
        continue;
      case search::AbstractState::kRedundant:
        if (++cell.redundant == 1) {
          for (const search::AbstractId like : dispatcher_->search().redundant_because(row.id)) {
            const auto shown = results_.find(like);
            // The reference execution has no row of its own among the results; its number is 1.
            const uint32_t number = shown == results_.end() ? 1 : shown->second.number;
            if (cell.like.size() < kMaxLike) cell.like.push_back(number);
          }
        }
        continue;
      case search::AbstractState::kAbandoned:
        ++cell.inconclusive;
        break;
      case search::AbstractState::kExecuted:
        if (result != results_.end())
          ++(is_failure(result->second.verdict) ? cell.failed : cell.passed);
        break;
    }
    if (result == results_.end()) continue;
    if (cell.example == 0 || execution.faults.size() < cell.least_faults) {
      cell.least_faults = execution.faults.size();
      cell.example = result->second.number;
      cell.verdict = result->second.verdict;
    }
  }
  for (const Finding& finding : findings) {
    if (!trees_.contains(finding.minimal_execution.number)) continue;
    auto tree = store_->tree(finding.minimal_execution.number);
    if (!tree) return tree.error();
    if (tree.value())
      page->trees.emplace(finding.minimal_execution.number, std::move(*tree.value()));
  }
  if (with == WithExecutions::kNo) return std::shared_ptr<const PageTest>(page);

  for (const search::AbstractRow& row : rows) {
    const bool executed = row.state == search::AbstractState::kExecuted ||
                          row.state == search::AbstractState::kAbandoned;
    const auto result = results_.find(row.id);
    if (!executed || result == results_.end()) continue;
    if (page->executions.size() >= kMaxPageExecutions) {
      ++page->executions_left_out;
      continue;
    }
    PageExecution out{.number = result->second.number,
                      .verdict = result->second.verdict,
                      .seconds = result->second.seconds,
                      .faults = places.faults(dispatcher_->search().describe(row.id)),
                      .rpcs = {}};
    if (row.state == search::AbstractState::kExecuted) {
      for (const search::ObservedRpc& rpc : dispatcher_->search().observed(row.id))
        out.rpcs.emplace_back(places.call(rpc.index), places.outcome(rpc.outcome));
    }
    page->executions.push_back(std::move(out));
  }
  std::sort(page->executions.begin(), page->executions.end(),
            [](const PageExecution& a, const PageExecution& b) { return a.number < b.number; });
  return std::shared_ptr<const PageTest>(page);
}

// Gives a live page, if somebody looks at one, what is known so far.
Result<void> Explorer::offer_page() {
  if (!session_.page_is_wanted || Clock::now() < next_offer_ || !session_.page_is_wanted())
    return {};
  const auto began = Clock::now();
  TestReport report;
  report.test = test_.name;
  report.counts = dispatcher_->search().counts();
  report.fault_configuration = describe_faults(config_);
  report.reference = exploration_.report.reference;
  report.reference_seconds = exploration_.report.reference_seconds;
  report.findings = findings_.so_far();
  auto made = page(report.findings, WithExecutions::kNo);
  if (!made) return made.error();
  report.page = std::move(made).value();
  session_.offer_page(std::move(report));
  next_offer_ =
      Clock::now() + std::max<Clock::duration>(kLivePause, (Clock::now() - began) * kLivePart);
  return {};
}

}  // namespace filibuster
