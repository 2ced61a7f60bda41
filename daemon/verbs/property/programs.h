// The two programs of a property-based test: what says how the application behaves, and who asks it. Each is the user's, or comes with the
// tool and is configured.
#pragma once

#include <memory>

#include "daemon/explore/test_run.h"
#include "daemon/process/dialogue.h"
#include "daemon/property/test_model.h"

namespace filibuster {

// `test` has a property. Error: says which program it is.
Result<std::unique_ptr<property::TestModel>> make_property_model(const TestConfig& test,
                                                                 const ExecutionRunner& runner,
                                                                 const SessionLane& place);
// A process of the test, whose calls are the test's. `model` says which commands only read. `number`: of the client, from 0.
Result<Dialogue> start_property_client(const TestConfig& test, const ExecutionRunner& runner,
                                       const SessionLane& place,
                                       const property::ProgramModel& model, size_t number);

}  // namespace filibuster
