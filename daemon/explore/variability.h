// What varies by itself in an exploration, and what is done about it: masks of fields, RPCs that get no fault, and RPCs
// that come in some executions only (a cache that is warm, a counter, a queue). These are counted in all executions. One that
// has come a second time gets its faults, in executions that are tried a few times, since it need not come in each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/explore/case_source.h"
#include "daemon/lane/execution_runner.h"
#include "daemon/model/test_report.h"
#include "daemon/observe/nondeterminism.h"
#include "daemon/observe/unstable_rpcs.h"
#include "daemon/store/store.h"

namespace filibuster {

class Variability {
 public:
  // Gives the agents of every lane these masks.
  using Apply = std::function<void(const MaskTable&)>;
  // The test and the configuration outlive it.
  Variability(const TestConfig* test, const Config* config, Apply apply);
  void keep_in(search::SearchStore* store) { store_ = store; }
  // What an interrupted session has masked: its indexes were formed with that.
  Result<void> load_masks();
  Result<void> load_appearances();
  void clear();

  const std::vector<NondeterminismRule>& masks() const { return masks_; }
  const UnstableRpcs& unstable() const { return unstable_; }
  const std::vector<Variation>& variations() const { return variations_; }

  // The masks of the configuration, and no others.
  Result<void> mask_as_configured() { return mask(config_.nondeterminism); }
  // These masks, too, since executions have shown that they are needed.
  Result<void> mask_further(const std::vector<NondeterminismRule>& rules);
  void add(Variation variation) { variations_.push_back(std::move(variation)); }
  // What comparing executions without faults has shown; what is known already is not said again.
  void add(const Nondeterminism& found);
  void add(const UnstableRpcs& unstable) { unstable_.add(unstable); }
  // The RPC of this rule gets no faults, and `reason` says why.
  void leave_out(const NondeterminismRule& rule, const std::string& reason);
  Result<void> save();

  // Counts what comes in some executions only; of each execution that was seen whole. Returns the calls that have now come
  // a second time, as describe_rpc() names them.
  std::vector<std::string> see(const ExecutionRecord& record);
  // Writes where a resumed exploration would go on otherwise. `all`: the counts, too, which change with each execution.
  Result<void> keep_appearances(bool all = false);
  // The reference execution that shows most of what comes and goes: its single faults are scheduled from it.
  size_t reference_to_take(const std::vector<ExecutionResult>& runs) const;
  // The planned RPC that comes in some executions only and did not come in this one; nullptr: none.
  const InjectedFault* did_not_come(const Case& one, const ExecutionRecord& record) const;
  // An RPC of the case did not come when it was to have a fault, and was not seen since: the case is not executed. nullptr:
  // none.
  const InjectedFault* given_up(const Case& one) const;
  // In so many executions more `missing` did not come. True: no further one is tried.
  bool misses(const InjectedFault& missing, uint32_t executions);
  // "seen in 2 of 9 executions: it comes and goes: ..."; "": the call comes in all executions.
  std::string appearance_text(const std::string& call) const;
  // What was counted over all executions takes the place of what the first ones have said. `report->rpcs` is known.
  void tell(TestReport* report) const;

 private:
  Result<void> mask(const std::vector<NondeterminismRule>& rules);

  const TestConfig& test_;
  const Config& config_;
  Apply apply_;
  search::SearchStore* store_ = nullptr;
  std::vector<NondeterminismRule> masks_;     // the masks that the agents use now
  std::vector<NondeterminismRule> proposed_;  // the masks among them that this exploration found
  UnstableRpcs unstable_;
  std::vector<Variation> variations_;
  struct Appearances {  // of RPCs that come in some executions only
    uint32_t executions = 0;
    std::map<std::string, uint32_t> calls;  // by describe_rpc()
    std::map<Hash128, uint32_t> indexes;
    bool kept = false;  // in the store, but for what was counted since
  } appearances_;
  // Executions in a row in which such an RPC was to have a fault, and did not come.
  std::map<Hash128, uint32_t> misses_;
};

}  // namespace filibuster
