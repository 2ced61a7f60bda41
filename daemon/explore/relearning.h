// What varies only under faults. An RPC that is made only under faults is planned with the values that
// it had when it was seen. If these vary, the plan is not met. Then the execution that showed the RPC
// is run again, up to three times with equal plans. What varies between these runs is masked, or its
// RPCs are left out, as between reference executions. The search then begins anew; executions that saw
// no RPC of the kind are taken over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/explore/executor.h"
#include "daemon/explore/exploration.h"
#include "daemon/explore/search_reference.h"
#include "daemon/explore/sent_mutations.h"

namespace filibuster {

class Relearning {
 public:
  // All arguments outlive it.
  Relearning(ExplorationState* state, Executor* executor, SearchReference* reference,
             SentMutations* mutations)
      : state_(*state), executor_(*executor), reference_(*reference), mutations_(*mutations) {}

  enum class Learned {
    kNothing,    // `attempt` says why the plan was not met, as far as that was seen
    kBeganAnew,  // the search did
    kStopped,    // by the user
  };
  // The plan of `attempt` was not met.
  Result<Learned> learn(const Case& one, Attempt* attempt);

  // An execution whose result stands although the search began anew.
  struct Standing {
    search::ResultRow row;
    std::vector<search::ObservedRpc> rpcs;
  };
  // The one with these faults, which is handed out once. nullopt: it must run.
  std::optional<Standing> take(const search::AbstractExecution& execution);

 private:
  using FaultIds = std::vector<std::pair<Hash128, search::OutcomeId>>;
  struct Varied {  // between executions of the same plan
    std::vector<NondeterminismRule> rules;
    UnstableRpcs unstable;
    std::vector<Variation> variations;
    bool comes_again = false;  // the planned RPC came in one of them
    bool stopped = false;
    bool is_empty() const { return rules.empty() && unstable.empty(); }
  };
  // Comparisons for RPCs of one kind that did not come when a fault was planned for them.
  struct Comparisons {
    uint32_t times = 0;
    bool comes_again = false;  // they came when the same plan ran without that fault
  };

  static FaultIds ids_of(const search::AbstractExecution& execution);
  // True: an RPC like the missing one came, with other values than were known of it.
  bool came_with_other_values(search::AbstractId seen_in, const InjectedFault& missing,
                              const ExecutionRecord& record) const;
  // Runs the first `prefix` faults of the case, without the one of `missing` that follows them.
  Result<Varied> compare(const Case& one, size_t prefix, const InjectedFault& missing);
  void refuse_what_merges(const Nondeterminism& found, const std::string& under, Varied* out) const;
  // nullopt: it was stopped or inconclusive.
  Result<std::optional<ExecutionResult>> run_to_compare(const std::vector<PlannedRpcFault>& plan,
                                                        bool* stopped);
  std::string merges_in_reference(const NondeterminismRule& rule) const;
  NoConclusion cause_of(const Case& one, size_t missing, const ExecutionRecord& record) const;
  Result<Flow> begin_anew_with(const Varied& varied);
  Result<std::optional<Standing>> keep_what_stands(const Varied& varied);

  ExplorationState& state_;
  Executor& executor_;
  SearchReference& reference_;
  SentMutations& mutations_;
  std::map<std::string, Comparisons> compared_;  // by kind
  size_t times_learned_ = 0;
  std::map<FaultIds, Standing> standing_;
};

}  // namespace filibuster
