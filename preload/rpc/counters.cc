#include "preload/rpc/counters.h"

#include "preload/os/bounded_wait.h"

namespace filibuster::preload {
namespace {

// Bounds the time in a hook when a table is nearly full: 65536 slots at 90 % have runs far shorter.
constexpr uint32_t kMaxProbes = 1024;
// The daemon clears the table between executions, if at all: a call that meets several clearings belongs to
// an execution that does not matter any more.
constexpr int kMaxClearings = 4;
constexpr uint64_t kMostClearingNs = 100'000'000;  // a clearing takes some ten microseconds
// What bars a call site from 'only-active'.
constexpr uint32_t kBarring = kSiteSeenWithNone | kSiteSeenWithSeveral;
// More than a table ever counts. A count has it once for each count_beyond that was not taken back.
constexpr uint64_t kBeyond = 1u << 24;
constexpr uint64_t kMostBeyond = 0xff;
uint64_t times_beyond(uint64_t count) {
  return (count & 0xffff'ffff) / kBeyond;
}

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

// Returns the new count. 0: the key is not there and `claim` is false; or the count is lost, which
// counters_lost tells.
template <typename Change>
uint32_t change_count(LaneMemory* lane, uint64_t key, bool claim, const Change& change) {
  for (int turn = 0; turn < kMaxClearings; ++turn) {
    uint64_t epoch = 0;
    const auto cleared = [&] {
      epoch = lane->counter_epoch.load(std::memory_order_acquire);
      return epoch % 2 == 0;
    };
    if (!wait_until(cleared, kMostClearingNs)) break;
    CounterSlot* slot = find_slot(lane->counters, key, claim, &lane->counters_used);
    if (slot == nullptr && !claim) return 0;
    if (slot == nullptr) break;
    uint64_t count = slot->count.load(std::memory_order_acquire);
    // Another epoch: the table was cleared since, and the slot may be another key's.
    while (count >> 32 == epoch) {
      const uint64_t next = change(count);
      if (slot->count.compare_exchange_weak(count, next, std::memory_order_acq_rel))
        return static_cast<uint32_t>(next);
    }
  }
  lane->lost(Incomplete::kCounters);
  return 0;
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
  return change_count(lane, key, true, [](uint64_t count) { return count + 1; });
}

void count_on(LaneMemory* lane, uint64_t key) {
  change_count(lane, key, false, [](uint64_t count) {
    const uint64_t times = times_beyond(count);
    return times == 0 || times == kMostBeyond ? count : count - kBeyond;
  });
}

void count_beyond(LaneMemory* lane, uint64_t key) {
  change_count(lane, key, true, [](uint64_t count) {
    return times_beyond(count) == kMostBeyond ? count : count + kBeyond;
  });
}

uint32_t counted_so_far(const LaneMemory* lane, uint64_t key) {
  const CounterSlot* slot = find_slot(const_cast<LaneMemory*>(lane)->counters, key, false);
  return slot != nullptr ? static_cast<uint32_t>(slot->count.load(std::memory_order_acquire)) : 0;
}

uint32_t note_site(LaneMemory* lane, uint64_t key, const Sighting& seen) {
  SiteSlot* slot = find_slot(lane->sites, key, true);
  if (slot == nullptr) return kBarring | kSiteUsesEndedConnections;
  const uint32_t now = seen.passing ? seen.flags : 0;
  uint32_t lasting = slot->flags.load(std::memory_order_acquire);
  if (seen.flags != now) lasting = slot->flags.fetch_or(seen.flags, std::memory_order_acq_rel);
  uint32_t passing = slot->passing.load(std::memory_order_acquire);
  const auto of_this_one = [&] { return passing >> 2 == seen.execution ? passing & kBarring : 0; };
  while (now != 0 &&
         !slot->passing.compare_exchange_weak(passing, seen.execution << 2 | of_this_one() | now,
                                              std::memory_order_acq_rel)) {
  }
  return (lasting | of_this_one() | seen.flags) & (kBarring | kSiteUsesEndedConnections);
}

uint32_t lasting_sightings(const LaneMemory* lane, uint64_t key) {
  const SiteSlot* slot = find_slot(const_cast<LaneMemory*>(lane)->sites, key, false);
  return slot != nullptr ? slot->flags.load(std::memory_order_acquire) & kBarring : 0;
}

}  // namespace filibuster::preload
