#include "preload/rpc/plan.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/fault/fault.h"
#include "preload/rpc/counters.h"

namespace filibuster::preload {
namespace {

// The daemon writes a plan in microseconds, and between executions: more tries than this mean that
// it was stopped or died in the middle.
constexpr int kMaxTries = 10'000;
constexpr size_t kMaxFitting = 32;  // armed faults that one call may fit

// Runs `read` until a whole run saw no write. `read` must bear any garbage.
template <typename Read>
bool read_consistently(const std::atomic<uint32_t>& sequence, Read read) {
  for (int i = 0; i < kMaxTries; ++i) {
    const uint32_t before = sequence.load(std::memory_order_acquire);
    if ((before & 1) == 0) {
      read();
      std::atomic_thread_fence(std::memory_order_acquire);
      if (sequence.load(std::memory_order_relaxed) == before) return true;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

template <typename Matches>
PlanLookup find_entry(const LaneMemory* lane, PlanEntry* entry, Matches matches) {
  bool found = false;
  const bool read = read_consistently(lane->plan_sequence, [&] {
    found = false;
    uint32_t count = lane->plan_count;
    if (count > kMaxPlanEntries) count = kMaxPlanEntries;
    for (uint32_t i = 0; i < count && !found; ++i) {
      if (!matches(lane->plan[i])) continue;
      *entry = lane->plan[i];
      found = true;
    }
  });
  if (!read) return PlanLookup::kUnreadable;
  return found ? PlanLookup::kPlanned : PlanLookup::kAbsent;
}

}  // namespace

PlanLookup find_planned(const LaneMemory* lane, Hash128 index, PlanEntry* entry) {
  return find_entry(lane, entry, [&](const PlanEntry& e) { return e.index == index; });
}

namespace {
// True: it is this call's turn. `has_fault`: the call has one already, so that the arm waits for the next call where it would be its turn.
bool count_down(Arm* arm, uint32_t execution, bool has_fault) {
  uint64_t left = arm->left.load(std::memory_order_acquire);
  while (left >> 32 == execution && static_cast<uint32_t>(left) != 0) {
    if (static_cast<uint32_t>(left) == kEachCall) return !has_fault;
    if (has_fault && static_cast<uint32_t>(left) == 1) return false;
    if (arm->left.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel))
      return static_cast<uint32_t>(left) == 1;
  }
  return false;
}
}  // namespace

PlanLookup take_armed(LaneMemory* lane, std::span<const Hash128> edges, uint32_t execution,
                      PlanEntry* entry) {
  // Counting is not repeated when the plan is read again, so the numbers come first.
  uint32_t fits[kMaxFitting];
  size_t count = 0;
  PlanEntry seen;
  const PlanLookup read = find_entry(lane, &seen, [&](const PlanEntry& e) {
    if (&e == lane->plan) count = 0;  // the plan is read from its begin
    if (e.arm == 0 || e.arm > kMaxArms || count == kMaxFitting) return false;
    if (std::find(edges.begin(), edges.end(), e.edge) != edges.end()) fits[count++] = e.arm;
    return false;
  });
  if (read == PlanLookup::kUnreadable) return read;
  uint32_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    if (count_down(&lane->arms[fits[i] - 1], execution, taken != 0)) taken = fits[i];
  }
  if (taken == 0) return PlanLookup::kAbsent;
  return find_entry(lane, entry, [&](const PlanEntry& e) { return e.arm == taken; });
}

PlanLookup find_attempt_rule(const LaneMemory* lane, uint32_t group, uint32_t attempt,
                             PlanEntry* entry) {
  // The items of a sequence stand in its order, so the first that covers the attempt decides it.
  const PlanLookup item = find_entry(lane, entry, [&](const PlanEntry& e) {
    return e.attempt_first != 0 && e.group == group && attempt >= e.attempt_first &&
           (e.attempt_last == 0 || attempt <= e.attempt_last) &&
           (attempt - e.attempt_first) % (e.attempt_step == 0 ? 1 : e.attempt_step) == 0;
  });
  if (item != PlanLookup::kAbsent) return item;
  return find_entry(lane, entry, [&](const PlanEntry& e) {
    return e.kind == static_cast<uint8_t>(FaultKind::kAttempts) && e.group == group;
  });
}

namespace {
// Does `e` happen at connect, and is its RPC the next one at its places by what was counted there?
bool is_next(const LaneMemory* lane, const PlanEntry& e, uint32_t execution) {
  if (!is_at_connect(static_cast<FaultKind>(e.kind)) || (e.number == 0 && e.service_number == 0))
    return false;
  const auto next_at = [&](Hash128 place) {
    return counted_so_far(lane, execution_key(place, execution)) + 1;
  };
  return (e.number == 0 || next_at(e.place) == e.number) &&
         (e.service_number == 0 || next_at(e.service_place) == e.service_number);
}
}  // namespace

PlanLookup find_refusal_to_come(const LaneMemory* lane, Hash128 parent_path, uint32_t execution,
                                PlanEntry* entry) {
  return find_entry(lane, entry, [&](const PlanEntry& e) {
    // Without an order among the call sites another RPC may come first.
    return e.kind == static_cast<uint8_t>(FaultKind::kRefused) && e.parent_path == parent_path &&
           e.service_number != 0 && is_next(lane, e, execution);
  });
}

PlanLookup find_planned_connect(const LaneMemory* lane, Hash128 connect_key, uint32_t execution,
                                PlanEntry* entry) {
  return find_entry(lane, entry, [&](const PlanEntry& e) {
    return e.connect_key == connect_key && is_next(lane, e, execution);
  });
}

bool lease_fresh(const LaneMemory* lane, uint64_t now_ns) {
  const uint64_t renewed = lane->lease_ns.load(std::memory_order_acquire);
  // A lease that was renewed after `now_ns` was taken is fresh.
  return renewed != 0 && (renewed >= now_ns || now_ns - renewed < kLeaseNs);
}

size_t copy_blob(const LaneMemory* lane, const PlanEntry& entry, bool head_request, char* out,
                 size_t capacity) {
  const size_t size = head_request ? entry.blob_head_size : entry.blob_size;
  if (entry.blob_offset > kBlobSize || size > kBlobSize - entry.blob_offset || size > capacity)
    return 0;
  bool same = false;
  const bool read = read_consistently(lane->plan_sequence, [&] {
    const uint32_t count = lane->plan_count;
    same = entry.id < count && entry.id < kMaxPlanEntries &&
           lane->plan[entry.id].index == entry.index &&
           lane->plan[entry.id].blob_offset == entry.blob_offset;
    if (same) std::memcpy(out, lane->blob + entry.blob_offset, size);
  });
  return read && same ? size : 0;
}

bool find_masks(const LaneMemory* lane, const MaskedRequest& request, RequestMasks* out) {
  return read_consistently(lane->mask_sequence, [&] { select_masks(lane->masks, request, out); });
}

bool find_target(const LaneMemory* lane, const Target128& wanted, Target128* row) {
  // A loopback address without a row of its own leads to who listens at all addresses. And who connects to
  // a wildcard address meets who listens at 127.0.0.1.
  constexpr uint8_t kAny[16] = {}, kLocalhost[16] = {127, 0, 0, 1};
  const bool any = std::memcmp(wanted.address, kAny, sizeof kAny) == 0;
  const uint8_t* instead = wanted.kind != TargetKind::kLoopback ? wanted.address
                           : any                                ? kLocalhost
                                                                : kAny;
  bool found = false;
  const bool read = read_consistently(lane->target_version, [&] {
    found = false;
    uint32_t count = lane->target_count;
    if (count > kMaxTargets) count = kMaxTargets;
    for (uint32_t i = 0; i < count; ++i) {
      const Target128& t = lane->targets[i];
      if (t.kind != wanted.kind || t.port != wanted.port) continue;
      const bool same = std::memcmp(t.address, wanted.address, sizeof t.address) == 0;
      if (!same && (found || std::memcmp(t.address, instead, sizeof t.address) != 0)) continue;
      *row = t;
      found = true;
      if (same) break;
    }
  });
  if (!read || !found) return false;
  if (row->service_size > sizeof row->service) row->service_size = sizeof row->service;
  return true;
}

}  // namespace filibuster::preload
