#include "daemon/explore/minimal_sets.h"

#include <algorithm>

namespace filibuster {
namespace {

std::vector<MinimalSets::Fault> sorted(const std::vector<search::PlannedFault>& faults) {
  std::vector<MinimalSets::Fault> out;
  for (const search::PlannedFault& fault : faults) out.push_back(MinimalSets::fault_of(fault));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

void MinimalSets::add(const std::vector<search::PlannedFault>& set, uint32_t place) {
  if (set.empty()) return;
  std::vector<Fault> faults = sorted(set);
  for (const Fault& fault : faults) with_[fault].push_back(place);
  by_first_[faults.front()].push_back(std::move(faults));
}

std::vector<uint32_t> MinimalSets::with(const search::PlannedFault& fault) const {
  const auto known = with_.find(fault_of(fault));
  return known == with_.end() ? std::vector<uint32_t>() : known->second;
}

bool MinimalSets::fail_without_newest(const std::vector<search::PlannedFault>& faults) const {
  if (faults.empty()) return false;
  const Fault newest = fault_of(faults.back());
  const std::vector<Fault> all = sorted(faults);
  bool without = false;
  for (const Fault& fault : all) {
    const auto sets = by_first_.find(fault);
    if (sets == by_first_.end()) continue;
    for (const std::vector<Fault>& set : sets->second) {
      if (!std::includes(all.begin(), all.end(), set.begin(), set.end())) continue;
      if (std::binary_search(set.begin(), set.end(), newest)) return false;
      without = true;
    }
  }
  return without;
}

}  // namespace filibuster
