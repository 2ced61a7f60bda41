#include "daemon/lint/probes.h"

#include <algorithm>

#include "core/http2/frame.h"
#include "daemon/report/unknown_cause.h"

namespace filibuster::lint {
namespace {

const RpcRecord* find(const ExecutionRecord& record, Hash128 index) {
  const auto at = std::find_if(record.rpcs.begin(), record.rpcs.end(),
                               [&](const RpcRecord& rpc) { return rpc.index == index; });
  return at == record.rpcs.end() ? nullptr : &*at;
}

}  // namespace

std::string obstacle_to_probe(const RpcRecord& rpc) {
  if (rpc.cause == Cause::kNone) return why_cause_not_known(rpc);
  if ((rpc.flags & kRpcPreliminary) != 0)
    return "its index stayed preliminary: the request body did not end";
  return "";
}

Silence judge_silence(const ExecutionRecord& record, Hash128 index) {
  const RpcRecord* rpc = find(record, index);
  if (rpc == nullptr || !rpc->injected || rpc->fault.kind != FaultKind::kTimeout)
    return Silence::kNotSeen;
  if (rpc->hang_limit.is_of_silence()) return Silence::kWaitsOn;
  if (rpc->open) return Silence::kNotSeen;
  // A client over HTTP/2 that gives up cancels its stream and keeps the connection.
  const bool cancelled = rpc->outcome == RpcOutcome::kReset &&
                         rpc->stream_error == static_cast<uint32_t>(http2::ErrorCode::kCancel);
  return rpc->outcome == RpcOutcome::kTimedOut || cancelled ? Silence::kGaveUp : Silence::kNotSeen;
}

Finding no_timeout(const RpcRecord& rpc, std::chrono::milliseconds silence) {
  Finding out;
  out.lint = Lint::kNoTimeout;
  out.severity = row_of(out.lint).severity;
  const auto nanoseconds = std::chrono::nanoseconds(silence).count();
  out.text = caller_of(rpc) + " waits without end for the answer to " + request_text(rpc) +
             ": after " + duration_text(static_cast<uint64_t>(nanoseconds)) +
             " of silence it still waited";
  out.calls = {describe_call(rpc)};
  return out;
}

Rpcs attempts_of(const ExecutionRecord& record, Hash128 index) {
  Rpcs out;
  const RpcRecord* first = find(record, index);
  if (first == nullptr) return out;
  for (const RpcRecord& rpc : record.rpcs) {
    if (&rpc == first || (rpc.issued_ns >= first->issued_ns &&
                          rpc.parent_rpc == first->parent_rpc && rpc.caller == first->caller &&
                          is_of_this_execution(rpc) && request_key(rpc) == request_key(*first))) {
      out.push_back(&rpc);
    }
  }
  return out;
}

void RetryGaps::add(const Rpcs& attempts) {
  for (size_t i = 0; i + 1 < attempts.size() && attempts[i]->injected; ++i) {
    const RpcRecord& failed = *attempts[i];
    const RpcRecord& next = *attempts[i + 1];
    if (failed.open || failed.finished_ns == 0 || next.issued_ns < failed.finished_ns) {
      overlap_ = true;
      return;
    }
    const uint64_t gap = next.issued_ns - failed.finished_ns;
    if (i < shortest_.size()) {
      shortest_[i] = std::min(shortest_[i], gap);
    } else {
      shortest_.push_back(gap);
    }
  }
}

bool RetryGaps::worth_measuring() const {
  return !overlap_ && shortest_.size() >= kLeastRetries &&
         *std::max_element(shortest_.begin(), shortest_.end()) < kMaybeImmediateNs;
}

bool RetryGaps::immediate() const {
  return worth_measuring() &&
         *std::max_element(shortest_.begin(), shortest_.end()) < kImmediateNs &&
         shortest_.back() < shortest_.front() + kGrowthNs;
}

Finding retry_without_backoff(const Rpcs& attempts, const RetryGaps& gaps) {
  const RpcRecord& first = *attempts.front();
  const std::vector<uint64_t>& shortest = gaps.shortest();
  Finding out;
  out.lint = Lint::kRetryWithoutBackoff;
  out.severity = row_of(out.lint).severity;
  std::string waits;
  for (size_t i = 0; i < shortest.size(); ++i) {
    waits += (i == 0 ? "" : i + 1 == shortest.size() ? " and " : ", ") + duration_text(shortest[i]);
  }
  out.text = caller_of(first) + " sends " + request_text(first) + " again " +
             counted(shortest.size(), "time", "times") + " under " + to_text(first.fault) + ", " +
             waits + " after the previous failure: its waits do not grow";
  for (const RpcRecord* attempt : attempts) out.calls.push_back(describe_call(*attempt));
  return out;
}

}  // namespace filibuster::lint
