// The model of a property-based test: a program of the user's (program_model.h), or one that comes with the tool (ready_model.h).
#pragma once

#include <string>
#include <vector>

#include "daemon/property/generator.h"
#include "daemon/property/linearisability.h"

namespace filibuster::property {

class TestModel : public ProgramModel {
 public:
  // The same model as an object, for histories of calls at once (check_history). It may outlive this.
  virtual ObjectMaker object() const = 0;
  // A command as that object takes it: its name, its key and what is asked; nothing of its answer.
  virtual Call call(const std::string& f, const nlohmann::json& value) const = 0;
  // The labels of a command that was answered (statistics). Error: the model's.
  virtual Result<std::vector<std::string>> labels(const nlohmann::json& state, const std::string& f,
                                                  const nlohmann::json& value,
                                                  const nlohmann::json& answer) = 0;
  // Why nothing that the model has said can be believed; "": it can.
  virtual std::string contradiction() = 0;
};

}  // namespace filibuster::property
