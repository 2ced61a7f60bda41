#include "daemon/search/search.h"

#include <algorithm>

#include "daemon/search/state.h"

namespace filibuster::search {

Search::Search(const SearchOptions& options, Journal* journal)
    : state_(std::make_unique<State>(options, journal)) {}
Search::~Search() = default;
Search::Search(Search&&) noexcept = default;

Result<Search> Search::resume(const SearchOptions& options, Journal* journal) {
  Search search(options, journal);
  if (auto loaded = search.state_->load(); !loaded) return loaded.error();
  if (options.tell_apart_by_place && search.state_->abstracts.size() > 0) {
    return Error{"a search that tells RPCs apart by place cannot be resumed: begin anew"};
  }
  return search;
}

Result<void> Search::executed(AbstractId id, std::span<const ObservedRpc> rpcs) {
  State& s = *state_;
  const Measured measured(&s.seconds.scheduling, s.journal);
  if (auto healthy = s.health(); !healthy) return healthy;
  const bool first = id == kReference && s.abstracts.size() == 0;
  if (!first && (id >= s.abstracts.size() || s.abstracts[id].state != AbstractState::kOpen)) {
    return Error{"execution " + std::to_string(id) + " was not handed out, or was reported before"};
  }
  if (first) {
    s.abstracts.push_back({});
    if (s.journal != nullptr) s.note(s.journal->add_abstract({}));
  }
  const auto parent = first ? std::make_shared<const RpcList>() : s.list_of(s.abstracts[id].parent);
  if (parent == nullptr) return s.health();
  const size_t prefix = first ? 0 : std::min<size_t>(s.abstracts[id].position + 1, parent->size());
  std::vector<ObservedRpc> ordered;
  if (!s.options.tell_apart_by_place && !s.in_order(rpcs, *parent, prefix)) {
    ordered = s.ordered(rpcs, *parent, prefix);
    rpcs = ordered;
  }
  size_t same = 0;
  const auto list = s.read(rpcs, *parent, &same);
  s.learn(id, *list, same);
  s.keep(id, false, *list);
  s.expand(id, list);
  ++s.counts.executed;
  s.decide(id, AbstractState::kExecuted, {});
  return s.health();
}

Result<void> Search::State::undecided(AbstractId id, AbstractState state, std::string_view reason) {
  if (auto healthy = health(); !healthy) return healthy;
  if (id == kReference || id >= abstracts.size() || abstracts[id].state != AbstractState::kOpen) {
    return Error{"execution " + std::to_string(id) + " was not handed out, or was reported before"};
  }
  ++(state == AbstractState::kLeftOut ? left_out : abandoned);
  decide(id, state, reason.empty() ? "no reason given" : reason);
  return health();
}

Result<void> Search::abandoned(AbstractId id, std::string_view reason) {
  return state_->undecided(id, AbstractState::kAbandoned, reason);
}

Result<void> Search::left_out(AbstractId id, std::string_view reason) {
  return state_->undecided(id, AbstractState::kLeftOut, reason);
}

void Search::failed(AbstractId id) {
  if (id != kReference && id < state_->abstracts.size())
    state_->open.singles().failed(state_->abstracts[id].fault);
}

Result<void> Search::allow(Hash128 index, OutcomeId fault) {
  State& s = *state_;
  if (auto healthy = s.health(); !healthy) return healthy;
  if (s.options.tell_apart_by_place) return {};
  std::vector<OutcomeId>& more = s.more_faults[index];
  if (std::find(more.begin(), more.end(), fault) != more.end()) return {};
  more.push_back(fault);
  s.open.singles().prefer(fault);
  if (const uint32_t* rpc = s.number_of.find(index)) s.schedule_at(*rpc, fault);
  if (s.journal != nullptr) s.note(s.journal->commit_if_older(kBatchMs));
  return s.health();
}

std::optional<AbstractExecution> Search::next(const Reach& reach) {
  State& s = *state_;
  const Measured measured(s.options.reduce ? &s.seconds.reduction : &s.seconds.scheduling,
                          s.journal);
  (void)s.health();
  while (!s.failed && s.open.has(reach)) {
    if (s.options.max_executions != 0 && s.counts.executed >= s.options.max_executions) break;
    const AbstractId id = s.open.take(s.options.explore_first_scheduled_first, reach);
    if (s.may_be_redundant(id)) {
      const Abstract& abstract = s.abstracts[id];
      const auto list = s.list_of(abstract.parent);
      if (list == nullptr || abstract.position >= list->size()) break;
      if (s.redundant(*list, abstract.position, abstract.fault)) {
        s.prune(id, *list);
        continue;
      }
    }
    if (s.journal != nullptr) s.note(s.journal->commit_if_older(kHandOutMs));
    return describe(id);
  }
  if (s.journal != nullptr && !s.failed) s.note(s.journal->flush());
  return std::nullopt;
}

Result<void> Search::health() const {
  return state_->health();
}

AbstractExecution Search::describe(AbstractId id) const {
  const State& s = *state_;
  AbstractExecution execution{id, kReference, {}};
  if (id >= s.abstracts.size()) return execution;
  execution.parent = s.abstracts[id].parent;
  for (const auto& [rpc, fault] : s.planned(id)) {
    execution.faults.push_back({s.index_of[rpc], fault});
  }
  std::reverse(execution.faults.begin(), execution.faults.end());
  return execution;
}

std::vector<AbstractExecution> Search::ahead(size_t most, const Reach& reach) const {
  constexpr size_t kLookedAt = 8;  // for each that is wanted
  const State& s = *state_;
  std::vector<AbstractExecution> out;
  size_t seen = 0;
  if (s.failed || most == 0) return out;
  if (s.options.max_executions != 0) {
    const uint64_t left =
        s.options.max_executions - std::min(s.options.max_executions, s.counts.executed);
    most = std::min<size_t>(most, left);
  }
  if (most == 0) return out;
  s.open.each(s.options.explore_first_scheduled_first, reach, [&](AbstractId id) {
    if (redundant_because(id).empty()) out.push_back(describe(id));
    return out.size() < most && ++seen < most * kLookedAt;
  });
  return out;
}

std::vector<SiteFaults> Search::sites() const {
  return state_->open.singles().sites();
}

std::vector<ObservedRpc> Search::observed(AbstractId id) const {
  State& s = *state_;
  std::vector<ObservedRpc> out;
  const auto list = s.list_of(id);
  if (list == nullptr) return out;
  out.reserve(list->size());
  for (const Item& item : *list) {
    out.push_back({s.index_of[item.rpc], s.index_of[item.parent], item.outcome,
                   item.injected ? item.outcome : 0, s.fault_lists[item.faults]});
  }
  return out;
}

std::vector<ObservedRpc> Search::prefix(AbstractId id) const {
  State& s = *state_;
  std::vector<ObservedRpc> out;
  if (id == kReference || id >= s.abstracts.size()) return out;
  const auto list = s.list_of(s.abstracts[id].parent);
  if (list == nullptr || s.abstracts[id].position >= list->size()) return out;
  for (uint32_t at = 0; at <= s.abstracts[id].position; ++at) {
    const Item& item = (*list)[at];
    out.push_back({s.index_of[item.rpc],
                   s.index_of[item.parent],
                   item.outcome,
                   item.injected ? item.outcome : 0,
                   {}});
  }
  return out;
}

std::vector<AbstractId> Search::concluded() const {
  std::vector<AbstractId> out;
  for (AbstractId id = 0; id < state_->abstracts.size(); ++id) {
    if (state_->abstracts[id].state == AbstractState::kExecuted) out.push_back(id);
  }
  return out;
}

void Search::each_scheduled(const std::function<void(const Scheduled&)>& row) const {
  const State& s = *state_;
  std::vector<uint32_t> faults(s.abstracts.size());
  for (AbstractId id = 1; id < s.abstracts.size(); ++id) {
    const Abstract& one = s.abstracts[id];
    faults[id] = faults[one.parent] + 1;
    row({id, faults[id], {s.index_of[one.rpc], one.fault}, one.state});
  }
}

const std::vector<Unlike>& Search::unlike() const {
  return state_->unlike;
}

SearchSeconds Search::seconds() const {
  return state_->seconds;
}

SearchCounts Search::counts() const {
  const State& s = *state_;
  SearchCounts counts = s.counts;
  const uint64_t explored = counts.executed == 0 ? 0 : counts.executed - 1;
  counts.abandoned = s.abandoned;
  counts.left_out = s.left_out;
  counts.open = counts.scheduled - explored - counts.redundant - s.abandoned - s.left_out;
  if (s.options.max_executions != 0 && counts.executed >= s.options.max_executions) {
    counts.beyond_bound += counts.open;
  }
  return counts;
}

std::vector<AbstractId> Search::redundant_because(AbstractId id) const {
  State& s = *state_;
  if (id == kReference || id >= s.abstracts.size()) return {};
  const Abstract& abstract = s.abstracts[id];
  if (abstract.state != AbstractState::kOpen && abstract.state != AbstractState::kRedundant)
    return {};
  if (!s.may_be_redundant(id)) return {};
  const auto list = s.list_of(abstract.parent);
  if (list == nullptr || !s.redundant(*list, abstract.position, abstract.fault)) return {};
  std::vector<AbstractId> because{
      abstract.parent};  // showed every group that the fault leaves alone
  for (const Level& level : s.levels) because.push_back(level.witness);
  std::sort(because.begin(), because.end());
  because.erase(std::unique(because.begin(), because.end()), because.end());
  return because;
}

}  // namespace filibuster::search
