#include "daemon/lane/idle_watch.h"

#include <poll.h>

#include <algorithm>

#include "daemon/agents/caller.h"

namespace filibuster {
namespace {

constexpr int kWatchMs = 100;  // heartbeats of libraries come every 5 to 50 ms

void add_missing(const std::vector<std::string>& from, std::vector<std::string>* to) {
  for (const std::string& text : from)
    if (std::find(to->begin(), to->end(), text) == to->end()) to->push_back(text);
}

bool same_row(const NotInterposedRecord& one, const NotInterposedRecord& other) {
  return one.service == other.service && one.peer == other.peer &&
         one.target_service == other.target_service && one.reason == other.reason &&
         one.outgoing == other.outgoing;
}

}  // namespace

bool IdleWatch::may_change(const std::vector<PlannedRpcFault>& plan,
                           const ExecutionResult& result) const {
  // What has ended is a finding, and is told as it is.
  if (!owed_ || result.stopped || !result.exit || !result.ended.empty()) return false;
  // A service that was not quite ready.
  if (plan.empty() && !result.exit->success()) return true;
  return std::any_of(
      result.record.rpcs.begin(), result.record.rpcs.end(), [](const RpcRecord& rpc) {
        return !is_test_call(rpc) && (rpc.cause == Cause::kOnlyActive || rpc.cause == Cause::kNone);
      });
}

bool IdleWatch::make_up(int wake_fd) {
  owed_ = false;
  pollfd wake{wake_fd, POLLIN, 0};
  return poll(&wake, 1, kWatchMs) == 0;
}

void carry_over(const ExecutionRecord& before, ExecutionRecord* record) {
  add_missing(before.notes, &record->notes);
  add_missing(before.runtime_problems, &record->runtime_problems);
  for (const NotInterposedRecord& row : before.not_interposed) {
    if (std::none_of(record->not_interposed.begin(), record->not_interposed.end(),
                     [&](const NotInterposedRecord& other) { return same_row(row, other); }))
      record->not_interposed.push_back(row);
  }
}

}  // namespace filibuster
