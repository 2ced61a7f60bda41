#include "daemon/session/turns.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>

namespace filibuster {

void Turns::each(const std::vector<Player>& players, const Act& act) {
  for (const Player& player : players) {
    if (!player.explorer->goes_on()) continue;
    player.take_up();
    try {
      act(*player.explorer);
    } catch (const std::exception& failure) {
      // The other lanes wait for this one.
      player.explorer->fail(Error{std::string("the exploration failed: ") + failure.what()});
    }
    player.put_aside();
  }
}

void Turns::search(const std::vector<Player>& players, const search::Reach& reach) {
  each(players, [&](Explorer& explorer) { explorer.search(reach); });
}

// Of the tests on all lanes, the one with the shortest reference execution gives a call site its first fault.
void Turns::offer(const std::vector<Player>& players) {
  const std::lock_guard lock(mutex_);
  for (const Player& player : players) {
    if (!player.explorer->goes_on()) continue;
    for (const search::SiteFaults& one : player.explorer->sites()) {
      // An interrupted run goes on: it has had one there.
      if (one.taken > 0) had_.insert(one.site);
      if (one.site == 0 || one.waiting == 0) continue;
      const Explorer*& best = cheapest_.try_emplace(one.site, player.explorer).first->second;
      if (player.explorer->reference_seconds() < best->reference_seconds()) best = player.explorer;
    }
  }
}

// A call site that came late belongs to whoever has it.
bool Turns::claim(uint64_t site, const Explorer& by) {
  const std::lock_guard lock(mutex_);
  const auto chosen = cheapest_.find(site);
  if (had_.contains(site) || (chosen != cheapest_.end() && chosen->second != &by)) return false;
  return had_.insert(site).second;
}

void Turns::first_faults(const std::vector<Player>& players) {
  offer(players);
  wait_for_others();
  each(players, [this](Explorer& explorer) {
    const auto next = [&]() -> std::optional<uint64_t> {
      if (!explorer.goes_on()) return std::nullopt;
      for (const search::SiteFaults& one : explorer.sites()) {
        if (one.site != 0 && one.waiting > 0 && one.taken == 0 && claim(one.site, explorer))
          return one.site;
      }
      return std::nullopt;
    };
    while (const auto site = next()) explorer.search({.max_faults = 1, .only_site = *site}, 1);
  });
}

void Turns::wait_for_others() {
  std::unique_lock lock(mutex_);
  const uint64_t stage = stage_;
  if (++waiting_ == lanes_) {
    waiting_ = 0;
    ++stage_;
    changed_.notify_all();
    return;
  }
  changed_.wait(lock, [&] { return stage_ != stage; });
}

void Turns::run(std::vector<Player> players) {
  std::stable_sort(players.begin(), players.end(), [](const Player& a, const Player& b) {
    return a.explorer->reference_seconds() < b.explorer->reference_seconds();
  });
  first_faults(players);
  search(players, {.max_faults = 1});
  wait_for_others();
  search(players, {.max_faults = 2});
  wait_for_others();
  search(players, {});
}

}  // namespace filibuster
