// Counterexample files, version 1: configuration, test, faults, what was seen (docs/report.md).
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "daemon/model/counterexample.h"

namespace filibuster {

std::string to_json(const Counterexample& counterexample);
Result<Counterexample> parse_counterexample(std::string_view json);

}  // namespace filibuster
