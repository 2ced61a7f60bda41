// Why the agents of a lane say that its execution is incomplete: something could not be counted, read or told.
#pragma once

#include <cstdint>

namespace filibuster {

enum class Incomplete : uint32_t {
  kNotTold,  // an agent of another version gave no reason
  kCounters,
  kIncoming,
  kFields,
  kStack,
  kPlan,
  kReadBeforeFault,
  kEndedConnection,
  kLeaseOver,
};

// For a person: what happened.
constexpr const char* incomplete_text(Incomplete why) {
  switch (why) {
    case Incomplete::kNotTold:
      break;
    case Incomplete::kCounters:
      return "an invocation could not be counted: the table of counters is full";
    case Incomplete::kIncoming:
      return "an incoming request could not be followed: too many were open in one process";
    case Incomplete::kFields:
      return "the fields of a request could not be read: it has another index than in other executions";
    case Incomplete::kStack:
      return "the call stack of a request could not be read: it has another index than in other executions";
    case Incomplete::kPlan:
      return "the plan could not be read by a process: a fault may be missing";
    case Incomplete::kReadBeforeFault:
      return "an answer was read before the fault that was to replace it was injected";
    case Incomplete::kEndedConnection:
      return "a connection that was ended for another call was used again";
    case Incomplete::kLeaseOver:
      return "a process passed calls by: the daemon had been silent for too long";
  }
  return "an agent could not tell all";
}

}  // namespace filibuster
