#include "daemon/property/generator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "daemon/property/history.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;
using Value = std::optional<Json>;

constexpr int kDeepestGenerator = 32;
constexpr int64_t kLongestText = 1'000'000;
constexpr int kTriesOfCommand = 20;  // until another one is drawn that can be

// Letters first, so that reports are readable, and what programs often get wrong.
constexpr const char* kLetters[] = {"a", "b", "c",  "d", "e",      "0",
                                    "1", " ", "\"", "/", "\u00e9", "\u4e2d"};

Error unknown_generator(const Json& generator) {
  return Error{
      "'" + json_text(generator) +
      "': expected {\"int\": [LEAST, MOST]}, {\"text\": {\"max\": N}}, {\"one_of\": [...]}, "
      "{\"array\": [...]}, {\"object\": {...}}, {\"result_of\": COMMAND} or {\"value\": VALUE}"};
}

Result<Value> make(const Json& generator, const std::vector<Item>& made, Random* random, int depth);

Result<Value> make_each(const Json& parts, const std::vector<Item>& made, Random* random,
                        int depth) {
  Json out = parts;
  for (Json& each : out) {
    auto value = make(each, made, random, depth + 1);
    if (!value || !value.value()) return value;
    each = std::move(*value.value());
  }
  return Value(std::move(out));
}

Result<Value> make(const Json& generator, const std::vector<Item>& made, Random* random,
                   int depth) {
  if (!generator.is_object() || generator.size() != 1) return Value(generator);
  if (depth > kDeepestGenerator) return unknown_generator(generator);
  const auto only = generator.begin();
  const std::string& kind = only.key();
  const Json& what = only.value();
  if (kind == "value") return Value(what);
  if (kind == "int") {
    const bool whole = what.is_array() && what.size() == 2 && whole_number(what[0]) &&
                       whole_number(what[1]) && *whole_number(what[0]) <= *whole_number(what[1]);
    if (!whole) return unknown_generator(generator);
    return Value(random->between(what[0].get<int64_t>(), what[1].get<int64_t>()));
  }
  if (kind == "text") {
    const std::optional<int64_t> most =
        what.is_object() ? whole_number(what.value("max", Json(8))) : std::nullopt;
    if (!most || *most < 0 || *most > kLongestText) return unknown_generator(generator);
    std::string text;
    for (int64_t left = random->between(0, *most); left > 0; --left)
      text += kLetters[random->below(std::size(kLetters))];
    return Value(text);
  }
  if (kind == "one_of") {
    if (!what.is_array() || what.empty()) return unknown_generator(generator);
    return Value(what[random->below(what.size())]);
  }
  if (kind == "array" && what.is_array()) return make_each(what, made, random, depth);
  if (kind == "object" && what.is_object()) return make_each(what, made, random, depth);
  if (kind == "result_of" && what.is_string()) {
    std::vector<uint32_t> numbers;
    for (const Item& item : made) {
      if (!item.is_fault() && item.f == what.get<std::string>()) numbers.push_back(item.number);
    }
    if (numbers.empty()) return Value();
    return Value(Json{{"result", numbers[random->below(numbers.size())]}});
  }
  if (kind == "array" || kind == "object" || kind == "result_of")
    return unknown_generator(generator);
  return Value(generator);
}

// Weights with which each name comes as often as another, in whichever ways it stands there.
void weigh_names_alike(std::vector<ProgramModel::Choice>* choices) {
  constexpr double kOfName = 1e6;
  std::map<std::string, double> sums;
  for (const ProgramModel::Choice& each : *choices)
    sums[each.f] += static_cast<double>(each.weight);
  for (ProgramModel::Choice& each : *choices) {
    if (each.weight > 0)
      each.weight = static_cast<uint64_t>(
          std::ceil(kOfName * static_cast<double>(each.weight) / sums[each.f]));
  }
}

// A command that can be in this state. nullopt: none was found.
Result<std::optional<Item>> draw(ProgramModel* model, const Json& state,
                                 const std::vector<Item>& made, bool shows_all, Random* random) {
  auto choices = model->commands(state);
  if (!choices) return choices.error();
  if (shows_all) weigh_names_alike(&choices.value());
  std::vector<uint64_t> weights;
  uint64_t sum = 0;
  for (const ProgramModel::Choice& each : choices.value()) {
    weights.push_back(each.weight);
    sum += each.weight;
  }
  if (sum == 0) return std::optional<Item>();
  for (int i = 0; i < kTriesOfCommand; ++i) {
    const ProgramModel::Choice& choice = choices.value()[random->weighted(weights)];
    auto value = generate_value(choice.value, made, random);
    if (!value) return Error{"the command '" + choice.f + "': " + value.error().message};
    if (!value.value()) continue;
    const auto holds = model->holds(state, choice.f, *value.value());
    if (!holds) return holds.error();
    if (!holds.value()) continue;
    Item item;
    item.f = choice.f;
    item.value = std::move(*value.value());
    return std::optional(std::move(item));
  }
  return std::optional<Item>();
}

}  // namespace

Result<Value> generate_value(const Json& generator, const std::vector<Item>& made, Random* random) {
  return make(generator, made, random, 0);
}

Result<Program> generate(ProgramModel* model, const std::vector<ArmableFault>& faults,
                         const GeneratorOptions& options, Random* random) {
  auto state = model->initial();
  if (!state) return state.error();
  std::vector<uint64_t> weights;
  uint64_t sum = 0;
  for (const ArmableFault& each : faults) {
    weights.push_back(each.weight);
    sum += each.weight;
  }
  const uint64_t kinds[] = {sum == 0 ? 0 : options.fault_weight, options.request_weight};
  Program out;
  uint32_t number = 0;
  const uint64_t length =
      options.shows_all ? options.most_items : 1 + random->below(options.most_items);
  for (uint64_t left = length; left > 0; --left) {
    if (random->weighted(kinds) == 0) {
      Item item;
      item.fault = random->weighted(weights);
      out.items.push_back(std::move(item));
      continue;
    }
    auto item = draw(model, state.value(), out.items, options.shows_all, random);
    if (!item) return item.error();
    if (!item.value()) break;  // the model has no command for this state
    item.value()->number = number;
    auto step =
        model->step(state.value(), item.value()->f, item.value()->value, Json{{"result", number}});
    if (!step) return step.error();
    if (step->impossible) continue;
    ++number;
    state.value() = std::move(step->state);
    out.items.push_back(std::move(*item.value()));
  }
  return out;
}

Result<bool> is_valid(const Program& program, ProgramModel* model) {
  auto state = model->initial();
  if (!state) return state.error();
  std::set<uint32_t> numbers;
  for (const Item& item : program.items) {
    if (item.is_fault()) continue;
    for (const uint32_t number : results_in(item.value)) {
      if (!numbers.contains(number)) return false;
    }
    const auto holds = model->holds(state.value(), item.f, item.value);
    if (!holds) return holds.error();
    if (!holds.value()) return false;
    auto step = model->step(state.value(), item.f, item.value, Json{{"result", item.number}});
    if (!step) return step.error();
    if (step->impossible) return false;
    numbers.insert(item.number);
    state.value() = std::move(step->state);
  }
  return true;
}

}  // namespace filibuster::property
