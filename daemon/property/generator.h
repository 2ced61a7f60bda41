// Programs at random, of commands that a model allows.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/property/program.h"
#include "daemon/property/random.h"

namespace filibuster::property {

// What a program is generated and judged by (docs/property.md 'A model').
class ProgramModel {
 public:
  struct Choice {
    std::string f;
    nlohmann::json value;  // a generator (generate_value)
    uint64_t weight = 1;
  };
  struct Step {
    std::optional<std::string> impossible;  // why the command cannot be in this state
    nlohmann::json state;
    std::optional<nlohmann::json> answer;  // that it must have; nullopt: any
  };
  virtual ~ProgramModel() = default;
  virtual Result<nlohmann::json> initial() = 0;
  virtual bool only_reads(const std::string& f) const = 0;
  virtual Result<std::vector<Choice>> commands(const nlohmann::json& state) = 0;
  virtual Result<bool> holds(const nlohmann::json& state, const std::string& f,
                             const nlohmann::json& value) = 0;
  // `answer`: what the command was answered; while a program is generated {"result": N}; nullopt: it is not known.
  virtual Result<Step> step(const nlohmann::json& state, const std::string& f,
                            const nlohmann::json& value,
                            const std::optional<nlohmann::json>& answer) = 0;
};

struct GeneratorOptions {
  size_t most_items = 20;
  uint64_t fault_weight = 1, request_weight = 9;  // the seed's
  size_t clients =
      1;  // 2 or more: commands come in blocks of 2 to so many, which run at the same time
  bool shows_all =
      false;  // as long as it may be, and each command as often as another: what they call is learned
};

// A value that a generator describes: {"int": [LEAST, MOST]}, {"text": {"max": LENGTH}}, {"one_of": [VALUE, ...]}, {"array": [GENERATOR, ...]},
// {"object": {NAME: GENERATOR}}, {"result_of": F}, {"value": VALUE}, or the value itself. `made`: the commands so far. nullopt: there is no
// command F whose result it could be. Error: says what was expected.
Result<std::optional<nlohmann::json>> generate_value(const nlohmann::json& generator,
                                                     const std::vector<Item>& made, Random* random);

// Error: the model's.
Result<Program> generate(ProgramModel* model, const std::vector<ArmableFault>& faults,
                         const GeneratorOptions& options, Random* random);

// Can the model take all of its commands in every order that their blocks leave open, and stand those that they refer to in blocks before
// theirs?
Result<bool> is_valid(const Program& program, ProgramModel* model);

}  // namespace filibuster::property
