// Tables in lane memory that all threads of all processes of a lane share: invocation counters, and
// what a call site was seen doing. Open addressing with linear probing; a slot is claimed by
// compare-and-swap and never given back while an execution runs. No globals: testable over plain
// memory.
#pragma once

#include <cstdint>

#include "core/hash.h"
#include "core/protocol/lane_memory.h"

namespace filibuster::preload {

// 64 bits of a 128-bit key; never 0, which marks a free slot.
uint64_t fold_key(Hash128 key);

// The key of the counter of `counted` (core/index counter_key, or a connect's) in one execution:
// the number takes part so that a late RPC never counts for the execution that runs now.
uint64_t execution_key(Hash128 counted, uint32_t execution);

// Counts one more: 1 for the first. 0: the table is full (LaneMemory::counters_lost is advanced, so
// that the execution is reported as incomplete).
uint32_t count_invocation(LaneMemory* lane, uint64_t key);

// Counts so many that no number of a plan is met there any more.
void count_beyond(LaneMemory* lane, uint64_t key);
// Takes one count_beyond back.
void count_on(LaneMemory* lane, uint64_t key);

// What was counted so far, without counting.
uint32_t counted_so_far(const LaneMemory* lane, uint64_t key);

// What a call site is seen doing (SiteFlags; 0: nothing of note). `passing`: a fault may have
// brought it about, so that it says nothing of other executions.
struct Sighting {
  uint32_t flags = 0;
  uint32_t execution = 0;
  bool passing = false;
};
// Adds it to what is known of the call site, and returns all that is known of it in that execution.
// A full table answers that everything was seen: then nothing is concluded from the site.
uint32_t note_site(LaneMemory* lane, uint64_t key, const Sighting& seen);
// What is known of the call site in the whole session (kSiteSeenWithNone, kSiteSeenWithSeveral), without adding to it.
uint32_t lasting_sightings(const LaneMemory* lane, uint64_t key);

}  // namespace filibuster::preload
