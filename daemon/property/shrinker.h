// Makes a failing program smaller: by deletion of items, half of them first and single ones last (Zeller and Hildebrandt 2002), then of faults
// each with a command behind it, then with less at the same time, then by smaller values. Each smaller program is one that the model allows, is executed, and counts only if it fails in the same way.
#pragma once

#include <functional>

#include "core/result.h"
#include "daemon/property/generator.h"
#include "daemon/property/program.h"

namespace filibuster::property {

struct Shrunk {
  Program program;
  uint32_t steps = 0;     // programs that were smaller and failed in the same way
  uint32_t executed = 0;  // programs that were executed
  bool finished = true;   // false: it was stopped, and could be smaller
};

// Executes a program: does it fail in the same way? nullopt: stop now.
using FailsAlike = std::function<Result<std::optional<bool>>(const Program&)>;
Result<Shrunk> shrink(const Program& failing, ProgramModel* model, const FailsAlike& fails_alike);

// Smaller values in the place of this one, the smallest first. References stay.
std::vector<nlohmann::json> smaller_values(const nlohmann::json& value);
// Those of them that the value's generator makes, too. Of {"one_of": ...} the values that stand before it.
std::vector<nlohmann::json> smaller_values(const nlohmann::json& value,
                                           const nlohmann::json& generator);

}  // namespace filibuster::property
