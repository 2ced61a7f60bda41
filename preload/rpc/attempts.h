// Sequences of attempts: a plan entry of FaultKind::kAttempts is hit by its index at the first attempt of a call. Each
// further attempt of that call takes the next outcome of the sequence, whatever its own index. Which RPC is one is
// decided here, over lane memory alone, so that all processes of a lane agree. Lock-free; no globals but for
// know_field_names: testable over plain memory.
#pragma once

#include <cstdint>

#include "core/hash.h"
#include "core/protocol/events.h"
#include "core/protocol/lane_memory.h"

namespace filibuster::preload {

// What tells whose attempt an RPC is. All of it belongs to the same cause: attempts of one call are caused by the
// same request.
struct AttemptIdentity {
  Hash128 path;        // of the cause
  Hash128 request;     // signature without call site, and payload
  Hash128 site;        // the call site; zero: it is not known, so nothing is concluded from it
  Hash128 request_id;  // zero: it has none
  bool request_id_with_path = false;
  bool was_attempted = false;  // the RPC says so (kGrpcPreviousAttempts)
};

struct Attempt {
  uint32_t group = 0;   // its AttemptGroup + 1; 0: the RPC is no attempt of a sequence
  uint32_t number = 0;  // from 1
  GroupedBy grouped_by = GroupedBy::kFirst;
};

inline bool sequences_are_planned(const LaneMemory* lane) {
  return lane->sequences_planned.load(std::memory_order_relaxed) != 0;
}

// The RPC is the first attempt of the sequence `entry`. group 0: the sequence has begun in this execution, at an RPC
// with the same index.
Attempt first_attempt(LaneMemory* lane, const PlanEntry& entry, uint32_t execution,
                      const AttemptIdentity& identity);
// Is the RPC a further attempt of a call that has begun?
Attempt further_attempt(LaneMemory* lane, uint32_t execution, const AttemptIdentity& identity);
// The attempt has ended. By that, later RPCs are told apart: a request that is sent again after its success is
// another call.
void attempt_ended(LaneMemory* lane, const Attempt& attempt, uint32_t execution, bool failed);

// What this attempt gets: a copy of the item's entry. Of kind kNone: it passes.
struct AttemptOutcome {
  bool readable = true;  // false: the daemon kept writing the plan
  PlanEntry entry{};
};
AttemptOutcome attempt_outcome(const LaneMemory* lane, const Attempt& attempt);

// Adds the header fields that the session's configuration names to those that requests are looked at for.
void know_field_names(const LaneMemory* lane);

}  // namespace filibuster::preload
