// `set.json`, what all cases of a folder share (docs/record.md has its form). It has no seal:
// people edit its rules. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/cases/model.h"

namespace filibuster::cases {

inline constexpr std::string_view kSetName = "set";

std::string write_set(const CaseSet& of);

struct ReadSet {
  CaseSet value;
  std::vector<ConfigError> errors;  // with line and column; empty: the set is good
};
ReadSet read_set(std::string_view text, const std::string& path);

}  // namespace filibuster::cases
