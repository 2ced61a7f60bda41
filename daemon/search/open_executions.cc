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

bool SingleFaults::waits_at(uint64_t site) const {
  const auto first = sites_.lower_bound({site, 0});
  return std::any_of(first, sites_.end(), [&](const auto& row) {
    return row.first.first == site && row.second.waiting > 0;
  });
}

std::vector<SiteFaults> SingleFaults::sites() const {
  std::map<size_t, SiteFaults> in_order;
  for (auto at = sites_.begin(); at != sites_.end();) {
    SiteFaults all{at->first.first, 0, 0};
    size_t number = at->second.number;
    for (; at != sites_.end() && at->first.first == all.site; ++at) {
      number = std::min(number, at->second.number);
      all.taken += at->second.taken;
      all.waiting += at->second.waiting;
    }
    in_order.emplace(number, all);
  }
  std::vector<SiteFaults> out;
  for (const auto& [number, site] : in_order) out.push_back(site);
  return out;
}

AbstractId SingleFaults::take() {
  return take_of(turns_.begin()->second);
}

AbstractId SingleFaults::take_at(uint64_t site) {
  auto at = sites_.lower_bound({site, 0});
  while (at->second.waiting == 0) ++at;  // the lowest rank that has one
  return take_of(at->first);
}

AbstractId SingleFaults::take_of(Key key) {
  Site& site = sites_.at(key);
  turns_.erase(turn_of(key, site));
  const auto promise = [&](const Kind& kind) {
    const auto known = failures_.find(kind.fault);
    return std::pair(preferred_.contains(kind.fault),
                     known == failures_.end() ? size_t{0} : known->second);
  };
  Kind* best = nullptr;
  for (Kind& kind : site.kinds) {
    if (kind.ids.empty()) continue;
    if (best == nullptr || kind.taken < best->taken ||
        (kind.taken == best->taken && promise(kind) > promise(*best)))
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

AbstractId OpenExecutions::take(bool oldest, const Reach& reach) {
  AbstractId id = 0;
  if (!last_.empty()) {
    id = oldest ? last_.front() : last_.back();
    oldest ? last_.pop_front() : last_.pop_back();
  } else if (has_single(reach)) {
    id = reach.only_site != 0 ? singles_.take_at(reach.only_site) : singles_.take();
  } else {
    const auto first = sets_.begin();
    id = first->second.back();
    first->second.pop_back();
    if (first->second.empty()) sets_.erase(first);
  }
  return id;
}

}  // namespace filibuster::search
