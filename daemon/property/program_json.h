// Programs as JSON, in documents and in counterexamples: docs/schema/property.schema.json 'item' and 'hold'.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "core/result.h"
#include "daemon/property/program.h"

namespace filibuster::property {

// `faults` has those that items refer to.
nlohmann::ordered_json program_json(const Program& program,
                                    const std::vector<ArmableFault>& faults);
nlohmann::ordered_json holds_json(const std::vector<Hold>& holds);

struct ReadProgram {
  Program program;
  std::vector<ArmableFault> faults;  // that the items refer to
};
// Error: the member, and what was expected there, as "program[3].value: expected a value".
Result<ReadProgram> read_program(const nlohmann::ordered_json& items,
                                 const nlohmann::ordered_json& holds);

}  // namespace filibuster::property
