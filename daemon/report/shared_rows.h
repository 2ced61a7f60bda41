// Rows that report.json and counterexample files share (docs/report.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/model/injected_fault.h"

namespace filibuster {

nlohmann::ordered_json fault_rows(const std::vector<InjectedFault>& faults);
// The value of `nondeterminism` as a list of masks. A path may contain a secret: its segment becomes '*', which matches
// the same requests.
nlohmann::ordered_json redacted_masks(const std::string& text);

}  // namespace filibuster
