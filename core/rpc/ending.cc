#include "core/rpc/ending.h"

namespace filibuster {

std::string_view outcome_name(RpcOutcome outcome) {
  switch (outcome) {
    case RpcOutcome::kAnswered:
      return "answered";
    case RpcOutcome::kRefused:
      return "refused";
    case RpcOutcome::kReset:
      return "reset";
    case RpcOutcome::kClosed:
      return "closed";
    case RpcOutcome::kTimedOut:
      return "timed-out";
    case RpcOutcome::kGarbled:
      return "garbled";
    case RpcOutcome::kNotRead:
      return "not-read";
  }
  return "unknown";
}

}  // namespace filibuster
