// Models that come with the tool: the objects of `filibuster check` (object.h), with commands at random for them.
//
// A command's value has the members that kReadyKinds names ({"key": "a", "value": 3}); one that has `value` alone is that value.
#pragma once

#include <memory>

#include "daemon/config/config.h"
#include "daemon/property/test_model.h"

namespace filibuster::property {

// Error: the object has no such state.
Result<std::unique_ptr<TestModel>> make_ready_model(const ReadyModelConfig& config);

// Can `generator` make `value`? Without regard to results of commands.
bool may_make(const nlohmann::json& generator, const nlohmann::json& value);

}  // namespace filibuster::property
