// What an execution with faults at one call site shows: does its caller wait without end, does it
// retry, and how long does it wait before each retry?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/lint/record_view.h"

namespace filibuster::lint {

// Why a site is not probed, whatever the configuration says; "": it is.
std::string obstacle_to_probe(const RpcRecord& rpc);

enum class Silence : uint8_t {
  kNotSeen,  // the fault did not fire, or something else ended the request
  kGaveUp,   // the caller has a timeout
  kWaitsOn,  // the silence lasted until the hang limit
};
Silence judge_silence(const ExecutionRecord& record, Hash128 index);
Finding no_timeout(const RpcRecord& rpc, std::chrono::milliseconds silence);

// `index` and what repeats it under the same parent, in order of issue; empty: it was not issued.
Rpcs attempts_of(const ExecutionRecord& record, Hash128 index);

// At least two retries in a row, each sent less than this after the failure of the one before,
inline constexpr uint64_t kImmediateNs = 10'000'000;
// and later ones not noticeably later: shorter differences are those of a scheduler.
inline constexpr uint64_t kGrowthNs = 5'000'000;
inline constexpr size_t kLeastRetries = 2;
// Longer gaps are certainly waits; shorter ones may be a busy machine: they are measured again.
inline constexpr uint64_t kMaybeImmediateNs = 100'000'000;
inline constexpr int kMeasurements = 4;

// The shortest wait before each retry over all executions of a probe: a wait that the program makes
// is in every one of them, a delay of the scheduler is not.
class RetryGaps {
 public:
  void add(const Rpcs& attempts);
  bool immediate() const;        // what kImmediateNs and kGrowthNs say
  bool worth_measuring() const;  // enough retries, and not certainly waits
  const std::vector<uint64_t>& shortest() const { return shortest_; }

 private:
  std::vector<uint64_t> shortest_;  // nanoseconds, by number of the retry
  bool overlap_ = false;            // sent before the failure was known: hedged, or meant anyway
};
// Precondition: gaps.immediate(). `attempts`: of the last execution.
Finding retry_without_backoff(const Rpcs& attempts, const RetryGaps& gaps);

}  // namespace filibuster::lint
