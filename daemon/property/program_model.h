// A model by which programs are generated and judged, as a program of the user's says it (program_object.h).
#pragma once

#include <memory>

#include "daemon/property/program_object.h"
#include "daemon/property/test_model.h"

namespace filibuster::property {

std::unique_ptr<TestModel> make_program_model(std::shared_ptr<ModelProgram> program);

}  // namespace filibuster::property
