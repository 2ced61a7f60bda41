#include "daemon/explore/fault_places.h"

#include <algorithm>

namespace filibuster {

size_t FaultPlaces::add(const InjectedFault& rpc) {
  const auto [known, added] =
      numbers_.emplace(std::tuple(rpc.caller, rpc.service, rpc.call_site), all_.size());
  if (added) all_.push_back({rpc.caller, rpc.service, rpc.call_site, false});
  return known->second;
}

void FaultPlaces::see(const search::Search& search, KnownRpcs* known) {
  const bool is_new = seen_ == 0;
  // Executions are numbered in the order in which they are scheduled.
  for (const uint64_t scheduled = search.counts().scheduled; seen_ < scheduled;) {
    const search::AbstractExecution execution = search.describe(++seen_);
    if (const InjectedFault* rpc = known->find(execution.faults.back().index)) add(*rpc);
  }
  if (!is_new) return;
  search.each_scheduled([&](const search::Search::Scheduled& one) {
    using State = search::AbstractState;
    if (one.state == State::kExecuted || one.state == State::kAbandoned)
      ran(search.describe(one.id), known);
  });
}

void FaultPlaces::ran(const search::AbstractExecution& execution, KnownRpcs* known) {
  for (const search::PlannedFault& fault : execution.faults)
    if (const InjectedFault* rpc = known->find(fault.index)) all_[add(*rpc)].tried = true;
}

search::Places FaultPlaces::counts() const {
  search::Places out;
  out.known = all_.size();
  out.tried = static_cast<uint64_t>(
      std::count_if(all_.begin(), all_.end(), [](const Place& one) { return one.tried; }));
  return out;
}

}  // namespace filibuster
