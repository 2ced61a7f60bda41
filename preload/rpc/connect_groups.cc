#include "preload/rpc/connect_groups.h"

namespace filibuster::preload {
namespace {
// A holder is done within a microsecond unless it was preempted. So many spins take about 100 us.
constexpr int kLockSpins = 20'000;
}  // namespace

ConnectGroups::Lock::Lock(ConnectGroups* groups) : groups_(groups) {
  for (int i = 0; i < kLockSpins && !held_; ++i)
    held_ = !groups_->locked_.load(std::memory_order_relaxed) &&
            !groups_->locked_.exchange(true, std::memory_order_acquire);
}
ConnectGroups::Lock::~Lock() {
  if (held_) groups_->locked_.store(false, std::memory_order_release);
}

ConnectGroup* ConnectGroups::join(const ConnectTry& attempt) {
  ConnectGroup* best = nullptr;
  for (ConnectGroup& g : groups_) {
    if (g.used_at == 0 || g.execution != attempt.execution || g.thread != attempt.thread ||
        g.port != attempt.port || g.parent_path != attempt.parent_path ||
        g.target != attempt.target || g.carried_request ||
        g.outcome == ConnectGroup::Outcome::kConnected || g.tries == ConnectGroup::kMaxTries)
      continue;
    bool tried = false;
    for (uint32_t i = 0; i < g.tries; ++i) tried = tried || g.tried[i] == attempt.address;
    if (tried) continue;
    // A known refusal explains a further try better than an outcome that is not known.
    const bool refused = g.outcome == ConnectGroup::Outcome::kRefused;
    const bool best_refused = best != nullptr && best->outcome == ConnectGroup::Outcome::kRefused;
    if (best == nullptr || (refused && !best_refused) ||
        (refused == best_refused && g.used_at > best->used_at))
      best = &g;
  }
  if (best != nullptr) {
    best->tried[best->tries++] = attempt.address;
    best->used_at = ++clock_;
    if (!best->refused_by_us) best->outcome = ConnectGroup::Outcome::kUnknown;
  }
  return best;
}

ConnectGroup* ConnectGroups::add(const ConnectTry& attempt) {
  ConnectGroup* slot = &groups_[0];
  for (ConnectGroup& g : groups_) {
    if (g.used_at < slot->used_at) slot = &g;
  }
  *slot = ConnectGroup{};
  slot->used_at = ++clock_;
  slot->execution = attempt.execution;
  slot->thread = attempt.thread;
  slot->parent_path = attempt.parent_path;
  slot->target = attempt.target;
  slot->port = attempt.port;
  slot->tried[0] = attempt.address;
  slot->tries = 1;
  slot->id = slot->used_at;
  return slot;
}

ConnectGroup* ConnectGroups::find(uint64_t id) {
  for (ConnectGroup& g : groups_) {
    if (id != 0 && g.used_at != 0 && g.id == id) return &g;
  }
  return nullptr;
}

}  // namespace filibuster::preload
