#include "daemon/property/model_fake.h"

#include <algorithm>

#include "daemon/config/ready_kinds.h"
#include "daemon/property/history.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

// While a program is made, models are asked with a symbol in the place of an answer (docs/property.md): they say which answer there must be.
const Json kNotAnswered = {{"result", 0}};

// Are all values that the model has texts?
bool has_texts(const ReadyModelConfig& model) {
  const Json& values = model.values;
  if (values.is_object() && values.contains("text")) return true;
  if (values.is_object() && values.contains("one_of")) {
    const Json& each = values["one_of"];
    return std::all_of(each.begin(), each.end(), [](const Json& one) { return one.is_string(); });
  }
  return values.is_null() && model.object == "kv" &&
         std::any_of(model.commands.begin(), model.commands.end(),
                     [](const auto& command) { return command.f == "append"; });
}

ValueShape shape_of(const PropertyConfig& property, const std::string& f) {
  ValueShape out;
  if (!property.ready_model) return out;
  out.members.emplace();
  out.texts = has_texts(*property.ready_model);
  const ReadyCommand* const command = ready_kind(property.ready_model->object)->command(f);
  if (command == nullptr) return out;
  for (const std::string_view member : command->members) {
    if (!member.empty()) out.members->emplace_back(member);
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<ModelFake>> ModelFake::make(const ContractConfig& contract,
                                                   std::unique_ptr<TestModel> model) {
  std::unique_ptr<ModelFake> out(new ModelFake(std::move(model)));
  out->file_ = contract.file;
  const auto add = [&](const std::string& f, const Json& json) -> Result<void> {
    auto pattern = RequestPattern::make(
        json, f.empty() ? ValueShape{std::vector<std::string>{}} : shape_of(contract.property, f));
    if (!pattern)
      return Error{contract.file + ": '" + f +
                   "' of 'client' has no opposite: " + pattern.error().message};
    const auto base = contract.answers.find(f);
    out->commands_.push_back({f, json, std::move(pattern).value(),
                              base == contract.answers.end() ? stubs::Answer() : base->second});
    return {};
  };
  const Json& client = contract.property.http_client;
  for (const auto& [f, json] : client["commands"].items()) {
    if (auto added = add(f, json); !added) return added.error();
  }
  const Json reset = client.value("reset", Json::array());
  for (const Json& each : reset.is_array() ? reset : Json::array({reset})) {
    if (auto added = add("", each); !added) return added.error();
  }
  auto initial = out->model_->initial();
  if (!initial) return initial.error();
  out->initial_ = out->state_ = std::move(initial).value();
  return out;
}

void ModelFake::begin() {
  const std::lock_guard lock(mutex_);
  state_ = initial_;
}

std::string ModelFake::known() const {
  std::string out;
  for (const Command& command : commands_) {
    if (command.f.empty()) continue;
    out += (out.empty() ? "" : ", ") + command.f + " (" +
           command.json["method"].get<std::string>() + " " +
           command.json["path"].get<std::string>() + ")";
  }
  return out;
}

Result<ModelFake::Asked> ModelFake::command_of(const stubs::Call& call) const {
  std::vector<Asked> found;
  for (const Command& command : commands_) {
    auto value = command.pattern.match(call);
    if (!value) continue;
    const size_t fixed = command.pattern.fixed();
    if (!found.empty() && found.front().command->pattern.fixed() > fixed) continue;
    if (!found.empty() && found.front().command->pattern.fixed() < fixed) found.clear();
    found.push_back({&command, std::move(*value)});
  }
  const std::string asked = "the model of '" + call.service + "' (" + file_ + ") ";
  if (found.empty())
    return Error{asked + "has no command that is " + to_text(call) +
                 (call.body.empty() ? "" : " with this body") + "; it has " + known()};
  if (found.size() > 1)
    return Error{asked + "has two commands that are " + to_text(call) + ": '" +
                 found[0].command->f + "' and '" + found[1].command->f + "'"};
  return found.front();
}

Result<stubs::Answer> ModelFake::answer(const stubs::Call& call) {
  auto asked = command_of(call);
  if (!asked) return asked.error();
  const Command& command = *asked->command;
  const std::lock_guard lock(mutex_);
  if (command.f.empty()) {
    state_ = initial_;
    return command.base;
  }
  auto step = model_->step(state_, command.f, asked->value, kNotAnswered);
  if (!step)
    return Error{"the model of '" + call.service + "' (" + file_ + "): " + step.error().message};
  if (step->impossible)
    return Error{"the model of '" + call.service + "' (" + file_ + ") does not say what '" +
                 command.f + " " + json_text(asked->value) + "' is answered: " + *step->impossible};
  state_ = step->state;
  return answer_with(command.json, step->answer.value_or(Json()), command.base);
}

}  // namespace filibuster::property
