// The search of SFIT (dissertation Algorithms 1, 2, 4), free of processes and I/O but for the store
// behind `Journal` (journal.h). Feed it what executions observed; it says what to execute next.
//
//   Search search(options, &journal);           // or Search::resume(...)
//   search.executed(kReference, rpcs);
//   while (auto next = search.next()) { run it; search.executed(next->id, rpcs); }
//   search.health();                            // did it end because the journal failed?
//
// Reduction (ESR). A group is what was seen under one parent: its RPCs in order of issue, each with
// the outcome that the caller saw; [] is a parent too. Service encapsulation means: given the
// outcomes of a group so far, the parent's next RPC, or its answer, is determined. Each executed
// execution registers a running hash of every prefix of every group of it, with the outcome of the
// parent RPC in the execution that showed it first. A scheduled execution (the prefix of its parent
// execution up to one RPC, that one now faulted) is redundant when each of its groups is
// registered. The parent execution registered all groups but the one of the faulted RPC and those
// of its ancestors, so only these are looked up, bottom-up: the faulted RPC's group with the fault;
// its parent was open then, so its outcome is the one that the group's first execution showed; with
// that outcome the parent's group; and so on to []. A missing group, or an unknown outcome, is 'not
// redundant'.
//
// Why the first execution may be believed: faults are added in order of issue, and a parent is
// executed (or found redundant) before its children. So the first execution that shows a group
// prefix has no fault after it, exactly like the scheduled one. This needs determinism: an RPC that
// answers differently makes another group, which costs an execution.
//
// What is equal. Outcomes are equal when the caller cannot tell them apart, so far as an agent can:
// an answer is its status and its body. The published reduction compares statuses alone
// (SearchOptions::taken_as): then a fault counts as the organic failure with the same status,
// whatever that one says, and a bug in a caller that reads it is missed. What is redundant for that
// reason only is told by unlike(). And because fields of an answer's head are no part of an
// outcome, an execution with a single fault can be exempted altogether (execute_single_faults).
//
// The order. A set of faults must be decided after all of its subsets: then whatever shows a group in a
// context first has no fault that hides what follows from it there. (With {b, c} before {c}, where b takes
// the answer of c's caller away after its effect, nobody would look at that caller's answer to c.) Depth
// first, last scheduled first, is such an order, because a later fault alone comes before an earlier one
// with it; fewer faults first is another one, whatever the order among equally many. Whoever stops a search has seen the most by the
// second one (SearchOptions::standing): one fault at each call site in turn, then another one at each (open_executions.h), then pairs,
// and so on. What comes late joins its turn.
//
// Concurrency. Concurrent RPCs change places from execution to execution, and what one of them
// causes comes between what another one does. Taken as seen, neither of the two arguments above
// would hold: a planned fault could stand after the newest one, and an RPC of the prefix could
// still be open at the newest fault without being its ancestor. So every execution is first brought
// into the order that it would have without concurrency, which is one that it could have had: every
// RPC is followed by what it caused; in a group those of the prefix come first, in the order of the
// parent execution, then the others in order of issue.
//
// Expansion. The dissertation does not expand what it prunes; that loses executions when a
// service's answer is no configured fault: users asks A, then B; B falls back from b to c and
// answers 418 if both fail. {a, b} is redundant (A: 500 and B: 200 were seen), and {a, b, c}, the
// only way to A: 500 with B: 418, would never be scheduled. Therefore a redundant execution is
// expanded with the RPCs that its groups' first executions show after it, level by level, up to the
// first level whose group was expanded before in the same context (what stands before each of its
// ancestors). No execution is run for that, and the published counts stay as they are. What holds
// then for a deterministic application: every group prefix that any set of faults can produce is
// produced by some execution of the reduced search (tests/unit/search/reduction_property_test.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/hash.h"
#include "core/result.h"
#include "daemon/model/search_counts.h"
#include "daemon/search/journal.h"

namespace filibuster::search {

// What one execution saw of one RPC, in order of issue.
struct ObservedRpc {
  Hash128 index;
  Hash128 parent;          // index of the RPC that caused it; Hash128{} = [] (entry)
  OutcomeId outcome = 0;   // what the caller saw
  OutcomeId injected = 0;  // the fault injected here; 0 = none
  // Fault configuration of this RPC, in configured order; empty: never faulted here (the test's own
  // calls, unknown cause). Scheduled in this order, so explored in the reverse of it.
  std::vector<OutcomeId> faults;
};

struct PlannedFault {
  Hash128 index;
  OutcomeId fault;
  bool operator==(const PlannedFault&) const = default;
};

struct AbstractExecution {
  AbstractId id;
  AbstractId parent;                 // the execution it was scheduled from
  std::vector<PlannedFault> faults;  // in order of the prefix; the last one is the newest
};

// Where a set of faults stands among those with equally many.
struct Standing {
  size_t rank = 0;    // lower ones come first
  uint64_t site = 0;  // the call site of the newest fault; 0: not known, or several sites
};

// How far a search goes for now. What lies beyond stays open. For several searches that take turns; one that explores depth first goes on
// to its end whatever its reach.
struct Reach {
  size_t max_faults = 0;   // in one execution; 0: no bound
  uint64_t only_site = 0;  // single faults of this Standing::site alone; 0: any
};

// What a call site has had (Standing::site).
struct SiteFaults {
  uint64_t site = 0;
  size_t taken = 0;    // executions with one fault that were handed out
  size_t waiting = 0;  // of those that are scheduled
};

struct SearchOptions {
  bool reduce = true;                  // ESR
  bool execute_single_faults = false;  // an execution with one fault is never redundant
  // What an outcome is taken as where executions are compared; null: as itself. Asked once for each
  // outcome.
  std::function<OutcomeId(OutcomeId)> taken_as = {};
  uint64_t max_executions = 0;  // 0: no bound
  uint32_t max_faults = 0;      // faults in one execution; 0: no bound (1: single faults only)
  // How the published prototype counts where several RPCs of an execution share an index
  // (docs/execution-indexes.md, "Table 7.1"): the second one is beyond the prefix again, and the
  // same faults after another prefix are another execution. Makes more executions and finds no more.
  // Such a search ignores `max_faults`, and cannot be resumed.
  bool tell_apart_by_place = false;
  // What is asked of a set of faults to put it in its turn (search.h "The order"); null: depth first. Asked once for each
  // execution that is scheduled or loaded.
  std::function<Standing(std::span<const PlannedFault>)> standing = {};
  // A deliberate breakage, for the test that shows that the count test can fail.
  bool explore_first_scheduled_first = false;
};

// An execution that is redundant only because an outcome was taken as another one.
struct Unlike {
  AbstractId id;
  AbstractId like;  // the execution that showed the other outcome
  Hash128 rpc;      // the RPC whose two outcomes differ
};

class Search {
 public:
  // `journal` is empty, or null: then everything stays in memory (tests).
  Search(const SearchOptions& options, Journal* journal);
  ~Search();
  Search(Search&&) noexcept;
  // Continues a search from its journal: nothing explored twice; an execution that was handed out
  // and not reported back is handed out again.
  static Result<Search> resume(const SearchOptions& options, Journal* journal);

  // The reference execution, or the execution `id` handed out by next(), is done and may be
  // believed. Schedules prefix + {rpc -> f} for every RPC first seen beyond the prefix.
  Result<void> executed(AbstractId id, std::span<const ObservedRpc> rpcs);
  // `id` could not be concluded (plan not met, incomplete): recorded with the reason, not expanded.
  Result<void> abandoned(AbstractId id, std::string_view reason);
  // The same for an execution about an RPC that comes and goes by itself, and did not come.
  Result<void> left_out(AbstractId id, std::string_view reason);
  // The execution showed a failure: its fault is tried first at other call sites. Not kept in the journal.
  void failed(AbstractId id);
  // From now on the RPC gets this fault, too, wherever it gets faults. Where its other faults were scheduled already, this
  // one is now. Not kept in the journal: to be said again after resume(), before anything else.
  Result<void> allow(Hash128 index, OutcomeId fault);

  // The next execution that is not redundant; nullopt: the space is explored as far as `reach`, the bound on executions
  // is reached, or the journal failed (health()).
  std::optional<AbstractExecution> next(const Reach& reach = {});
  // At most `most` of the executions that next() would hand out if nothing were learnt any more, in that
  // order: the open ones that are not redundant now. Changes nothing; not every open one is looked at.
  std::vector<AbstractExecution> ahead(size_t most, const Reach& reach = {}) const;
  // In the order in which they came. Empty where it explores depth first.
  std::vector<SiteFaults> sites() const;
  AbstractExecution describe(AbstractId id) const;
  // What `id` showed, in the order in which it was compared. It was executed, or others were
  // scheduled from it.
  std::vector<ObservedRpc> observed(AbstractId id) const;
  // The executions that were executed, in order of id.
  std::vector<AbstractId> concluded() const;
  // What was ever scheduled, in order of id, without the reference execution.
  struct Scheduled {
    AbstractId id = 0;
    size_t faults = 0;
    PlannedFault newest;  // its newest fault
    AbstractState state{};
  };
  void each_scheduled(const std::function<void(const Scheduled&)>& row) const;
  // What an execution that was handed out is expected to show, up to and with the RPC of its newest
  // fault: what its parent showed, or was foreseen to show. Index, parent and outcome; `injected` is
  // not 0 where a fault of ours is. Empty: the journal failed.
  std::vector<ObservedRpc> prefix(AbstractId id) const;
  SearchCounts counts() const;
  const std::vector<Unlike>& unlike() const;
  SearchSeconds seconds() const;
  // The first failure of the journal. next() then returns nullopt although the space is not explored:
  // look here before saying so.
  Result<void> health() const;
  // The executions that showed the groups that make `id` redundant (for `--explain` and tests).
  // Empty if it is not redundant.
  std::vector<AbstractId> redundant_because(AbstractId id) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace filibuster::search
