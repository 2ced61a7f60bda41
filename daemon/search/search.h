// The search of SFIT (dissertation Algorithms 1, 2, 4; facts.md "Search"), free of processes and I/O
// but for the store behind `SearchStore`. Feed it what executions observed; it says what to execute
// next. Depth first, last scheduled first.
//
//   Search search(options, &store);             // or Search::resume(...)
//   search.executed(kReference, rpcs);
//   while (auto next = search.next()) { run it; search.executed(next->id, rpcs); }
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

namespace filibuster::search {

// Interned outcome of one RPC as its caller sees it: a fault specification's text ("status:503",
// "refused") or an organic result; equal texts are equal outcomes, so that an organic 503 equals an
// injected one. 0 is reserved: no result was seen (the caller went on, the execution ended).
using OutcomeId = uint32_t;

// What one execution saw of one RPC, in order of issue.
struct ObservedRpc {
  Hash128 index;
  Hash128 parent;               // index of the RPC that caused it; Hash128{} = [] (entry)
  OutcomeId outcome = 0;        // what the caller saw
  OutcomeId injected = 0;       // the fault injected here; 0 = none
  // Fault configuration of this RPC, in configured order; empty: never faulted here (the test's own
  // calls, unknown cause). Scheduled in this order, so explored in the reverse of it.
  std::vector<OutcomeId> faults;
};

using AbstractId = uint32_t;
inline constexpr AbstractId kReference = 0;

struct PlannedFault {
  Hash128 index;
  OutcomeId fault;
  bool operator==(const PlannedFault&) const = default;
};

struct AbstractExecution {
  AbstractId id;
  AbstractId parent;                  // the execution it was scheduled from
  std::vector<PlannedFault> faults;   // in order of the prefix; the last one is the newest
};

struct SearchOptions {
  bool reduce = true;           // ESR
  uint64_t max_executions = 0;  // 0: no bound
  uint32_t max_faults = 0;      // faults in one execution; 0: no bound (1: single faults only)
  // Deliberate breakages, for the test that shows that the count test can fail.
  bool explore_first_scheduled_first = false;
};

struct SearchCounts {
  uint64_t scheduled = 0;   // abstract executions ever scheduled (without the reference)
  uint64_t executed = 0;    // with the reference
  uint64_t redundant = 0;   // pruned by ESR (not expanded)
  uint64_t duplicate = 0;   // the same faults were scheduled or explored already
  uint64_t beyond_bound = 0;  // not scheduled or not executed because of a bound
  uint64_t open = 0;        // scheduled and not yet decided
};

class SearchStore;  // daemon/store/store.h

class Search {
 public:
  Search(const SearchOptions& options, SearchStore* store);
  ~Search();
  Search(Search&&) noexcept;
  // Continues a search from its store: nothing explored twice; an execution that was handed out
  // and not reported back is handed out again.
  static Result<Search> resume(const SearchOptions& options, SearchStore* store);

  // The reference execution, or the execution `id` handed out by next(), is done and may be believed.
  // Schedules prefix + {rpc -> f} for every RPC first seen beyond the prefix.
  Result<void> executed(AbstractId id, std::span<const ObservedRpc> rpcs);
  // `id` could not be concluded (plan not met, incomplete): recorded with the reason, not expanded.
  Result<void> abandoned(AbstractId id, std::string_view reason);

  // The next one that is not redundant; nullopt: the space is explored.
  std::optional<AbstractExecution> next();
  AbstractExecution describe(AbstractId id) const;
  SearchCounts counts() const;
  // The first failure of the store. next() then returns nullopt although the space is not explored:
  // look here before saying so.
  Result<void> health() const;
  // A group of RPCs under one parent that makes `id` redundant was seen in which executions
  // (for `--explain` and tests). Empty if it is not redundant.
  std::vector<AbstractId> redundant_because(AbstractId id) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace filibuster::search
