// Faults as rows of JSON, for report.json, counterexample files (docs/report.md) and the store. Credentials in queries and
// arguments are redacted; those in other texts are, where the row is written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/result.h"
#include "daemon/model/injected_fault.h"

namespace filibuster {

nlohmann::ordered_json fault_rows(const std::vector<InjectedFault>& faults);
// Members that older rows do not have may be absent.
Result<std::vector<InjectedFault>> faults_from(const nlohmann::ordered_json& rows);

}  // namespace filibuster
