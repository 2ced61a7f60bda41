// What `filibuster trace --follow` shows: calls by call site, with their rate and latency, and the last
// whole tree. Pure, but for what it is told.
//
//   WatchedCalls calls;
//   calls.see(record, [](const RpcRecord& rpc) { ... });   // each call that has ended since
//   calls.end_interval(1.0);
//   std::string text = calls.text();
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <unordered_set>

#include "daemon/model/execution_record.h"

namespace filibuster {

class WatchedCalls {
 public:
  // A snapshot of the running execution. Calls `ended` for each RPC that it shows ended for the first
  // time.
  void see(const ExecutionRecord& record, const std::function<void(const RpcRecord&)>& ended);
  // Another execution begins: its RPCs have new ids, and what was under way in `last` is counted, since nobody hears how it ends.
  void begin_next(const ExecutionRecord& last);
  size_t ids() const { return told_.size(); }  // of calls that have ended, since then
  // So many writes went over connections that were open before, in all.
  void set_unseen(uint64_t writes) { unseen_ = writes; }
  uint64_t unseen() const { return unseen_; }
  uint64_t cut_off() const { return cut_off_; }
  // Events that were lost on their way: what they told is not in the table, or has no end.
  uint64_t lost() const { return lost_ + lost_now_; }
  // Rates are those of the calls that ended since the last call of this.
  void end_interval(double seconds);

  uint64_t count() const { return count_; }
  nlohmann::json rows() const;
  // The table, and under it the tree of the last request that was seen from its begin to its end.
  std::string text() const;

 private:
  struct Site {
    uint64_t count = 0, failed = 0, in_interval = 0;
    double rate = 0;
    // The last latencies, in microseconds; `count` says how many of them there are.
    std::array<uint32_t, 512> microseconds{};
    double percentile_ms(double part) const;
  };
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  void keep_tree(const ExecutionRecord& record);

  std::map<Key, Site> sites_;  // caller, service, call, call site
  std::unordered_set<uint64_t> told_;
  uint64_t count_ = 0, beyond_ = 0, unseen_ = 0, cut_off_ = 0;
  uint64_t lost_ = 0, lost_now_ = 0;  // in executions that are over, and in the one that runs
  std::string tree_;
};

}  // namespace filibuster
