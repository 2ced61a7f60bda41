// Whether the services of a lane were left alone for a moment before what they do counts.
//
// A call site that calls while no request is open belongs to a background thread (core/protocol/lane_memory.h, SiteFlags). Once
// that was seen, its calls are never attributed to the only open request. And what a service still calls when it has just become
// ready is not caused by the first request of the test. Most applications make no such call, so nobody waits beforehand: the
// execution that shows a call whose cause such a watch may change is the one that is made up for. It is run again after the watch.
//
//   lane->idle_watch().owe();                          // the services have become ready
//   if (watch.may_change(plan, result) && watch.make_up(wake_fd)) ... the execution again
#pragma once

#include <vector>

#include "daemon/lane/execution_runner.h"

namespace filibuster {

class IdleWatch {
 public:
  // From now on, until make_up(), executions are looked at.
  void owe() { owed_ = true; }
  // Might this execution have shown something else if the services had been watched before?
  bool may_change(const std::vector<PlannedRpcFault>& plan, const ExecutionResult& result) const;
  // Leaves the services alone, at most once for each owe(). False: the session is to stop.
  bool make_up(int wake_fd);

 private:
  bool owed_ = false;
};

// Adds to `record` what the one before it has of processes and connections, and not of its RPCs: agents report that once.
void carry_over(const ExecutionRecord& before, ExecutionRecord* record);

}  // namespace filibuster
