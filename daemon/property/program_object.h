// An object whose behaviour a program of the user's says (docs/property.md, 'A model'): the program is asked in JSON lines.
#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/process/dialogue.h"
#include "daemon/property/object.h"

namespace filibuster::property {

// A model that is asked by several threads, one at a time.
class ModelProgram {
 public:
  // Starts it and asks it for its first state. Error: it cannot be started, or does not answer as a model does.
  static Result<std::shared_ptr<ModelProgram>> start(SpawnOptions options);

  const nlohmann::json& initial() const { return initial_; }
  bool only_reads(const std::string& f) const { return reads_.contains(f); }
  // An answer of the program. Error: names the question, and says what was expected.
  Result<nlohmann::json> ask(const nlohmann::json& question);
  // Why it cannot be asked any more; "": it can.
  std::string problem() const;
  // Answers that differ from those to the same questions before. "": there are none. Asks again what was asked last.
  std::string contradiction();

 private:
  explicit ModelProgram(Dialogue dialogue) : dialogue_(std::move(dialogue)) {}
  Result<nlohmann::json> exchange(const std::string& question);

  mutable std::mutex mutex_;
  Dialogue dialogue_;
  nlohmann::json initial_;
  std::unordered_set<std::string> reads_;
  std::vector<std::pair<std::string, nlohmann::json>> asked_;  // a sample of steps
  uint64_t steps_ = 0;
  std::string problem_;
};

std::unique_ptr<Object> make_program_object(std::shared_ptr<ModelProgram> program);

}  // namespace filibuster::property
