// How the executions of an exploration are run: on which lane, and whether they are forked from a snapshot of the test or
// started plainly. Whatever the way, an execution has to show what a plain start on lane 0 shows. A way that does not is
// given up, and the report says why.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "daemon/explore/case_source.h"
#include "daemon/explore/exploration.h"
#include "daemon/explore/lane_pool.h"
#include "daemon/lane/not_forked.h"

namespace filibuster {

class Executor final : public CaseRunner {
 public:
  // `state` outlives the executor.
  explicit Executor(ExplorationState* state) : state_(*state) {}

  // To be called before all else. Error: the test's command or environment cannot be made.
  Result<void> begin();
  // On every lane.
  void mask(const MaskTable& masks);
  // Of every lane that begins later, too.
  void set_hang_limit(std::chrono::milliseconds limit);
  std::chrono::milliseconds hang_limit() const { return hang_limit_; }
  // The reference execution that other ways of running the test are compared with.
  void set_reference(const ExecutionResult& result) { reference_ = {result.pid, result.record}; }
  const ExecutionRecord& reference() const { return reference_.record; }
  // Of the reference execution, and of executions whose plan was met, with their answers as lane 0 gives them.
  Result<void> note_met(const Observation& seen, const ExecutionRecord& record);

  // As TestRun::attempt, with notes of what the executions showed. All but `first`, which may be of any lane, run on lane 0.
  Result<Attempt> attempt(const std::vector<PlannedRpcFault>& plan,
                          TestStarter::Start start = TestStarter::Start::kPlain,
                          std::optional<Attempt> first = std::nullopt);
  // One case, in the way that was found. What is doubtful is run again as a plain start.
  Result<CaseOutcome> execute(const Case& one, CaseSource* source) override;
  // A note, if the execution is inconclusive and is run again.
  void note_repetition(const Attempt& one);

  // Finds the way in which executions are started.
  Result<void> begin_snapshots();
  // Decides again where few executions were to be run, since each may bring further ones.
  Result<void> reconsider_snapshots();
  // Another test has run on the lane meanwhile: its masks and limits are this test's again. put_aside() comes before that.
  void put_aside();
  Result<void> take_up();
  // Adds lanes to the search, if several are wanted and there is enough to run.
  void begin_lanes();
  // `compare`: every lane that was used is compared with lane 0, if the session wants that.
  void end_lanes(bool compare);

  TestRun& run() { return *run_; }
  // null: there is one lane.
  LanePool* lanes() { return pool_.get(); }
  // False: an answer is of a lane with other ports, and not all of it was seen.
  bool read_as_of_lane_0(const Attempt& attempt, ExecutionRecord* record) const;
  // How executions were started, and why not otherwise. No execution follows.
  void tell(TestReport* report);

 private:
  // The first execution of the case on any lane; nullopt: there is one lane.
  Result<std::optional<Attempt>> run_on_lanes(const Case& one, CaseSource* source);
  // Why it is of no use to try; "": it may be. And what kind of reason it is.
  std::string why_no_snapshots(NotForked* kind);
  Result<std::string> why_forked_differs();
  Result<std::string> attempts_differ(const Attempt& one, const Attempt& other);

  ExplorationState& state_;
  std::unique_ptr<TestRun> run_;
  struct Reference {
    pid_t pid = 0;
    ExecutionRecord record;
  } reference_;
  std::unordered_set<Hash128, Hash128Hasher> answers_;  // as lane 0 gives them
  std::shared_ptr<const RpcMemory> known_rpcs_;         // of the lane, while it is put aside
  std::unique_ptr<LanePool> pool_;
  std::chrono::milliseconds hang_limit_{0};
  int ways_compared_ = 0;    // executions that were run both ways
  bool pays_later_ = false;  // snapshots, if the search grows
};

}  // namespace filibuster
