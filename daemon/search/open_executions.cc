#include "daemon/search/open_executions.h"

#include <algorithm>

namespace filibuster::search {

SingleFaults::Kind& SingleFaults::Site::of(OutcomeId fault) {
  const auto known = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const Kind& kind) { return kind.fault == fault; });
  return known != kinds.end() ? *known : kinds.emplace_back(Kind{fault, 0, {}});
}

SingleFaults::Site& SingleFaults::site_of(const Single& one) {
  const auto [at, added] = sites_.try_emplace({one.site, one.rank});
  if (added) at->second.number = sites_.size();
  return at->second;
}

void SingleFaults::add(const Single& one) {
  Site& site = site_of(one);
  site.of(one.fault).ids.push_back(one.id);
  ++site.waiting;
  const Key key{one.site, one.rank};
  turns_.emplace(turn_of(key, site), key);
}

void SingleFaults::was_taken(const Single& one) {
  Site& site = site_of(one);
  const Key key{one.site, one.rank};
  const bool waits = turns_.erase(turn_of(key, site)) != 0;
  ++site.taken;
  ++site.of(one.fault).taken;
  if (waits) turns_.emplace(turn_of(key, site), key);
}

Places SingleFaults::places() const {
  std::map<uint64_t, bool> had;  // a site may have several ranks
  for (const auto& [key, site] : sites_) had[key.first] |= site.taken > 0;
  const auto tried =
      std::count_if(had.begin(), had.end(), [](const auto& one) { return one.second; });
  return {had.size(), static_cast<uint64_t>(tried)};
}

AbstractId SingleFaults::take() {
  const Key key = turns_.begin()->second;
  turns_.erase(turns_.begin());
  Site& site = sites_.at(key);
  const auto failures = [&](const Kind& kind) {
    const auto known = failures_.find(kind.fault);
    return known == failures_.end() ? size_t{0} : known->second;
  };
  Kind* best = nullptr;
  for (Kind& kind : site.kinds) {
    if (kind.ids.empty()) continue;
    if (best == nullptr || kind.taken < best->taken ||
        (kind.taken == best->taken && failures(kind) > failures(*best)))
      best = &kind;
  }
  const auto at = best->ids.begin() + static_cast<long>(site.taken % best->ids.size());
  const AbstractId id = *at;
  best->ids.erase(at);
  ++best->taken;
  ++site.taken;
  if (--site.waiting > 0) turns_.emplace(turn_of(key, site), key);
  return id;
}

AbstractId OpenExecutions::take(bool oldest) {
  AbstractId id = 0;
  if (!last_.empty()) {
    id = oldest ? last_.front() : last_.back();
    oldest ? last_.pop_front() : last_.pop_back();
  } else if (!next_.empty()) {
    id = next_.front();
    next_.pop_front();
  } else if (!singles_.empty()) {
    id = singles_.take();
  } else {
    const auto first = sets_.begin();
    id = first->second.back();
    first->second.pop_back();
    if (first->second.empty()) sets_.erase(first);
  }
  return id;
}

}  // namespace filibuster::search
