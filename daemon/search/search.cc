#include "daemon/search/search.h"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>

#include "daemon/search/hash_table.h"
#include "daemon/search/rpc_list.h"
#include "daemon/store/store.h"

namespace filibuster::search {
namespace {

constexpr Hash128 kFaultSalt{0x2545f4914f6cdd1dull, 0x9e6c63d0876a9a47ull};
constexpr int kBatchMs = 100;   // the oldest uncommitted write while the search itself is at work
constexpr int kHandOutMs = 10;  // and before an execution, which may take long
constexpr size_t kCachedLists = 1024;

// Sum: the same for every order of the same faults.
void add_fault(Hash128* set, uint32_t rpc, OutcomeId fault) {
  const Hash128 one = combine(kFaultSalt, uint64_t{rpc} << 32 | fault);
  set->hi += one.hi;
  set->lo += one.lo;
}

struct Abstract {
  AbstractId parent = 0;
  uint32_t rpc = 0;
  uint32_t position = 0;  // in the parent's list
  OutcomeId fault = 0;
  AbstractState state = AbstractState::kOpen;
};

// What the first execution that showed a group tells about it.
struct Group {
  OutcomeId parent_outcome = 0;  // 0: not known
  AbstractId execution = 0;
};

// An execution some of whose children are not decided.
struct OpenParent {
  uint32_t open_children = 0;
  std::shared_ptr<const RpcList> list;  // null after a resume, until it is needed
};

// One level of the way from the newly faulted RPC up to []: the group that changes there.
struct Level {
  uint32_t at = 0;         // the RPC of the group that changes: the faulted one, then its ancestors
  OutcomeId outcome = 0;   // its outcome with the new fault
  Hash128 group;           // the group with that outcome
  AbstractId witness = 0;  // the execution that showed this group first
};

}  // namespace

struct Search::State {
  SearchOptions options;
  SearchStore* store = nullptr;
  Error failure;  // the first failure of the store; then the search stands still
  bool failed = false;

  HashTable<uint32_t> number_of;      // index -> number
  ChunkedArray<Hash128> index_of;     // number -> index; 0 is []
  HashTable<uint32_t> fault_list_of;  // hash of a fault list -> number
  std::vector<std::vector<OutcomeId>> fault_lists{{}};
  HashTable<Group> groups;           // prefixes of groups that executions showed
  HashTable<NoValue> contexts;       // the same in context, executed or foreseen, and expanded
  HashTable<NoValue> fault_sets;     // scheduled or explored
  ChunkedArray<Abstract> abstracts;  // by id
  std::deque<AbstractId> open;       // ascending ids: a stack
  std::unordered_map<AbstractId, OpenParent> open_parents;
  std::unordered_map<AbstractId, std::string> packed_lists;  // only without a store
  std::vector<std::pair<AbstractId, std::shared_ptr<const RpcList>>> cache{kCachedLists};
  GroupHasher hasher;
  SearchCounts counts;
  uint64_t abandoned = 0;

  std::vector<uint64_t> marked_in;  // by RPC number: the last mark() round that met it
  uint64_t mark_round = 0;
  std::string packed;                // scratch
  std::vector<Hash128> in_contexts;  // scratch
  std::vector<Level> levels;         // scratch

  State(const SearchOptions& o, SearchStore* s) : options(o), store(s) { index_of.push_back({}); }

  bool note(const Result<void>& done) {
    if (!done.ok() && !failed) {
      failed = true;
      failure = done.error();
    }
    return done.ok();
  }
  // Looks at the store too: the session layer writes to it as well.
  Result<void> health() {
    if (store != nullptr && !failed) note(store->health());
    if (failed) return failure;
    return {};
  }
  uint32_t numbers() const { return static_cast<uint32_t>(index_of.size()); }

  uint32_t number(Hash128 index);
  uint32_t fault_list(const std::vector<OutcomeId>& faults);
  bool mark(uint32_t rpc);
  std::vector<std::pair<uint32_t, OutcomeId>> planned(AbstractId id) const;
  std::shared_ptr<const RpcList> list_of(AbstractId id);
  void keep(AbstractId id, bool predicted, const RpcList& list);
  void learn(AbstractId id, const RpcList& list, size_t from);
  std::shared_ptr<RpcList> read(std::span<const ObservedRpc> rpcs, const RpcList& like,
                                size_t* same);
  void expand(AbstractId id, const std::shared_ptr<const RpcList>& list);
  void decide(AbstractId id, AbstractState state, std::string_view reason);
  bool redundant(const RpcList& list, uint32_t position, OutcomeId fault);
  void foresee(AbstractId id, const RpcList& list);
  void append_rest(const RpcList& source, uint32_t parent, Hash128 group, RpcList* out) const;
  Result<void> load();
};

uint32_t Search::State::number(Hash128 index) {
  if (index.is_zero()) return 0;
  const uint32_t next = numbers();
  const auto at = number_of.insert(index, next);
  if (at.added) {
    index_of.push_back(index);
    if (store != nullptr) note(store->add_rpc(next, index));
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
    if (store != nullptr) note(store->add_fault_list(next, packed));
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

// Newest first.
std::vector<std::pair<uint32_t, OutcomeId>> Search::State::planned(AbstractId id) const {
  std::vector<std::pair<uint32_t, OutcomeId>> faults;
  for (; id != kReference; id = abstracts[id].parent) {
    faults.emplace_back(abstracts[id].rpc, abstracts[id].fault);
  }
  return faults;
}

std::shared_ptr<const RpcList> Search::State::list_of(AbstractId id) {
  auto& [cached_id, cached] = cache[id % kCachedLists];
  if (cached != nullptr && cached_id == id) return cached;
  const auto parent = open_parents.find(id);
  if (parent != open_parents.end() && parent->second.list != nullptr) return parent->second.list;
  auto list = std::make_shared<RpcList>();
  bool whole = false;
  if (store == nullptr) {
    whole = unpack(packed_lists[id], list.get());
  } else if (auto bytes = store->concrete(id); bytes.ok()) {
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
  if (store != nullptr) {
    note(store->add_concrete(id, predicted, packed));
  } else {
    packed_lists[id] = packed;
  }
}

// Registers every prefix of every group of an executed execution. Before `from` it is like its
// parent, which registered them.
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
    // An injected outcome says nothing about what the group makes of its parent.
    if (item.parent_at != kNowhere && !list[item.parent_at].injected) {
      seen.parent_outcome = list[item.parent_at].outcome;
    }
    groups.insert(item.after, seen);
    contexts.insert(in_contexts[at - from], {});
  }
}

// What was observed, as a list. An execution is mostly like the one that it was scheduled from, at
// the same places: numbers and hashes are taken from there as far as that holds. `*same`: the
// number of RPCs at the beginning that are entirely as there.
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
    for (OutcomeId fault : fault_lists[item.faults]) {
      if (full) {
        ++counts.beyond_bound;
        continue;
      }
      Hash128 with = set;
      add_fault(&with, item.rpc, fault);
      if (!fault_sets.insert(with, {}).added) {
        ++counts.duplicate;
        continue;
      }
      const auto child = static_cast<AbstractId>(abstracts.size());
      abstracts.push_back({id, item.rpc, at, fault, AbstractState::kOpen});
      open.push_back(child);
      ++counts.scheduled;
      ++children;
      if (store != nullptr) {
        note(store->add_abstract({child, id, item.rpc, at, fault, AbstractState::kOpen}));
      }
    }
  }
  if (children == 0) return;
  open_parents[id] = {children, list};
  cache[id % kCachedLists] = {id, list};  // the next one popped is its child
}

void Search::State::decide(AbstractId id, AbstractState state, std::string_view reason) {
  Abstract& abstract = abstracts[id];
  abstract.state = state;
  if (store != nullptr) {
    note(store->decide(id, state, reason));
    store->set_counters(counts.duplicate, counts.beyond_bound);
    note(store->commit_if_older(kBatchMs));
  }
  if (id == kReference) return;
  const auto parent = open_parents.find(abstract.parent);
  if (parent != open_parents.end() && --parent->second.open_children == 0) {
    open_parents.erase(parent);
  }
}

// search.h "Reduction". Fills `levels`, from the faulted RPC upwards.
bool Search::State::redundant(const RpcList& list, uint32_t position, OutcomeId fault) {
  levels.clear();
  uint32_t at = position;
  OutcomeId outcome = fault;
  for (;;) {
    const Item& item = list[at];
    Hash128 group = group_with(item.before, item.rpc, outcome);
    // Concurrent siblings of an open ancestor that were issued before the faulted RPC.
    for (uint32_t next = at + 1; next <= position; ++next) {
      if (list[next].parent == item.parent) {
        group = group_with(group, list[next].rpc, list[next].outcome);
      }
    }
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

Result<void> Search::State::load() {
  if (store == nullptr) return {};
  bool whole = true;
  auto rpcs = store->each_rpc([&](uint32_t at, Hash128 index) {
    whole = whole && at == numbers() && number_of.insert(index, at).added;
    index_of.push_back(index);
  });
  if (!rpcs) return rpcs;
  auto lists = store->each_fault_list([&](uint32_t at, std::string_view bytes) {
    std::vector<OutcomeId> faults;
    uint64_t fault = 0;
    while (unpack_number(&bytes, &fault)) faults.push_back(static_cast<OutcomeId>(fault));
    whole = whole && at == fault_lists.size();
    fault_list_of.insert(hash_bytes(faults.data(), faults.size() * sizeof(OutcomeId)), at);
    fault_lists.push_back(std::move(faults));
  });
  if (!lists) return lists;
  std::vector<Hash128> sets;  // by id
  auto rows = store->each_abstract([&](const AbstractRow& row) {
    const bool first = row.id == kReference;
    whole = whole && row.id == abstracts.size() && (first || row.parent < row.id) &&
            row.rpc < numbers();
    if (!whole) return;
    abstracts.push_back({row.parent, row.rpc, row.position, row.fault, row.state});
    sets.push_back(first ? Hash128{} : sets[row.parent]);
    if (first) {
      counts.executed += row.state == AbstractState::kExecuted ? 1 : 0;
      return;
    }
    add_fault(&sets.back(), row.rpc, row.fault);
    fault_sets.insert(sets.back(), {});
    ++counts.scheduled;
    switch (row.state) {
      case AbstractState::kOpen:
        open.push_back(row.id);
        ++open_parents[row.parent].open_children;
        break;
      case AbstractState::kExecuted:
        ++counts.executed;
        break;
      case AbstractState::kRedundant:
        ++counts.redundant;
        break;
      case AbstractState::kAbandoned:
        ++abandoned;
        break;
    }
  });
  if (!rows) return rows;
  RpcList list;
  auto concretes = store->each_concrete([&](AbstractId id, bool predicted, std::string_view bytes) {
    whole = whole && id < abstracts.size() && unpack(bytes, &list);
    for (const Item& item : list) {
      whole = whole && item.rpc < numbers() && item.parent < numbers() &&
              item.faults < fault_lists.size();
    }
    if (!whole) return;
    hasher.link(list, numbers());
    // In order of id, so parents first: as good as the order of execution (search.h "Reduction").
    if (!predicted) learn(id, list, 0);
    for (const Item& item : list) contexts.insert(in_context(item.context, item.after), {});
  });
  if (!concretes) return concretes;
  if (!whole) {
    return Error{
        "search store: its tables contradict each other; move the file away to start from "
        "nothing"};
  }
  auto counters = store->counters();
  if (!counters) return counters.error();
  counts.duplicate = counters.value().first;
  counts.beyond_bound = counters.value().second;
  return {};
}

Search::Search(const SearchOptions& options, SearchStore* store)
    : state_(std::make_unique<State>(options, store)) {}
Search::~Search() = default;
Search::Search(Search&&) noexcept = default;

Result<Search> Search::resume(const SearchOptions& options, SearchStore* store) {
  Search search(options, store);
  if (auto loaded = search.state_->load(); !loaded) return loaded.error();
  return search;
}

Result<void> Search::executed(AbstractId id, std::span<const ObservedRpc> rpcs) {
  State& s = *state_;
  if (auto healthy = s.health(); !healthy) return healthy;
  const bool first = id == kReference && s.abstracts.size() == 0;
  if (!first && (id >= s.abstracts.size() || s.abstracts[id].state != AbstractState::kOpen)) {
    return Error{"execution " + std::to_string(id) + " was not handed out, or was reported before"};
  }
  if (first) {
    s.abstracts.push_back({});
    if (s.store != nullptr) s.note(s.store->add_abstract({}));
  }
  const auto parent = first ? std::make_shared<const RpcList>() : s.list_of(s.abstracts[id].parent);
  if (parent == nullptr) return s.health();
  size_t same = 0;
  const auto list = s.read(rpcs, *parent, &same);
  s.learn(id, *list, same);
  s.keep(id, false, *list);
  s.expand(id, list);
  ++s.counts.executed;
  s.decide(id, AbstractState::kExecuted, {});
  return s.health();
}

Result<void> Search::abandoned(AbstractId id, std::string_view reason) {
  State& s = *state_;
  if (auto healthy = s.health(); !healthy) return healthy;
  if (id == kReference || id >= s.abstracts.size() ||
      s.abstracts[id].state != AbstractState::kOpen) {
    return Error{"execution " + std::to_string(id) + " was not handed out, or was reported before"};
  }
  ++s.abandoned;
  s.decide(id, AbstractState::kAbandoned, reason.empty() ? "no reason given" : reason);
  return s.health();
}

std::optional<AbstractExecution> Search::next() {
  State& s = *state_;
  (void)s.health();
  while (!s.failed && !s.open.empty()) {
    if (s.options.max_executions != 0 && s.counts.executed >= s.options.max_executions) break;
    const bool oldest = s.options.explore_first_scheduled_first;
    const AbstractId id = oldest ? s.open.front() : s.open.back();
    if (oldest) {
      s.open.pop_front();
    } else {
      s.open.pop_back();
    }
    if (s.options.reduce) {
      const Abstract& abstract = s.abstracts[id];
      const auto list = s.list_of(abstract.parent);
      if (list == nullptr || abstract.position >= list->size()) break;
      if (s.redundant(*list, abstract.position, abstract.fault)) {
        s.foresee(id, *list);
        ++s.counts.redundant;
        s.decide(id, AbstractState::kRedundant, {});
        continue;
      }
    }
    if (s.store != nullptr) s.note(s.store->commit_if_older(kHandOutMs));
    return describe(id);
  }
  if (s.store != nullptr && !s.failed) s.note(s.store->flush());
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

SearchCounts Search::counts() const {
  const State& s = *state_;
  SearchCounts counts = s.counts;
  const uint64_t explored = counts.executed == 0 ? 0 : counts.executed - 1;
  counts.open = counts.scheduled - explored - counts.redundant - s.abandoned;
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
