#include "daemon/property/generator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "core/text/nearest.h"
#include "daemon/config/generator_names.h"
#include "daemon/property/history.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;
using Value = std::optional<Json>;

constexpr int kDeepestGenerator = 32;
constexpr int64_t kLongestText = 1'000'000;
constexpr int kTriesOfCommand = 20;  // until another one is drawn that can be
constexpr uint64_t kOfLaterCalls =
    8;  // one of so many faults is for a later call than the next one
constexpr uint64_t kLatestCall = 3;
constexpr size_t kMostStates = 16;  // behind the orders of a block

// Letters first, so that reports are readable, and what programs often get wrong.
constexpr const char* kLetters[] = {"a", "b", "c",  "d", "e",      "0",
                                    "1", " ", "\"", "/", "\u00e9", "\u4e2d"};

Error unknown_generator(const Json& generator) {
  return Error{
      "'" + json_text(generator) +
      "': expected {\"int\": [LEAST, MOST]}, {\"text\": {\"max\": N}}, {\"one_of\": [...]}, "
      "{\"array\": [...]}, {\"object\": {...}}, {\"result_of\": COMMAND} or {\"value\": VALUE}"};
}

// An object that looks like a misspelt generator, and would be taken for a constant.
Result<Value> make_constant(const Json& object) {
  const std::string& name = object.begin().key();
  // A state may have symbols of answers in it, and a value may be one.
  const bool is_symbol = !results_in(object).empty();
  const std::string_view near = is_symbol ? std::string_view() : nearest(name, kGeneratorNames);
  if (near.empty()) return Value(object);
  return Error{"'" + json_text(object) + "': there is no generator '" + name + "'; did you mean '" +
               std::string(near) + "'? A constant is written {\"value\": " + json_text(object) +
               "}"};
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
  const std::string& kind = generator.begin().key();
  const Json& what = *generator.begin();
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
  return make_constant(generator);
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

// Is the command allowed in each of the states?
Result<bool> holds_in(ProgramModel* model, const std::vector<Json>& states, const std::string& f,
                      const Json& value) {
  for (const Json& state : states) {
    auto holds = model->holds(state, f, value);
    if (!holds || !holds.value()) return holds;
  }
  return true;
}

// A command that can be in each of the states. nullopt: none was found.
Result<std::optional<Item>> draw(ProgramModel* model, const std::vector<Json>& states,
                                 const std::vector<Item>& made, bool shows_all, Random* random) {
  auto choices = model->commands(states.front());
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
    const auto holds = holds_in(model, states, choice.f, *value.value());
    if (!holds) return holds.error();
    if (!holds.value()) continue;
    Item item;
    item.f = choice.f;
    item.value = std::move(*value.value());
    item.generator = choice.value;
    return std::optional(std::move(item));
  }
  return std::optional<Item>();
}

// The states behind a block, over all orders of its commands: a block is safe if none of them has a command that its state does not allow.
class Orders {
 public:
  Orders(ProgramModel* model, std::span<const Item> block) : model_(model), block_(block) {}

  // Empty: the block is not safe, or has too many ends.
  Result<std::vector<Json>> ends_from(const std::vector<Json>& states) {
    std::vector<bool> taken(block_.size());
    for (const Json& state : states) {
      auto safe = go_on(state, &taken, 0);
      if (!safe) return safe.error();
      if (!safe.value()) return std::vector<Json>();
    }
    return std::move(ends_);
  }

 private:
  Result<bool> go_on(const Json& state, std::vector<bool>* taken, size_t count) {
    if (count == block_.size()) {
      if (std::find(ends_.begin(), ends_.end(), state) == ends_.end()) ends_.push_back(state);
      return ends_.size() <= kMostStates;
    }
    for (size_t i = 0; i < block_.size(); ++i) {
      if ((*taken)[i]) continue;
      const Item& item = block_[i];
      auto holds = model_->holds(state, item.f, item.value);
      if (!holds || !holds.value()) return holds;
      const auto step = model_->step(state, item.f, item.value, Json{{"result", item.number}});
      if (!step) return step.error();
      if (step->impossible) return false;
      (*taken)[i] = true;
      auto safe = go_on(step->state, taken, count + 1);
      (*taken)[i] = false;
      if (!safe || !safe.value()) return safe;
    }
    return true;
  }

  ProgramModel* const model_;
  const std::span<const Item> block_;
  std::vector<Json> ends_;
};

// Commands that run at the same time, `size` at most, with numbers from `number` on; `states` become those behind them. Empty: there is none.
Result<std::vector<Item>> draw_block(ProgramModel* model, std::vector<Json>* states, size_t size,
                                     uint32_t number, const std::vector<Item>& made, bool shows_all,
                                     Random* random) {
  std::vector<Item> block;
  std::vector<Json> ends;
  for (int i = 0; i < kTriesOfCommand && block.size() < size; ++i) {
    // What it refers to stands before the block.
    auto item = draw(model, *states, made, shows_all, random);
    if (!item) return item.error();
    if (!item.value()) break;
    item.value()->number = number + static_cast<uint32_t>(block.size());
    item.value()->parallel = !block.empty();
    block.push_back(std::move(*item.value()));
    auto behind = Orders(model, block).ends_from(*states);
    if (!behind) return behind.error();
    if (behind->empty()) {
      block.pop_back();
    } else {
      ends = std::move(behind).value();
    }
  }
  if (!block.empty()) *states = std::move(ends);
  return block;
}

// `last`: the fault before this one; nullptr: there is none.
Item draw_fault(const std::vector<ArmableFault>& faults, const ArmableFault* last, Random* random) {
  std::vector<uint64_t> weights;
  for (const ArmableFault& each : faults) {
    weights.push_back(each.weight);
    if (last == nullptr) continue;
    const auto factor = last->likelier.find(each.name);
    if (factor != last->likelier.end()) weights.back() *= factor->second;
  }
  // A factor of 0 may leave none.
  if (std::all_of(weights.begin(), weights.end(), [](uint64_t each) { return each == 0; }))
    return draw_fault(faults, nullptr, random);
  Item item;
  item.fault = random->weighted(weights);
  const ArmableFault& fault = faults[*item.fault];
  if (fault.lasts > 0) {
    item.lasts = static_cast<uint32_t>(1 + random->below(fault.lasts));
  } else if (random->below(kOfLaterCalls) == 0) {
    item.occurrence = static_cast<uint32_t>(2 + random->below(kLatestCall - 1));
  }
  return item;
}

}  // namespace

Result<Value> generate_value(const Json& generator, const std::vector<Item>& made, Random* random) {
  return make(generator, made, random, 0);
}

Result<Program> generate(ProgramModel* model, const std::vector<ArmableFault>& faults,
                         const GeneratorOptions& options, Random* random) {
  auto initial = model->initial();
  if (!initial) return initial.error();
  std::vector<Json> states = {std::move(initial).value()};
  uint64_t sum = 0;
  for (const ArmableFault& each : faults) sum += each.weight;
  const ArmableFault* last = nullptr;
  const uint64_t kinds[] = {sum == 0 ? 0 : options.fault_weight, options.request_weight};
  Program out;
  uint32_t number = 0;
  uint64_t left = options.shows_all ? options.most_items : 1 + random->below(options.most_items);
  while (left > 0) {
    if (random->weighted(kinds) == 0) {
      out.items.push_back(draw_fault(faults, last, random));
      last = &faults[*out.items.back().fault];
      --left;
      continue;
    }
    const uint64_t most = options.clients < 2 ? 1 : 2 + random->below(options.clients - 1);
    auto block = draw_block(model, &states, std::min(most, left), number, out.items,
                            options.shows_all, random);
    if (!block) return block.error();
    if (block->empty()) break;  // the model has no command for this state
    number += static_cast<uint32_t>(block->size());
    left -= block->size();
    for (Item& item : block.value()) out.items.push_back(std::move(item));
  }
  return out;
}

Result<bool> is_valid(const Program& program, ProgramModel* model) {
  auto initial = model->initial();
  if (!initial) return initial.error();
  std::vector<Json> states = {std::move(initial).value()};
  std::set<uint32_t> numbers;
  for (size_t at = 0, size = 0; at < program.items.size(); at += size) {
    size = block_size(program, at);
    const std::span block(&program.items[at], size);
    if (block.front().is_fault()) continue;
    for (const Item& item : block) {
      for (const uint32_t number : results_in(item.value)) {
        if (!numbers.contains(number)) return false;
      }
    }
    auto behind = Orders(model, block).ends_from(states);
    if (!behind) return behind.error();
    if (behind->empty()) return false;
    states = std::move(behind).value();
    for (const Item& item : block) numbers.insert(item.number);
  }
  return true;
}

}  // namespace filibuster::property
