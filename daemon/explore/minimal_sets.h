// The smallest sets of faults under which the test fails, as the search knows faults: they tell which of the faults of a
// failing execution its failure needs. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "daemon/search/search.h"

namespace filibuster {

class MinimalSets {
 public:
  using Fault = std::pair<Hash128, search::OutcomeId>;  // where, what
  static Fault fault_of(const search::PlannedFault& fault) { return {fault.index, fault.fault}; }

  // The set of one finding; `place` is the finding's own.
  void add(const std::vector<search::PlannedFault>& set, uint32_t place);

  // The places of the findings whose set has the fault, in the order in which they were added.
  std::vector<uint32_t> with(const search::PlannedFault& fault) const;
  // Whether an execution with these faults, which failed, fails without the newest (last) one, too: it has some of the sets, and none of
  // these has the newest one.
  bool fail_without_newest(const std::vector<search::PlannedFault>& faults) const;

 private:
  std::map<Fault, std::vector<std::vector<Fault>>>
      by_first_;  // a set is in an execution only with its first fault
  std::map<Fault, std::vector<uint32_t>> with_;
};

}  // namespace filibuster
