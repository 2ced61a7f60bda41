// A folder of cases, as it is replayed: all of its files, and what is wrong with them.
#pragma once

#include <string>
#include <vector>

#include "daemon/cases/fields.h"
#include "daemon/cases/model.h"

namespace filibuster::replay {

struct LoadedSet {
  std::string folder;
  cases::CaseSet set;
  cases::ProcessRecord process;
  cases::Rules rules;
  std::vector<cases::Case> cases;  // in the order in which they were recorded
};

// Partial cases are left out. Adds an error, with its line and column, for each thing that is wrong. `folder`: absolute.
LoadedSet load_cases(const std::string& folder, std::vector<ConfigError>* errors);

}  // namespace filibuster::replay
