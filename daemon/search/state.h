// What a search knows, and the steps it is made of. For the files of this folder only.
//
//   search.cc     what the session sees: hand out, take in
//   scheduling.cc lists of RPCs, and what is scheduled beyond a prefix
//   reduction.cc  ESR: what need not be executed, and what follows from it
//   loading.cc    a search that goes on where an earlier process left it
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/base/processor_time.h"
#include "daemon/search/hash_table.h"
#include "daemon/search/journal.h"
#include "daemon/search/open_executions.h"
#include "daemon/search/rpc_list.h"
#include "daemon/search/search.h"

namespace filibuster::search {

inline constexpr Hash128 kFaultSalt{0x2545f4914f6cdd1dull, 0x9e6c63d0876a9a47ull};
// At this age an uncommitted write is committed while the search itself is at work.
inline constexpr int kBatchMs = 100;
inline constexpr int kHandOutMs = 10;  // the same before an execution, which may take long
inline constexpr size_t kCachedLists = 1024;

// The hashes are summed: the result is the same for every order of the same faults.
inline void add_fault(Hash128* set, uint32_t rpc, OutcomeId fault) {
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

struct Search::State {
  SearchOptions options;
  Journal* journal = nullptr;
  Error failure;  // the first failure of the journal; then the search stands still
  bool failed = false;

  HashTable<uint32_t> number_of;      // index -> number
  ChunkedArray<Hash128> index_of;     // number -> index; 0 is []
  HashTable<uint32_t> fault_list_of;  // hash of a fault list -> number
  std::vector<std::vector<OutcomeId>> fault_lists{{}};
  HashTable<Group> groups;        // prefixes of groups that executions showed
  HashTable<NoValue> contexts;    // the same in their contexts: executed or foreseen, and expanded
  HashTable<NoValue> fault_sets;  // of the executions that were scheduled or explored
  ChunkedArray<Abstract> abstracts;  // by id
  OpenExecutions open;
  std::unordered_map<AbstractId, OpenParent> open_parents;
  std::unordered_map<AbstractId, std::string> packed_lists;  // only without a journal
  std::vector<std::pair<AbstractId, std::shared_ptr<const RpcList>>> cache{kCachedLists};
  TakenAs taken_as;
  GroupHasher hasher{&taken_as};
  std::vector<Unlike> unlike;
  SearchCounts counts;
  SearchSeconds seconds;
  uint64_t abandoned = 0, left_out = 0;
  std::vector<bool> of_reference;                         // by RPC number; empty: not asked yet
  std::map<Hash128, std::vector<OutcomeId>> more_faults;  // Search::allow

  std::vector<uint64_t> marked_in;  // by RPC number: the last mark() round that met it
  uint64_t mark_round = 0;
  std::string packed;                // scratch
  std::vector<Hash128> in_contexts;  // scratch
  std::vector<Level> levels;         // scratch
  std::vector<Hash128> open_rpcs;    // scratch

  State(const SearchOptions& o, Journal* j) : options(o), journal(j), taken_as(o.taken_as) {
    index_of.push_back({});
  }

  bool note(const Result<void>& done) {
    if (!done.ok() && !failed) {
      failed = true;
      failure = done.error();
    }
    return done.ok();
  }
  // Looks at the journal too: the session layer writes to it as well.
  Result<void> health() {
    if (journal != nullptr && !failed) note(journal->health());
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
  bool in_order(std::span<const ObservedRpc> rpcs, const RpcList& like, size_t prefix);
  std::vector<ObservedRpc> ordered(std::span<const ObservedRpc> rpcs, const RpcList& like,
                                   size_t prefix) const;
  std::shared_ptr<RpcList> read(std::span<const ObservedRpc> rpcs, const RpcList& like,
                                size_t* same);
  void expand(AbstractId id, const std::shared_ptr<const RpcList>& list);
  void expand_by_place(AbstractId id, const std::shared_ptr<const RpcList>& list);
  std::vector<OutcomeId> faults_of(const Item& item) const;
  void schedule_at(uint32_t rpc, OutcomeId fault);
  Result<void> undecided(AbstractId id, AbstractState state, std::string_view reason);
  uint32_t schedule(AbstractId from, uint32_t rpc, uint32_t at, OutcomeId fault, Hash128 known_as);
  void expanded(AbstractId id, uint32_t children, const std::shared_ptr<const RpcList>& list);
  void line_up(AbstractId id, bool is_open);
  void decide(AbstractId id, AbstractState state, std::string_view reason);
  // False: the execution is executed, whatever was seen.
  bool may_be_redundant(AbstractId id) const {
    return options.reduce && !(options.execute_single_faults && abstracts[id].parent == kReference);
  }
  bool redundant(const RpcList& list, uint32_t position, OutcomeId fault);
  std::optional<Unlike> unlike_of(AbstractId id, const RpcList& list);
  void prune(AbstractId id, const RpcList& list);
  void foresee(AbstractId id, const RpcList& list);
  void append_rest(const RpcList& source, uint32_t parent, Hash128 group, RpcList* out) const;
  Result<void> load();
};

// Adds the processor time of an operation to `sum`, without the journal's part of it.
class Measured {
 public:
  Measured(double* sum, const Journal* journal)
      : sum_(sum),
        journal_(journal),
        journal_before_(journal_seconds()),
        began_(processor_seconds()) {}
  ~Measured() { *sum_ += processor_seconds() - began_ - (journal_seconds() - journal_before_); }
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

 private:
  double journal_seconds() const { return journal_ == nullptr ? 0 : journal_->seconds(); }
  double* sum_;
  const Journal* journal_;
  double journal_before_, began_;
};

}  // namespace filibuster::search
