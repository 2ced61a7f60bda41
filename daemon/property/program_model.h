// A model by which programs are generated and judged, as a program of the user's says it (program_object.h).
#pragma once

#include <memory>
#include <set>

#include "daemon/property/generator.h"
#include "daemon/property/program_object.h"

namespace filibuster::property {

std::unique_ptr<ProgramModel> make_program_model(std::shared_ptr<ModelProgram> program);

// The labels of a command that was answered (statistics). Error: the model's.
Result<std::vector<std::string>> labels_of(ModelProgram* program, const nlohmann::json& state,
                                           const Item& item, const nlohmann::json& asked,
                                           const nlohmann::json& answer);

}  // namespace filibuster::property
