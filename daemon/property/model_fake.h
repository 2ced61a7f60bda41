// A dependency without a process that behaves as its model says (docs/stubs.md 'A model in place of stubs'). The model is that of a
// property-based test, which is run against the real dependency: so it is known whether the two agree.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/property/request_pattern.h"
#include "daemon/property/test_model.h"
#include "daemon/stubs/fake.h"

namespace filibuster::property {

class ModelFake final : public stubs::Fake {
 public:
  // Error: a request of the contract's client cannot be read backwards, or the model has no first state.
  static Result<std::unique_ptr<ModelFake>> make(const ContractConfig& contract,
                                                 std::unique_ptr<TestModel> model);

  void begin() override;
  Result<stubs::Answer> answer(const stubs::Call& call) override;

 private:
  struct Command {
    std::string f;  // "": a reset
    nlohmann::json json;
    RequestPattern pattern;
    stubs::Answer base;  // what the model's answer is put into
  };
  struct Asked {
    const Command* command;
    nlohmann::json value;
  };

  explicit ModelFake(std::unique_ptr<TestModel> model) : model_(std::move(model)) {}
  Result<Asked> command_of(const stubs::Call& call) const;
  std::string known() const;

  std::string file_;  // of the contract
  std::vector<Command> commands_;
  std::mutex mutex_;  // guards all below
  const std::unique_ptr<TestModel> model_;
  nlohmann::json initial_, state_;
};

}  // namespace filibuster::property
