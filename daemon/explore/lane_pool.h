// Executions on several lanes. The search stays in its order, as on one lane: it asks for one execution
// after the other. Meanwhile the lanes run what stands next in it ("ahead"). When the search comes to such
// an execution, its result is there. A result that the search never asks for is thrown away and counted. So
// findings, verdicts and counts do not depend on the number of lanes. Lanes that make nothing faster are
// given up (lane_trial.h).
//
// One thread for each lane runs executions, and nothing else: the search, the store and the session belong
// to the thread that owns the pool, which alone calls the public functions.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/explore/lane_trial.h"
#include "daemon/explore/test_run.h"
#include "daemon/lane/lane_set.h"

namespace filibuster {

class LanePool {
 public:
  using Plan = std::vector<PlannedRpcFault>;

  struct Options {
    SessionContext* session;
    LaneSet* further;
    TestRun* first;  // of lane 0
    Lane* first_lane;
    const TestConfig* test;
    const Config* config;
    uint32_t lanes;  // at least 2
    // Makes a lane that has just started equal to lane 0 (masks, limits). Called by its thread.
    std::function<void(Lane&)> prepare;
    // Says what an execution without faults on a further lane shows that lane 0 does not; "": nothing.
    // Called by the thread that owns the pool.
    std::function<std::string(const Attempt&)> compare;
  };
  explicit LanePool(Options options);
  LanePool(const LanePool&) = delete;
  LanePool& operator=(const LanePool&) = delete;
  ~LanePool();  // waits for the executions that run

  // The plans of what may come next, at most so many. Called by run(), on its thread.
  using Ahead = std::function<Result<std::vector<Plan>>(size_t most)>;
  // The first execution of this plan, on any lane. Looks further ahead only while a lane has nothing to do,
  // since what comes late in the search is likelier to be left out of it.
  Result<Attempt> run(const Plan& plan, const Ahead& ahead);

  // Keeps lanes idle as long as it lives, so that the owner may use them: lane 0, lane 0 while no other one starts as it does, or
  // all of them. All: forgets what was run ahead, too.
  class Hold {
   public:
    enum class Which { kFirst, kFirstAndStarts, kAll };
    Hold(LanePool* pool, Which which);  // null: does nothing
    ~Hold();
    Hold(const Hold&) = delete;

   private:
    LanePool* pool_;
    Which which_;
  };
  // Calls `change` for each further lane that is in use. Precondition: all are held.
  void each_further(const std::function<void(Lane&, TestRun&)>& change);

  // Lane 0 has found another way than plain to start the test: so do the others, and are compared again.
  void find_ways();
  // Waits for the lanes that are starting, and compares them.
  void compare_all();
  uint32_t lanes_used()
      const;  // those among them that were given up, since they made nothing faster
  uint64_t thrown_away() const;
  // Why lanes are not used any more, a line each.
  std::vector<std::string> problems() const;

 private:
  struct Worker {
    enum class State {
      kStarting,
      kToCompare,
      kIdle,
      kBusy,
      kGone,
      kGivenUp
    } state = State::kStarting;
    bool starts_now = false;
    bool finds_way = false;  // when it is idle
    uint32_t number = 0;
    Lane* lane = nullptr;
    TestConfig test;
    std::unique_ptr<TestRun> own;
    TestRun* run = nullptr;
    std::vector<Attempt> samples;
    int starts = 0;
    std::thread thread;
  };
  void work(Worker* worker);
  Result<void> start(Worker* worker);
  Result<void> find_way(Worker* worker);
  bool is_held(const Worker& worker) const;
  uint32_t rank(const Worker& worker) const;
  bool may_begin(const Worker& worker) const;
  bool is_known(const Plan& plan) const;
  bool has_idle_lane() const;
  Result<void> look_ahead(const Ahead& ahead, size_t most, std::unique_lock<std::mutex>* lock);
  void begin_anew(Worker* worker, std::unique_lock<std::mutex>* lock);
  void give_up(Worker* worker, const std::string& why);
  void compare_new_lanes(std::unique_lock<std::mutex>* lock);
  void begin_trial();
  void tell_trial(void (LaneTrial::*what)(double));

  const Options options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Plan> pending_;
  std::vector<Plan> running_;
  std::vector<std::pair<Plan, Result<Attempt>>> done_;
  int hold_first_ = 0, hold_starts_ = 0, hold_all_ = 0;
  uint64_t epoch_ = 0;  // advances when results are forgotten
  uint64_t finished_ = 0, asked_ = 0;
  bool stopping_ = false;
  std::optional<LaneTrial> trial_;  // since all lanes were compared, until one is lost
  bool lost_lane_ = false;
  std::vector<std::string> problems_;
};

}  // namespace filibuster
