// Reading the plan, the lease and the names of a lane: what the daemon writes under seqlocks
// (odd sequence = being written). No globals: testable over plain memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/protocol/lane_memory.h"

namespace filibuster::preload {

enum class PlanLookup : uint8_t {
  kAbsent,      // no fault for this RPC
  kPlanned,     // `*entry` is a copy
  kUnreadable,  // not known, because the daemon kept writing; the caller reports it
};

// The fault of the RPC with this index.
PlanLookup find_planned(const LaneMemory* lane, Hash128 index, PlanEntry* entry);
// The fault that waits for a call of one of these edges, if this call is its turn: then it fires no more. Each fault that waits for it counts
// the call.
PlanLookup take_armed(LaneMemory* lane, std::span<const Hash128> edges, uint32_t execution,
                      PlanEntry* entry);
// What the sequence of this group has for one of its attempts: the entry of the item. Where no item names the
// attempt, which passes then, the entry of the sequence itself.
PlanLookup find_attempt_rule(const LaneMemory* lane, uint32_t group, uint32_t attempt,
                             PlanEntry* entry);
// The fault at connect of the RPC that a connect at this place is for, according to what was counted in `execution`.
PlanLookup find_planned_connect(const LaneMemory* lane, Hash128 connect_key, uint32_t execution,
                                PlanEntry* entry);

// A refusal at connect of an RPC that this path causes, where that RPC is the next one at its place.
PlanLookup find_refusal_to_come(const LaneMemory* lane, Hash128 parent_path, uint32_t execution,
                                PlanEntry* entry);

// A fault fires only under a fresh lease: a daemon that died never leaves faults behind.
bool lease_fresh(const LaneMemory* lane, uint64_t now_ns);

// Copies the rendered response of a kStatus entry; `head_request`: its head only. The bytes copied;
// 0 if there is none, it does not fit, or the plan changed meanwhile.
size_t copy_blob(const LaneMemory* lane, const PlanEntry& entry, bool head_request, char* out,
                 size_t capacity);

// What is masked in one request. False: the daemon kept writing, which it does between executions.
bool find_masks(const LaneMemory* lane, const MaskedRequest& request, RequestMasks* out);

// The row for `wanted` in the lane's table of names (kind, port, address are compared); false: none.
bool find_target(const LaneMemory* lane, const Target128& wanted, Target128* row);

}  // namespace filibuster::preload
