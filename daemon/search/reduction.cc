#include "daemon/search/state.h"

namespace filibuster::search {

// Registers every prefix of every group of an executed execution. Before `from` the execution is like
// its parent, which has registered those.
void Search::State::learn(AbstractId id, const RpcList& list, size_t from) {
  in_contexts.clear();
  for (size_t at = from; at < list.size(); ++at) {
    in_contexts.push_back(in_context(list[at].context, list[at].after));
    groups.prefetch(list[at].after);
    contexts.prefetch(in_contexts.back());
  }
  for (size_t at = from; at < list.size(); ++at) {
    const Item& item = list[at];
    Group seen{0, id};
    // Where the parent's outcome was injected, it does not tell what the group leads to.
    if (item.parent_at != kNowhere && !list[item.parent_at].injected) {
      seen.parent_outcome = list[item.parent_at].outcome;
    }
    groups.insert(item.after, seen);
    contexts.insert(in_contexts[at - from], {});
  }
}

// Is the execution redundant (search.h "Reduction")? Fills `levels`, from the faulted RPC upwards.
bool Search::State::redundant(const RpcList& list, uint32_t position, OutcomeId fault) {
  levels.clear();
  uint32_t at = position;
  OutcomeId outcome = fault;
  for (;;) {
    const Item& item = list[at];
    const Hash128 group = group_with(item.before, item.rpc, taken_as(outcome));
    const Group* seen = groups.find(group);
    if (seen == nullptr) return false;
    levels.push_back({at, outcome, group, seen->execution});
    if (item.parent == 0) return true;
    if (item.parent_at == kNowhere) return false;  // its outcome cannot be foreseen
    at = item.parent_at;
    outcome = list[at].injected ? list[at].outcome : seen->parent_outcome;
    if (outcome == 0) return false;
  }
}

// Called for a redundant execution after redundant(). Finds a group that was shown with another outcome,
// which is only taken as the same.
std::optional<Unlike> Search::State::unlike_of(AbstractId id, const RpcList& list) {
  if (!taken_as.merges()) return std::nullopt;
  for (const Level& level : levels) {
    const auto witness = list_of(level.witness);
    if (witness == nullptr) return std::nullopt;
    const uint32_t parent = list[level.at].parent;
    auto shown = witness->begin();
    for (uint32_t at = 0; at <= level.at; ++at) {
      if (list[at].parent != parent) continue;
      while (shown != witness->end() && shown->parent != parent) ++shown;
      if (shown == witness->end()) break;
      const OutcomeId outcome = at == level.at ? level.outcome : list[at].outcome;
      if (shown->outcome != outcome) return Unlike{id, level.witness, index_of[list[at].rpc]};
      ++shown;
    }
  }
  return std::nullopt;
}

// Appends what `source` shows in the subtree of `parent` after the group stood at `group`.
void Search::State::append_rest(const RpcList& source, uint32_t parent, Hash128 group,
                                RpcList* out) const {
  uint32_t after = kNowhere;
  std::vector<bool> taken(source.size());
  for (uint32_t at = 0; at < source.size(); ++at) {
    const Item& item = source[at];
    if (after == kNowhere) {
      if (item.parent == parent && item.after == group) after = at;
      continue;
    }
    taken[at] = item.parent == parent || (item.parent_at != kNowhere && taken[item.parent_at]);
    if (taken[at]) out->push_back(item);
  }
}

// search.h "Expansion": `id` is redundant, `levels` says why, `list` is its parent's. Schedules
// what may follow it in a context that no other execution has.
void Search::State::foresee(AbstractId id, const RpcList& list) {
  const Abstract& abstract = abstracts[id];
  auto foreseen = std::make_shared<RpcList>();
  size_t level = 0;
  for (; level < levels.size(); ++level) {
    const Level& here = levels[level];
    const Item& item = list[here.at];
    if (!contexts.insert(in_context(item.context, here.group), {}).added) break;
    if (level == 0) {
      foreseen->assign(list.begin(), list.begin() + abstract.position + 1);
      foreseen->back().injected = true;
    }
    (*foreseen)[here.at].outcome = here.outcome;
    const auto witness = list_of(here.witness);
    if (witness == nullptr) return;
    append_rest(*witness, item.parent, here.group, foreseen.get());
  }
  if (foreseen->size() <= size_t{abstract.position} + 1) return;
  if (level < levels.size()) (*foreseen)[levels[level].at].outcome = levels[level].outcome;
  hasher.link(*foreseen, numbers());
  for (size_t at = abstract.position + 1; at < foreseen->size(); ++at) {
    contexts.insert(in_context((*foreseen)[at].context, (*foreseen)[at].after), {});
  }
  const uint64_t before = counts.scheduled;
  expand(id, foreseen);
  if (counts.scheduled != before) keep(id, true, *foreseen);
}

// Called for a redundant execution after redundant(): it is decided, and expanded where that is needed.
void Search::State::prune(AbstractId id, const RpcList& list) {
  std::string reason;
  if (const auto found = unlike_of(id, list)) {
    unlike.push_back(*found);
    reason = std::to_string(found->like) + " " + to_hex(found->rpc);
  }
  foresee(id, list);
  ++counts.redundant;
  decide(id, AbstractState::kRedundant, reason);
}

}  // namespace filibuster::search
