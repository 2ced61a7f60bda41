// The RPCs of one execution in the form in which the search keeps and compares them: numbers
// instead of indexes, a running hash for each group (the RPCs under one parent, in order of issue).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "daemon/search/search.h"

namespace filibuster::search {

inline constexpr uint32_t kNowhere = UINT32_MAX;

struct Item {
  uint32_t rpc = 0;     // number of the index, from 1
  uint32_t parent = 0;  // number of the parent's index; 0: []
  OutcomeId outcome = 0;
  uint32_t faults = 0;    // number of the fault list; 0: never faulted here
  bool injected = false;  // the outcome is a fault of ours
  // Made by GroupHasher::link from what stands before this item:
  uint32_t parent_at = kNowhere;  // where the parent stands in the list
  Hash128 before;                 // the group up to and without this item
  Hash128 after;                  // the group with this item
  Hash128 context;  // what stands before each ancestor in the ancestor's own group: all that can
                    // influence this item from outside its group, under service encapsulation

  bool same_rpc_and_outcome(const Item& other) const {
    return rpc == other.rpc && parent == other.parent && outcome == other.outcome &&
           injected == other.injected;
  }
};

using RpcList = std::vector<Item>;

// SearchOptions::taken_as, which is asked once for each outcome.
class TakenAs {
 public:
  explicit TakenAs(std::function<OutcomeId(OutcomeId)> rule) : rule_(std::move(rule)) {}

  OutcomeId operator()(OutcomeId outcome) { return rule_ ? known(outcome) : outcome; }
  // Some outcome was taken as another.
  bool merges() const { return merges_; }

 private:
  OutcomeId known(OutcomeId outcome) {
    if (outcome >= known_.size()) known_.resize(2 * size_t{outcome} + 1, kUnknown);
    OutcomeId& as = known_[outcome];
    if (as == kUnknown) {
      as = rule_(outcome);
      merges_ = merges_ || as != outcome;
    }
    return as;
  }
  static constexpr OutcomeId kUnknown = UINT32_MAX;
  std::function<OutcomeId(OutcomeId)> rule_;
  std::vector<OutcomeId> known_;
  bool merges_ = false;
};

// Hash of a group that ends with this RPC; `outcome` is what the RPC's outcome is taken as.
Hash128 group_with(Hash128 before, uint32_t rpc, OutcomeId outcome);
// Hash of such a group in its context.
Hash128 in_context(Hash128 context, Hash128 group);

class GroupHasher {
 public:
  explicit GroupHasher(TakenAs* taken_as) : taken_as_(*taken_as) {}
  // Fills the derived members of every item from `from` on; those before it are filled already.
  // `numbers`: how many numbers were given to indexes so far.
  void link(RpcList& list, uint32_t numbers, size_t from = 0);

 private:
  struct Slot {
    uint64_t seen_in = 0;   // link() call that saw the RPC itself
    uint64_t group_in = 0;  // link() call that saw a child of it
    uint32_t at = 0;        // place of the RPC
    uint32_t last = 0;      // place of its last child so far
  };
  TakenAs& taken_as_;
  std::vector<Slot> slots_;  // by number
  uint64_t call_ = 0;
};

// A byte string of variable-length numbers: about 5 bytes for an RPC.
void pack(const RpcList& list, std::string* out);
// False if it was not made by pack(). The derived members are not filled.
bool unpack(std::string_view packed, RpcList* list);
void pack_number(uint64_t number, std::string* out);
bool unpack_number(std::string_view* packed, uint64_t* number);

}  // namespace filibuster::search
