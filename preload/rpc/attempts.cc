#include "preload/rpc/attempts.h"

#include <algorithm>

#include "core/fault/fault.h"
#include "preload/rpc/counters.h"
#include "preload/rpc/plan.h"
#include "preload/rpc/request_head.h"

namespace filibuster::preload {
namespace {

constexpr uint64_t kMostAttempts = 0xff'ffff;

uint32_t execution_of(uint64_t state) {
  return static_cast<uint32_t>(state >> 32);
}
uint64_t attempts_of(uint64_t state) {
  return state >> 8 & kMostAttempts;
}
AttemptState newest_of(uint64_t state) {
  return static_cast<AttemptState>(state & 0xff);
}
uint64_t make_state(uint32_t execution, uint64_t attempts, AttemptState newest) {
  return uint64_t{execution} << 32 | attempts << 8 | newest;
}

struct Keys {
  uint64_t by_request_id = 0, by_request, by_site = 0;
};

Keys keys_of(uint32_t execution, const AttemptIdentity& identity) {
  Keys keys;
  const Hash128 request = combine(identity.path, identity.request);
  keys.by_request = execution_key(request, execution);
  if (!identity.request_id.is_zero()) {
    const Hash128 with = identity.request_id_with_path ? request : identity.path;
    keys.by_request_id = execution_key(combine(with, identity.request_id), execution);
  }
  if (!identity.site.is_zero())
    keys.by_site = execution_key(combine(request, identity.site), execution);
  return keys;
}

}  // namespace

Attempt first_attempt(LaneMemory* lane, const PlanEntry& entry, uint32_t execution,
                      const AttemptIdentity& identity) {
  if (entry.group >= kMaxAttemptGroups) return {};
  AttemptGroup& group = lane->groups[entry.group];
  uint64_t state = group.state.load(std::memory_order_acquire);
  if (execution_of(state) == execution) return {};
  const Keys keys = keys_of(execution, identity);
  group.by_request_id.store(keys.by_request_id, std::memory_order_relaxed);
  group.by_request.store(keys.by_request, std::memory_order_relaxed);
  group.by_site.store(keys.by_site, std::memory_order_relaxed);
  const uint64_t begun = make_state(execution, 1, kAttemptOpen);
  if (!group.state.compare_exchange_strong(state, begun, std::memory_order_acq_rel)) return {};
  return {entry.group + 1, 1, GroupedBy::kFirst};
}

Attempt further_attempt(LaneMemory* lane, uint32_t execution, const AttemptIdentity& identity) {
  const uint32_t count =
      std::min(lane->sequences_planned.load(std::memory_order_acquire), kMaxAttemptGroups);
  const Keys keys = keys_of(execution, identity);
  for (uint32_t i = 0; i < count; ++i) {
    AttemptGroup& group = lane->groups[i];
    uint64_t state = group.state.load(std::memory_order_acquire);
    while (execution_of(state) == execution && attempts_of(state) < kMostAttempts) {
      const uint64_t own_id = group.by_request_id.load(std::memory_order_relaxed);
      const bool by_id = keys.by_request_id != 0 && keys.by_request_id == own_id;
      // Two requests with ids, and the ids differ: two calls, however alike they are.
      const bool other_id = !by_id && keys.by_request_id != 0 && own_id != 0;
      const bool by_grpc = identity.was_attempted && !other_id &&
                           keys.by_request == group.by_request.load(std::memory_order_relaxed);
      const bool by_site = keys.by_site != 0 && !other_id && newest_of(state) == kAttemptFailed &&
                           keys.by_site == group.by_site.load(std::memory_order_relaxed);
      if (!by_id && !by_grpc && !by_site) break;
      const uint64_t number = attempts_of(state) + 1;
      if (!group.state.compare_exchange_weak(state, make_state(execution, number, kAttemptOpen),
                                             std::memory_order_acq_rel))
        continue;
      return {i + 1, static_cast<uint32_t>(number),
              by_id     ? GroupedBy::kRequestId
              : by_grpc ? GroupedBy::kGrpcAttempts
                        : GroupedBy::kSameRequest};
    }
  }
  return {};
}

void attempt_ended(LaneMemory* lane, const Attempt& attempt, uint32_t execution, bool failed) {
  if (attempt.group == 0 || attempt.group > kMaxAttemptGroups) return;
  AttemptGroup& group = lane->groups[attempt.group - 1];
  uint64_t open = make_state(execution, attempt.number, kAttemptOpen);
  // If there has been a later attempt meanwhile, that one counts.
  group.state.compare_exchange_strong(
      open, make_state(execution, attempt.number, failed ? kAttemptFailed : kAttemptSucceeded),
      std::memory_order_acq_rel);
}

AttemptOutcome attempt_outcome(const LaneMemory* lane, const Attempt& attempt) {
  AttemptOutcome out;
  const PlanLookup found = find_attempt_rule(lane, attempt.group - 1, attempt.number, &out.entry);
  out.readable = found != PlanLookup::kUnreadable;
  if (out.entry.attempt_first == 0) out.entry.kind = static_cast<uint8_t>(FaultKind::kNone);
  return out;
}

namespace {
void know_names(const FieldName (&names)[kMaxConfiguredFields], uint32_t count, FieldTable* out) {
  for (uint32_t i = 0; i < std::min(count, kMaxConfiguredFields); ++i) {
    const FieldName& row = names[i];
    if (row.size <= sizeof row.name) out->add({row.name, row.size});
  }
}
}  // namespace

void know_field_names(const LaneMemory* lane) {
  know_names(lane->request_ids, lane->request_id_count, &g_sought_fields.request_ids);
  know_names(lane->told_fields, lane->told_field_count, &g_sought_fields.told);
}

}  // namespace filibuster::preload
