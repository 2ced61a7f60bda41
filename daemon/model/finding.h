// Failing executions, grouped by their minimal failing fault set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// Groups failures by minimal failing fault set: a failing set that contains another failing set belongs
// to the smaller one. Two faults are the same if their RPCs have the same index and their identity() is
// equal. The findings are in the order of the first failure of each group.
std::vector<Finding> group_failures(const std::vector<Execution>& failures);

}  // namespace filibuster
