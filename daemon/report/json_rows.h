// Parts of report.json (json.cc) that concern CI: the baseline, the cases, and what was left.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/model/fault_case.h"
#include "daemon/report/baseline.h"

namespace filibuster {

nlohmann::ordered_json to_rows(const std::vector<FaultCase>& cases);
nlohmann::ordered_json cause_rows(const std::vector<Finding>& findings);
nlohmann::ordered_json to_rows(const std::vector<LeftFault>& left);
nlohmann::ordered_json to_rows(const std::vector<LeftPlace>& left);
nlohmann::ordered_json to_row(const BaselineUse& baseline);  // null: there is no baseline

}  // namespace filibuster
