#include "preload/agent/counters.h"

namespace filibuster::preload {
namespace {

// Bounds the time in a hook when a table is nearly full: 65536 slots at 90 % have runs far shorter.
constexpr uint32_t kMaxProbes = 1024;

// The slot of `key`, claimed if `claim`; nullptr: not there, or no room. `used` counts the claims.
template <typename Slot, uint32_t kSlots>
Slot* find_slot(Slot (&slots)[kSlots], uint64_t key, bool claim,
                std::atomic<uint32_t>* used = nullptr) {
  uint32_t at = static_cast<uint32_t>(key) & (kSlots - 1);
  for (uint32_t probe = 0; probe < kMaxProbes; ++probe, at = (at + 1) & (kSlots - 1)) {
    Slot* slot = &slots[at];
    uint64_t seen = slot->key.load(std::memory_order_acquire);
    if (seen == 0) {
      if (!claim) return nullptr;
      // Lost the race: `seen` is then the winner's key, which may be ours.
      if (slot->key.compare_exchange_strong(seen, key, std::memory_order_acq_rel)) {
        if (used != nullptr) used->fetch_add(1, std::memory_order_relaxed);
        return slot;
      }
    }
    if (seen == key) return slot;
  }
  return nullptr;
}

}  // namespace

uint64_t fold_key(Hash128 key) {
  const uint64_t folded = key.hi * 0x9E3779B97F4A7C15ull ^ key.lo;
  return folded != 0 ? folded : 1;
}

uint64_t execution_key(Hash128 counted, uint32_t execution) {
  return fold_key(combine(counted, static_cast<uint64_t>(execution)));
}

uint32_t count_invocation(LaneMemory* lane, uint64_t key) {
  CounterSlot* slot = find_slot(lane->counters, key, true, &lane->counters_used);
  if (slot == nullptr) {
    lane->counters_lost.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  return slot->count.fetch_add(1, std::memory_order_acq_rel) + 1;
}

uint32_t counted_so_far(const LaneMemory* lane, uint64_t key) {
  const CounterSlot* slot = find_slot(const_cast<LaneMemory*>(lane)->counters, key, false);
  return slot != nullptr ? slot->count.load(std::memory_order_acquire) : 0;
}

uint32_t note_site(LaneMemory* lane, uint64_t key, uint32_t flags) {
  SiteSlot* slot = find_slot(lane->sites, key, true);
  if (slot == nullptr) return kSiteSeenWithNone | kSiteSeenWithSeveral;
  if (flags == 0) return slot->flags.load(std::memory_order_acquire);
  return slot->flags.fetch_or(flags, std::memory_order_acq_rel) | flags;
}

}  // namespace filibuster::preload
