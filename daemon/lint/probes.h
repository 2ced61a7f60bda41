// What an execution with faults at one call site shows: does its caller wait without end, does it
// retry, and how long does it wait before each retry?
#pragma once

#include <string>
#include <vector>

#include "daemon/lint/record_view.h"

namespace filibuster::lint {

// Why the call site of `rpc` cannot be probed, whatever the configuration says; "" if it can.
std::string obstacle_to_probe(const RpcRecord& rpc);

enum class Silence : uint8_t {
  kNotSeen,  // the fault did not fire, or something else ended the request
  kGaveUp,   // the caller has a timeout
  kWaitsOn,  // the silence lasted until the hang limit
};
Silence judge_silence(const ExecutionRecord& record, Hash128 index);
Finding no_timeout(const RpcRecord& rpc, std::chrono::milliseconds silence);

// The RPC with this index and its repetitions under the same parent, in order of issue; empty if no
// RPC with this index was issued.
Rpcs attempts_of(const ExecutionRecord& record, Hash128 index);

// Retries have no backoff if there are at least kLeastRetries in a row, each is sent less than
// kImmediateNs after the attempt before it failed, and the last wait is less than kGrowthNs longer than
// the first: a smaller difference may come from the scheduler.
inline constexpr uint64_t kImmediateNs = 10'000'000;
inline constexpr uint64_t kGrowthNs = 5'000'000;
inline constexpr size_t kLeastRetries = 2;
// A gap of this length or more is certainly a wait of the program. A shorter one may come from a busy
// machine, so the probe is executed again, up to kMeasurements times in all.
inline constexpr uint64_t kMaybeImmediateNs = 100'000'000;
inline constexpr int kMeasurements = 4;

// The shortest wait before each retry over all executions of a probe: a wait that the program makes
// is in every one of them, a delay of the scheduler is not.
class RetryGaps {
 public:
  void add(const Rpcs& attempts);
  bool immediate() const;        // the retries have no backoff, as defined above
  bool worth_measuring() const;  // there are enough retries, and no gap is certainly a wait
  const std::vector<uint64_t>& shortest() const { return shortest_; }

 private:
  std::vector<uint64_t> shortest_;  // nanoseconds, by number of the retry
  bool overlap_ = false;  // a request was sent before the failure was known: it is no retry
};
// Precondition: gaps.immediate(). `attempts` are those of the last execution.
Finding retry_without_backoff(const Rpcs& attempts, const RetryGaps& gaps);

}  // namespace filibuster::lint
