// Failing executions, grouped by their minimal failing fault set.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/model/execution.h"

namespace filibuster {

// Whether a finding makes a run fail: an accepted one does not (baseline.h).
enum class Standing : uint8_t { kNew, kAccepted, kExpired };
std::string_view standing_name(Standing standing);  // as in report.json

struct Finding {
  Execution minimal_execution;         // the execution whose faults are exactly the minimal set
  std::vector<InjectedFault> minimal;  // the minimal failing fault set
  uint64_t executions = 1;             // failing executions whose faults contain the minimal set
  std::optional<bool> reproduced;      // by the replay; nullopt: not replayed
  // 16 hexadecimal digits, made from the test, the faults and the stable identities of their RPCs. They
  // stay the same when lines of the program move.
  std::string id;
  std::string counterexample;  // path of the file
  uint32_t number = 0;         // of the counterexample; 0: there is none
  Standing standing = Standing::kNew;
  std::string because, until;  // of the baseline; empty for kNew
  bool fails() const { return standing != Standing::kAccepted; }
};
inline constexpr size_t kFindingIdSize = 16;
// Finding::id; the order of the faults does not matter.
std::string finding_id(const std::string& test, const std::vector<InjectedFault>& faults);

// Which faults hit which RPCs, by the indexes of this version of the program. Two executions of one set are the same for a
// search, for its findings and for the numbers of their counterexamples. What outlives an edit goes by finding_id().
class FaultSet {
 public:
  explicit FaultSet(const std::vector<InjectedFault>& faults);
  bool contains(const FaultSet& smaller) const;
  // A hash in hexadecimal, equal for equal sets.
  std::string key() const;
  using Key = std::pair<Hash128, std::string>;  // index, InjectedFault::identity()
  const std::set<Key>& faults() const { return faults_; }

 private:
  std::set<Key> faults_;
};

// Groups failures by minimal failing fault set: a failing set that contains another failing set belongs
// to the smaller one. This is a view: it changes the id of no finding. The findings are in the order of the first failure of each group.
std::vector<Finding> group_failures(const std::vector<Execution>& failures);

}  // namespace filibuster
