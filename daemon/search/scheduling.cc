#include <algorithm>
#include <unordered_set>

#include "daemon/search/state.h"

namespace filibuster::search {

uint32_t Search::State::number(Hash128 index) {
  if (index.is_zero()) return 0;
  const uint32_t next = numbers();
  const auto at = number_of.insert(index, next);
  if (at.added) {
    index_of.push_back(index);
    if (journal != nullptr) note(journal->add_rpc(next, index));
  }
  return *at.value;
}

uint32_t Search::State::fault_list(const std::vector<OutcomeId>& faults) {
  if (faults.empty()) return 0;
  const auto next = static_cast<uint32_t>(fault_lists.size());
  const Hash128 hash = hash_bytes(faults.data(), faults.size() * sizeof(OutcomeId));
  const auto at = fault_list_of.insert(hash, next);
  if (at.added) {
    fault_lists.push_back(faults);
    packed.clear();
    for (OutcomeId fault : faults) pack_number(fault, &packed);
    if (journal != nullptr) note(journal->add_fault_list(next, packed));
  }
  return *at.value;
}

// False if the RPC was marked in this round already.
bool Search::State::mark(uint32_t rpc) {
  if (marked_in.size() <= rpc) marked_in.resize(2 * size_t{rpc} + 1);
  if (marked_in[rpc] == mark_round) return false;
  marked_in[rpc] = mark_round;
  return true;
}

// The planned faults of an execution, newest first.
std::vector<std::pair<uint32_t, OutcomeId>> Search::State::planned(AbstractId id) const {
  std::vector<std::pair<uint32_t, OutcomeId>> faults;
  for (; id != kReference; id = abstracts[id].parent) {
    faults.emplace_back(abstracts[id].rpc, abstracts[id].fault);
  }
  return faults;
}

// Puts an execution in its turn, or notes that an earlier process has handed it out.
void Search::State::line_up(AbstractId id, bool is_open) {
  if (!options.standing) return is_open ? open.add(id) : void();
  std::vector<PlannedFault> faults;
  for (const auto& [rpc, fault] : planned(id)) faults.push_back({index_of[rpc], fault});
  const Standing at = options.standing(faults);
  if (faults.size() == 1) {
    const SingleFaults::Single one{id, at.site, at.rank, faults.front().fault};
    return is_open ? open.add_single(one) : open.singles().was_taken(one);
  }
  if (is_open) open.add_set(id, faults.size(), at.rank);
}

std::shared_ptr<const RpcList> Search::State::list_of(AbstractId id) {
  auto& [cached_id, cached] = cache[id % kCachedLists];
  if (cached != nullptr && cached_id == id) return cached;
  const auto parent = open_parents.find(id);
  if (parent != open_parents.end() && parent->second.list != nullptr) return parent->second.list;
  auto list = std::make_shared<RpcList>();
  bool whole = false;
  if (journal == nullptr) {
    whole = unpack(packed_lists[id], list.get());
  } else if (auto bytes = journal->concrete(id); bytes.ok()) {
    whole = unpack(bytes.value(), list.get());
  } else {
    note(bytes.error());
    return nullptr;
  }
  if (!whole) {
    note(Error{"search store: execution " + std::to_string(id) +
               " is damaged; move the store away to start from nothing"});
    return nullptr;
  }
  hasher.link(*list, numbers());
  cached_id = id;
  cached = list;
  if (parent != open_parents.end()) parent->second.list = list;
  return list;
}

void Search::State::keep(AbstractId id, bool predicted, const RpcList& list) {
  pack(list, &packed);
  if (journal != nullptr) {
    note(journal->add_concrete(id, predicted, packed));
  } else {
    packed_lists[id] = packed;
  }
}

// What was observed, as a list. An execution is mostly like the one that it was scheduled from
// (`like`), at the same places: numbers and hashes are taken from `like` as far as that holds. `*same`:
// the number of RPCs at the beginning that are entirely as in `like`.
std::shared_ptr<RpcList> Search::State::read(std::span<const ObservedRpc> rpcs, const RpcList& like,
                                             size_t* same) {
  auto list = std::make_shared<RpcList>(rpcs.size());
  *same = 0;
  for (size_t at = 0; at < rpcs.size(); ++at) {
    const ObservedRpc& rpc = rpcs[at];
    Item& item = (*list)[at];
    if (at < like.size() && index_of[like[at].rpc] == rpc.index &&
        index_of[like[at].parent] == rpc.parent) {
      item = like[at];
      if (fault_lists[item.faults] != rpc.faults) item.faults = fault_list(rpc.faults);
    } else {
      item.rpc = number(rpc.index);
      item.parent = number(rpc.parent);
      item.faults = fault_list(rpc.faults);
    }
    item.outcome = rpc.outcome;
    item.injected = rpc.injected != 0;
    if (*same == at && at < like.size() && item.same_rpc_and_outcome(like[at])) ++*same;
  }
  hasher.link(*list, numbers(), *same);
  return list;
}

// Schedules prefix + {rpc -> f} for each RPC beyond the prefix of `id` (dissertation Algorithm 2).
// Beyond is "not among the RPCs of the prefix", not "later": concurrent RPCs change places.
void Search::State::expand(AbstractId id, const std::shared_ptr<const RpcList>& list) {
  if (options.tell_apart_by_place) return expand_by_place(id, list);
  ++mark_round;
  const auto faults = planned(id);
  Hash128 set;
  for (const auto& [rpc, fault] : faults) {
    mark(rpc);
    add_fault(&set, rpc, fault);
  }
  if (id != kReference) {
    const auto prefix = list_of(abstracts[id].parent);
    if (prefix == nullptr) return;
    for (uint32_t at = 0; at <= abstracts[id].position; ++at) mark((*prefix)[at].rpc);
  }
  const bool full = options.max_faults != 0 && faults.size() >= options.max_faults;
  uint32_t children = 0;
  for (uint32_t at = 0; at < list->size(); ++at) {
    const Item& item = (*list)[at];
    if (!mark(item.rpc)) continue;
    for (OutcomeId fault : faults_of(item)) {
      if (full) {
        ++counts.beyond_bound;
        continue;
      }
      Hash128 with = set;
      add_fault(&with, item.rpc, fault);
      children += schedule(id, item.rpc, at, fault, with);
    }
  }
  expanded(id, children, list);
}

// The faults that the RPC gets here; {}: none.
std::vector<OutcomeId> Search::State::faults_of(const Item& item) const {
  std::vector<OutcomeId> out = fault_lists[item.faults];
  if (out.empty() || more_faults.empty()) return out;
  const auto more = more_faults.find(index_of[item.rpc]);
  if (more == more_faults.end()) return out;
  for (const OutcomeId fault : more->second)
    if (std::find(out.begin(), out.end(), fault) == out.end()) out.push_back(fault);
  return out;
}

// Schedules the fault wherever the RPC was first seen beyond a prefix, and got its other faults. A set of faults has to be
// decided after its subsets (search.h "The order"), and what is scheduled last is decided first: so the largest set comes
// first here.
void Search::State::schedule_at(uint32_t rpc, OutcomeId fault) {
  struct Place {
    AbstractId from;
    uint32_t position;
    size_t faults;
  };
  std::vector<Place> places;
  std::unordered_set<AbstractId> seen;
  for (AbstractId id = 1; id < abstracts.size(); ++id) {
    const Abstract& one = abstracts[id];
    if (one.rpc == rpc && seen.insert(one.parent).second)
      places.push_back({one.parent, one.position, planned(one.parent).size()});
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.faults > b.faults; });
  for (const Place& place : places) {
    if (options.max_faults != 0 && place.faults >= options.max_faults) {
      ++counts.beyond_bound;
      continue;
    }
    Hash128 set;
    for (const auto& [other, with] : planned(place.from)) add_fault(&set, other, with);
    add_fault(&set, rpc, fault);
    if (fault_sets.contains(set)) continue;  // by an earlier part of the session
    open_parents[place.from].open_children += schedule(place.from, rpc, place.position, fault, set);
  }
}

// SearchOptions::tell_apart_by_place: an RPC belongs to the prefix if the prefix has the same index at
// the same place, and executions are told apart by their whole prefix and its faults.
void Search::State::expand_by_place(AbstractId id, const std::shared_ptr<const RpcList>& list) {
  ++mark_round;
  Hash128 set;
  for (const auto& [rpc, fault] : planned(id)) {
    mark(rpc);
    add_fault(&set, rpc, fault);
  }
  const auto prefix = id == kReference ? nullptr : list_of(abstracts[id].parent);
  const uint32_t known = prefix == nullptr ? 0 : abstracts[id].position + 1;
  uint32_t children = 0;
  Hash128 places;
  for (uint32_t at = 0; at < list->size(); ++at) {
    const Item& item = (*list)[at];
    places = combine(places, uint64_t{item.rpc});
    if (at < known && (*prefix)[at].rpc == item.rpc) continue;
    if (marked_in.size() > item.rpc && marked_in[item.rpc] == mark_round) continue;  // faulted
    for (OutcomeId fault : fault_lists[item.faults]) {
      Hash128 with = set;
      add_fault(&with, item.rpc, fault);
      children += schedule(id, item.rpc, at, fault, combine(with, places));
    }
  }
  expanded(id, children, list);
}

// Returns 1 if the execution was not scheduled before, else 0. `known_as` tells executions apart.
uint32_t Search::State::schedule(AbstractId from, uint32_t rpc, uint32_t at, OutcomeId fault,
                                 Hash128 known_as) {
  if (!fault_sets.insert(known_as, {}).added) {
    ++counts.duplicate;
    return 0;
  }
  const auto child = static_cast<AbstractId>(abstracts.size());
  abstracts.push_back({from, rpc, at, fault, AbstractState::kOpen});
  line_up(child, true);
  ++counts.scheduled;
  if (journal != nullptr) {
    note(journal->add_abstract({child, from, rpc, at, fault, AbstractState::kOpen}));
  }
  return 1;
}

void Search::State::expanded(AbstractId id, uint32_t children,
                             const std::shared_ptr<const RpcList>& list) {
  if (children == 0) return;
  open_parents[id] = {children, list};
  cache[id % kCachedLists] = {id, list};  // as a rule a child of it is handed out next
}

void Search::State::decide(AbstractId id, AbstractState state, std::string_view reason) {
  Abstract& abstract = abstracts[id];
  abstract.state = state;
  if (journal != nullptr) {
    note(journal->decide(id, state, reason));
    journal->set_counters(counts.duplicate, counts.beyond_bound);
    note(journal->commit_if_older(kBatchMs));
  }
  if (id == kReference) return;
  const auto parent = open_parents.find(abstract.parent);
  if (parent != open_parents.end() && --parent->second.open_children == 0) {
    open_parents.erase(parent);
  }
}

}  // namespace filibuster::search
