// Retried calls all of whose attempts fail. A bug behind a retry loop shows only then, and the search comes to that set of faults late:
// after its subsets (search/search.h, "The order"). Therefore, when the first fault of a call site is followed by another attempt and the
// test passes, one execution with a sequence (`503 when=1+`, core/fault/attempts.h) comes next. What it shows is the result of the set of
// its attempts: the finding has that set's key, replay and place in the report. When the search comes to that set, it takes the result,
// and only then learns from it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/fault/fault.h"
#include "daemon/search/search.h"
#include "daemon/store/store.h"

namespace filibuster {

class EarlyAttempts {
 public:
  // The search has no id yet for these executions. They have their own, from here on.
  static constexpr search::AbstractId kFirstId = uint32_t{1} << 31;
  static bool is_early(search::AbstractId id) { return id >= kFirstId; }

  // Whether every attempt can get this fault as an item of a sequence, and the server does nothing meanwhile.
  static bool can_be_repeated(const FaultSpec& fault);
  // `fault`, at each attempt.
  static FaultSpec at_each_attempt(const FaultSpec& fault);

  // The store must outlive this.
  explicit EarlyAttempts(search::SearchStore* store) : store_(store) {}
  // What an earlier process has kept.
  Result<void> load();
  // The search begins anew.
  Result<void> clear();

  // The call of this RPC is made again after this fault. Each call site is tried once; 0: it is not known.
  Result<void> add(const search::PlannedFault& first, uint64_t site);
  // The one to be executed next, with the fault of its first attempt. It stays until it is concluded.
  std::optional<search::AbstractExecution> next() const;

  // An execution that the search has not come to.
  struct Ahead {
    search::AbstractId id = 0;
    std::vector<search::PlannedFault> faults;  // of its attempts, in their order
    std::vector<search::ObservedRpc> rpcs;
  };
  // The one that next() names is done. Empty: it showed no set of attempts that all failed.
  Result<void> conclude(std::vector<search::PlannedFault> faults,
                        std::span<const search::ObservedRpc> rpcs);
  // Is handed out once. nullopt: this set was not executed early.
  Result<std::optional<Ahead>> take(const std::vector<search::PlannedFault>& faults);
  const std::vector<Ahead>& ahead() const { return ahead_; }

 private:
  Result<void> save();

  search::SearchStore* store_;
  std::set<uint64_t> sites_;
  std::vector<search::PlannedFault> waiting_;
  std::vector<Ahead> ahead_;
  search::AbstractId next_id_ = kFirstId;
};

}  // namespace filibuster
