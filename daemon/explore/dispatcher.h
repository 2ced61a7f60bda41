// The search of one test, with what turns its executions into plans of faults. The dispatcher hands an
// execution out with its plan; whoever has a lane runs it, and gives back what it saw. Of the order in which
// executions are handed out nothing else knows.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/explore/case_source.h"
#include "daemon/explore/early_attempts.h"
#include "daemon/explore/fault_places.h"
#include "daemon/explore/suspects.h"
#include "daemon/observe/observation.h"
#include "daemon/search/search.h"
#include "daemon/store/store.h"

namespace filibuster {

class Dispatcher {
 public:
  using Clock = std::chrono::steady_clock;

  // What can be said of the rest of the search.
  struct Estimate {
    double rate = 0;          // executions in a second
    double seconds_left = 0;  // 0: nothing can be said
  };

  // Begins the search of `store`, or goes on with it. Executions that meet `suspects` come earlier. All arguments but the deadline must outlive the dispatcher.
  static Result<std::unique_ptr<Dispatcher>> open(const Config& config,
                                                  std::optional<Clock::time_point> deadline,
                                                  const Suspects& suspects,
                                                  search::SearchStore* store);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // nullopt: the space is explored as far as `reach`, or a bound is reached. What was handed out and is neither concluded
  // nor abandoned is handed out again by a later session.
  Result<std::optional<Case>> next(const search::Reach& reach = {});
  // What next() may hand out after that (search.h ahead). Changes nothing.
  Result<std::vector<Case>> ahead(size_t most, const search::Reach& reach = {});
  // `passed`: a retried call whose further attempts came since its fault has them fail together next (early_attempts.h).
  Result<void> conclude(search::AbstractId id, std::span<const search::ObservedRpc> rpcs,
                        bool passed);
  // The same for an execution of early_attempts.h. `attempts`: the set of faults that it stands for; {}: none.
  Result<void> conclude_early(std::vector<search::PlannedFault> attempts,
                              std::span<const search::ObservedRpc> rpcs);
  // The execution of early_attempts.h that stands for this set of faults. It is taken over now.
  Result<std::optional<EarlyAttempts::Ahead>> take_early(const search::AbstractExecution& one) {
    return early_.take(one.faults);
  }
  // The same for an execution that was run before the search began anew.
  Result<void> take_over(search::AbstractId id, std::span<const search::ObservedRpc> rpcs);
  Result<void> abandon(search::AbstractId id, std::string_view reason);
  // The execution ended in a failure: what it was given comes first elsewhere.
  void failed(search::AbstractId id) { search_->failed(id); }
  Result<void> leave_out(search::AbstractId id, std::string_view reason);
  // From now on the RPC gets this fault, too (Search::allow).
  Result<void> allow(Hash128 index, const FaultSpec& fault);
  // Forgets the search, not the outcomes and the RPCs that are known, and begins anew.
  Result<void> begin_anew();

  // The clock of estimate() starts now.
  void start_clock();
  Estimate estimate() const;
  bool is_time_over() const;
  bool has_begun() const { return counts().executed > 0; }

  // The faults of an execution as the report describes them.
  Result<std::vector<InjectedFault>> describe(const search::AbstractExecution& execution);
  Result<Case> case_of(const search::AbstractExecution& execution);
  // One fault of one RPC. nullopt: the store does not know it.
  std::optional<InjectedFault> describe(const search::PlannedFault& fault);
  // The RPCs of an execution as the search takes them: with interned outcomes, and the faults that they
  // may get.
  Result<Observation> observe(const ExecutionRecord& record, const UnstableRpcs& unstable,
                              const std::vector<NondeterminismRule>& masks);

  // Those of all that was ever scheduled.
  const FaultPlaces& places();

  const search::Search& search() const { return *search_; }
  // Executions that the search has not come to.
  const std::vector<EarlyAttempts::Ahead>& early() const { return early_.ahead(); }
  // Of an execution of either.
  std::vector<search::PlannedFault> faults_of(search::AbstractId id) const;
  // Of all executions, those that came early among them.
  search::SearchCounts counts() const;
  KnownRpcs& known() { return known_; }

 private:
  Dispatcher(const Config& config, std::optional<Clock::time_point> deadline,
             const Suspects& suspects, search::SearchStore* store);
  search::SearchOptions options();
  size_t rank_of(std::span<const search::PlannedFault> faults);
  uint64_t site_of(std::span<const search::PlannedFault> faults);
  // Whether the bound on executions is reached.
  bool is_full() const;
  Result<void> look_for_attempts(search::AbstractId id, std::span<const search::ObservedRpc> rpcs);

  const Config& config_;
  std::optional<Clock::time_point> deadline_;
  const Suspects& suspects_;
  search::SearchStore* store_;
  OutcomeTable outcomes_;
  KnownRpcs known_;
  EarlyAttempts early_;
  std::optional<search::Search> search_;
  std::map<std::pair<Hash128, search::OutcomeId>, bool> suspect_;  // as rank_of() has found them
  std::unordered_map<Hash128, uint64_t, Hash128Hasher>
      sites_;  // by index, as site_of() has found them
  FaultPlaces places_;
  Clock::time_point began_;
  uint64_t concluded_now_ = 0;  // executions since began_
  uint64_t scheduled_at_start_ = 0, decided_at_start_ = 0;
};

}  // namespace filibuster
