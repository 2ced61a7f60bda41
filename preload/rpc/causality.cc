#include "preload/rpc/causality.h"

#include "preload/rpc/counters.h"

namespace filibuster::preload {
namespace {

// Begins another use of a slot that the caller owns: nobody else writes it.
void next_use(Incoming* slot) {
  slot->use.store(slot->use.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_release);  // before what is written to the slot next
}

uint64_t with_tag(uint64_t before, uint32_t slot) {
  return ((before >> 32) + 1) << 32 | slot;
}

}  // namespace

Incoming* IncomingTable::take() {
  uint64_t head = free_.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(head) != 0) {
    Incoming* slot = &slots_[static_cast<uint32_t>(head) - 1];
    // If another thread takes the slot meanwhile, the number has changed, and the exchange fails.
    const uint64_t next = with_tag(head, slot->next_free.load(std::memory_order_relaxed));
    if (free_.compare_exchange_weak(head, next, std::memory_order_acq_rel,
                                    std::memory_order_acquire))
      return slot;
  }
  uint32_t used = used_.load(std::memory_order_relaxed);
  do {
    if (used == kSlots) return nullptr;
  } while (!used_.compare_exchange_weak(used, used + 1, std::memory_order_acq_rel));
  return &slots_[used];
}

void IncomingTable::give_back(Incoming* incoming) {
  incoming->state.store(Incoming::kFree, std::memory_order_release);
  uint64_t head = free_.load(std::memory_order_relaxed);
  do {
    incoming->next_free.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(head, with_tag(head, slot_of(incoming) + 1),
                                        std::memory_order_release, std::memory_order_relaxed));
}

Incoming* IncomingTable::claim() {
  Incoming* slot = take();
  if (slot == nullptr) return nullptr;
  slot->state.store(Incoming::kClaimed, std::memory_order_relaxed);
  next_use(slot);
  slot->rpc = slot->generation = 0;
  slot->agent = slot->execution = 0;
  slot->multiplexed = slot->entry = slot->late = slot->preliminary = false;
  slot->counted = slot->inherited = false;
  slot->http_signature = slot->paths[0] = slot->paths[1] = Hash128{};
  slot->path_version.store(0, std::memory_order_relaxed);
  return slot;
}

void IncomingTable::open(Incoming* incoming, ThreadRequests* thread) {
  if (has_inherited_.load(std::memory_order_relaxed) &&
      has_inherited_.exchange(false, std::memory_order_acq_rel)) {
    drop_inherited(thread);
  }
  incoming->state.store(Incoming::kOpen, std::memory_order_release);
  count(incoming, true);

  // Forgets the requests that are closed. If there is no room then, the thread proves nothing any more.
  uint32_t kept = 0;
  for (uint32_t i = 0; i < thread->size; ++i) {
    const ThreadRequests::Reference r = thread->references[i];
    const Incoming& slot = slots_[r.slot];
    if (slot.state.load(std::memory_order_acquire) == Incoming::kOpen &&
        slot.use.load(std::memory_order_acquire) == r.use && !slot.inherited)
      thread->references[kept++] = r;
  }
  thread->size = kept;
  if (kept == 0) thread->overflowed = false;
  if (kept == ThreadRequests::kMax) {
    thread->overflowed = true;
    return;
  }
  thread->references[thread->size++] = {static_cast<uint16_t>(slot_of(incoming)),
                                        incoming->use.load(std::memory_order_relaxed)};
}

void IncomingTable::close(Incoming* incoming) {
  count(incoming, false);
  next_use(incoming);  // references die before the slot is free
  give_back(incoming);
}

void IncomingTable::note_given_up(const Incoming& incoming, uint32_t session, uint32_t execution) {
  if (incoming.inherited && !incoming.counted) return;
  given_up_in_.store(uint64_t{session} << 32 | execution, std::memory_order_release);
}

bool IncomingTable::has_given_up(uint32_t session, uint32_t execution) const {
  return execution != 0 &&
         given_up_in_.load(std::memory_order_acquire) == (uint64_t{session} << 32 | execution);
}

void IncomingTable::count(Incoming* incoming, bool active) {
  if (incoming->counted == active) return;
  incoming->counted = active;
  const uint64_t one = uint64_t{1} << 32 | slot_of(incoming);
  if (active) {
    active_.fetch_add(one, std::memory_order_acq_rel);
  } else {
    active_.fetch_sub(one, std::memory_order_acq_rel);
  }
}

bool IncomingTable::copy(uint32_t slot, uint32_t use, CauseOf* cause) const {
  const Incoming& from = slots_[slot];
  if (from.state.load(std::memory_order_acquire) != Incoming::kOpen ||
      from.use.load(std::memory_order_acquire) != use)
    return false;
  cause->rpc = from.rpc;
  cause->execution = from.execution;
  cause->path = from.paths[from.path_version.load(std::memory_order_acquire) & 1];
  cause->counted_path = from.paths[0];
  std::atomic_thread_fence(std::memory_order_acquire);
  return from.use.load(std::memory_order_relaxed) == use;
}

bool IncomingTable::is_open(uint64_t rpc) const {
  const uint32_t used = used_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    if (slots_[i].state.load(std::memory_order_acquire) == Incoming::kOpen && slots_[i].rpc == rpc)
      return true;
  }
  return false;
}

bool IncomingTable::only_active(uint64_t activity, CauseOf* cause) const {
  if (number_of(activity) != 1) return false;
  const auto slot = static_cast<uint32_t>(activity);
  if (slot >= kSlots) return false;
  // By now the slot may hold another request, and others may be active: so the activity is compared.
  return copy(slot, slots_[slot].use.load(std::memory_order_acquire), cause) &&
         this->activity() == activity;
}

bool IncomingTable::of_thread(ThreadRequests* thread, CauseOf* cause) const {
  uint32_t kept = 0;
  bool proves = !thread->overflowed;
  for (uint32_t i = 0; i < thread->size; ++i) {
    const ThreadRequests::Reference r = thread->references[i];
    CauseOf found;
    if (!copy(r.slot, r.use, &found)) continue;
    thread->references[kept++] = r;
    if (slots_[r.slot].multiplexed) proves = false;
    *cause = found;
  }
  thread->size = kept;
  if (kept == 0) thread->overflowed = false;
  return proves && kept == 1;
}

void IncomingTable::after_fork(ThreadRequests* thread) {
  const uint32_t used = used_.load(std::memory_order_relaxed);
  bool any = false;
  active_.store(0, std::memory_order_relaxed);
  for (uint32_t i = 0; i < used; ++i) {
    Incoming& slot = slots_[i];
    // A slot that another thread had claimed is lost to the child; it is one of 4096.
    if (slot.state.load(std::memory_order_relaxed) != Incoming::kOpen) continue;
    slot.counted = false;
    slot.inherited = any = true;
  }
  for (uint32_t i = 0; i < thread->size; ++i) {
    const ThreadRequests::Reference r = thread->references[i];
    Incoming& slot = slots_[r.slot];
    if (slot.state.load(std::memory_order_relaxed) == Incoming::kOpen &&
        slot.use.load(std::memory_order_relaxed) == r.use)
      count(&slot, true);
  }
  has_inherited_.store(any, std::memory_order_relaxed);
}

void IncomingTable::drop_inherited(ThreadRequests* thread) {
  const uint32_t used = used_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    if (slots_[i].inherited) count(&slots_[i], false);
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < thread->size; ++i) {
    if (!slots_[thread->references[i].slot].inherited)
      thread->references[kept++] = thread->references[i];
  }
  thread->size = kept;
}

CauseOf find_cause(const IncomingTable& table, const CauseQuery& query) {
  CauseOf cause;
  if (!query.multiplexing && table.of_thread(query.thread, &cause)) {
    cause.cause = Cause::kThread;
    return cause;
  }
  if (query.is_test) {
    cause = CauseOf{};
    cause.cause = Cause::kEntry;
    return cause;
  }
  // 'only-active' is for call sites that were never seen calling while no request, or several, were open: a
  // heartbeat is not caused by the request that happens to be there. Every query notes what is seen.
  const uint64_t activity = table.activity();
  const uint32_t active = IncomingTable::number_of(activity);
  // Under a fault callers give up, and come again beside the request that they gave up: that is no
  // property of the site.
  const bool faults = query.lane->plan_count != 0;
  Sighting seen{0, query.execution, faults};
  if (active == 0) seen = {kSiteSeenWithNone, query.execution, faults && query.given_up};
  if (active > 1) seen.flags = kSiteSeenWithSeveral;
  const uint64_t site = fold_key(query.site);
  const uint32_t session = query.lane->session;
  const bool barred =
      table.has_given_up(session, query.execution) && lasting_sightings(query.lane, site) != 0;
  const uint32_t known = note_site(query.lane, site, seen);
  const bool alone =
      known == 0 && active == 1 && !query.requests_lost && table.only_active(activity, &cause);
  // Looked at last: what a request that is closed by now has left behind was noted before it was closed.
  const bool given_up = table.has_given_up(session, query.execution);
  if (alone && !given_up) {
    cause.cause = Cause::kOnlyActive;
    return cause;
  }
  CauseOf none;
  none.after_giving_up = given_up && active <= 1 && !barred && !query.requests_lost;
  const bool calls_alone =
      active == 0 || (lasting_sightings(query.lane, site) & kSiteSeenWithNone) != 0;
  none.background = calls_alone && !none.after_giving_up && !query.requests_lost;
  return none;
}

}  // namespace filibuster::preload
