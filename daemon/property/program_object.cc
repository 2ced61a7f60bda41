#include "daemon/property/program_object.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr seconds kAnswerLimit{30};
constexpr size_t kSample = 64;  // steps that are asked twice

// A state is one word: the number of its value.
class ProgramObject final : public Object {
 public:
  explicit ProgramObject(std::shared_ptr<ModelProgram> program) : program_(std::move(program)) {}

  Result<void> accepts(const Call&) const override { return {}; }
  bool only_reads(const Call& call) const override { return program_->only_reads(call.f); }
  Words initial() override { return {states_.number(program_->initial())}; }
  std::optional<Words> next(const Words& from, const Call& call) override {
    Json question = {
        {"ask", "step"}, {"state", states_.at(from[0])}, {"f", call.f}, {"value", call.asked}};
    if (!call.key.empty()) question["key"] = call.key;
    if (call.outcome == Outcome::kOk) question["answer"] = call.answered;
    const auto answer = program_->ask(question);
    if (!answer || answer->contains("impossible")) return std::nullopt;
    const auto expected = answer->find("answer");
    if (call.outcome == Outcome::kOk && expected != answer->end() && *expected != call.answered)
      return std::nullopt;
    return Words{states_.number((*answer.operator->())["state"])};
  }
  size_t bytes() const override { return states_.bytes(); }
  Json state(const Words& words) const override { return states_.at(words[0]); }
  std::string problem() const override { return program_->problem(); }

 private:
  const std::shared_ptr<ModelProgram> program_;
  Values states_;
};

}  // namespace

Result<std::shared_ptr<ModelProgram>> ModelProgram::start(SpawnOptions options) {
  const std::string name = options.argv.empty() ? "" : options.argv.back();
  auto dialogue = Dialogue::start(std::move(options));
  if (!dialogue) return Error{"the model '" + name + "': " + dialogue.error().message};
  std::shared_ptr<ModelProgram> out(new ModelProgram(std::move(dialogue).value()));
  auto first = out->ask({{"ask", "init"}});
  if (!first) return first.error();
  if (!first->contains("state"))
    return Error{R"(the model answered {"ask": "init"} with )" + json_text(first.value()) +
                 R"(; expected {"state": STATE})"};
  out->initial_ = (*first.operator->())["state"];
  for (const Json& each : first->value("reads", Json::array())) {
    if (each.is_string()) out->reads_.insert(each.get<std::string>());
  }
  return out;
}

Result<Json> ModelProgram::exchange(const std::string& question) {
  auto line = dialogue_.ask(question, kAnswerLimit);
  if (!line) return Error{"the model was asked " + question + ", and " + line.error().message};
  Json answer = Json::parse(line.value(), nullptr, false);
  const std::string said =
      "the model answered " + question + " with '" + line.value().substr(0, 500) + "'";
  if (!answer.is_object()) return Error{said + "; expected a JSON object in one line"};
  if (answer.contains("error"))
    return Error{"the model was asked " + question + ", and failed: " +
                 (answer["error"].is_string() ? answer["error"].get<std::string>()
                                              : json_text(answer["error"]))};
  return answer;
}

Result<Json> ModelProgram::ask(const Json& question) {
  const std::string line = json_text(question);
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) return Error{problem_};
  auto answer = exchange(line);
  const bool is_step = question.value("ask", "") == "step";
  if (answer && is_step && !answer->contains("state") && !answer->contains("impossible"))
    answer = Error{"the model answered " + line + " with " + json_text(answer.value()) +
                   R"(; expected {"state": STATE}, or {"impossible": WHY})"};
  if (!answer) {
    problem_ = answer.error().message;
    return answer;
  }
  // The first ones, then rarer and rarer.
  const std::string asked = question.value("ask", "");
  if ((is_step || asked == "commands" || asked == "pre") &&
      (asked_.size() < kSample || (steps_ & (steps_ - 1)) == 0)) {
    if (asked_.size() == kSample) asked_.erase(asked_.begin());
    asked_.emplace_back(line, answer.value());
  }
  steps_ += is_step ? 1 : 0;
  return answer;
}

std::string ModelProgram::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

std::string ModelProgram::contradiction() {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty()) return problem_;
  for (const auto& [question, before] : asked_) {
    const auto again = exchange(question);
    if (!again) return again.error().message;
    if (again.value() != before)
      return "the model is not pure: it answered " + question + " with " + json_text(before) +
             " at first, and then with " + json_text(again.value());
  }
  return "";
}

std::unique_ptr<Object> make_program_object(std::shared_ptr<ModelProgram> program) {
  return std::make_unique<ProgramObject>(std::move(program));
}

}  // namespace filibuster::property
