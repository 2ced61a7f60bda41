#include "daemon/property/ready_model.h"

#include <algorithm>

#include "daemon/config/ready_kinds.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

// Values that come twice soon, so that a wrong one is seen and an old one, too.
Json default_values(const ReadyModelConfig& config) {
  const auto chosen = [&](std::string_view f) {
    return std::any_of(config.commands.begin(), config.commands.end(),
                       [&](const ReadyModelConfig::Command& each) { return each.f == f; });
  };
  if (config.object == "kv" && chosen("append")) return {{"text", {{"max", 4}}}};
  // Values of a queue and a list are told apart by themselves.
  if (config.object == "queue" || config.object == "list") return {{"int", {0, 99}}};
  if (config.object == "counter") return {{"int", {1, 9}}};
  if (config.object == "bank") {
    // A balance suffices for most of them.
    int64_t largest = 0;
    for (const auto& [account, balance] : config.initial.items())
      largest = std::max(largest, whole_number(balance).value_or(0));
    return {{"int", {1, largest + 1}}};
  }
  return {{"int", {0, 9}}};
}

class ReadyModel final : public TestModel {
 public:
  ReadyModel(ReadyModelConfig config, const ReadyKind& kind, Json initial)
      : config_(std::move(config)), kind_(kind), initial_(std::move(initial)) {
    if (config_.values.is_null()) config_.values = default_values(config_);
    if (config_.keys.empty()) config_.keys = {"a", "b", "c"};
    if (config_.object != "bank") return;
    for (const auto& [account, balance] : initial_.items()) accounts_.push_back(account);
  }

  Result<Json> initial() override { return initial_; }

  bool only_reads(const std::string& f) const override {
    const ReadyCommand* const command = kind_.command(f);
    return command != nullptr && command->reads;
  }

  Result<std::vector<Choice>> commands(const Json& state) override {
    // A command's weight is shared by the generators of its value.
    const uint64_t share = 2 * std::max<uint64_t>(1, accounts_.size());
    std::vector<Choice> out;
    for (const ReadyModelConfig::Command& each : config_.commands) {
      std::vector<Json> generators = generators_of(each.f, state);
      for (Json& generator : generators)
        out.push_back({each.f, std::move(generator), each.weight * share / generators.size()});
    }
    return out;
  }

  // A command that might have been drawn: a program that is made smaller has no others.
  Result<bool> holds(const Json& state, const std::string& f, const Json& value) override {
    const std::vector<Json> generators = generators_of(f, state);
    return std::any_of(generators.begin(), generators.end(),
                       [&](const Json& generator) { return may_make(generator, value); });
  }

  // A command of which the answer says nothing new leaves the state as the object would have it with the answer that it must have. So
  // an answer of a program that is only being made, which is a symbol, makes no difference.
  Result<Step> step(const Json& state, const std::string& f, const Json& value,
                    const std::optional<Json>& answer) override {
    auto object = make_object(config_.object, state);
    if (!object) return object.error();
    Call asked = call(f, value);
    if (auto accepted = object.value()->accepts(asked); !accepted)
      return Error{"the model '" + config_.object + "': " + accepted.error().message};
    const Words before = object.value()->initial();
    Step out;
    const auto behind = object.value()->next(before, asked);
    if (!behind) {
      out.impossible = "'" + f + "' is not possible in the state " + json_text(state);
      return out;
    }
    out.state = object.value()->state(*behind);
    if (!answer) return out;
    asked.outcome = Outcome::kOk;
    asked.answered = *answer;
    if (!object.value()->accepts(asked) || !object.value()->next(before, asked))
      out.answer = only_answer(state, out.state, f, value);
    return out;
  }

  ObjectMaker object() const override {
    return [name = config_.object, initial = initial_] { return make_object(name, initial); };
  }

  Call call(const std::string& f, const Json& value) const override {
    Call out;
    out.f = f;
    out.asked = value;
    if (f == "cas") out.asked = Json::array({value["old"], value["new"]});
    if (config_.object != "kv") return out;
    out.key = value["key"].get<std::string>();
    out.has_key = true;
    if (f != "cas") out.asked = value.value("value", Json());
    return out;
  }

  Result<std::vector<std::string>> labels(const Json& state, const std::string& f,
                                          const Json& value, const Json& answer) override {
    std::vector<std::string> out;
    if (f == "get" && at_key(state, value).is_null()) out.push_back("get of nothing");
    if (f == "dequeue" && state.empty()) out.push_back("dequeue of nothing");
    if ((f == "cas" || f == "transfer") && answer == Json(false)) out.push_back(f + " refused");
    return out;
  }

  std::string contradiction() override { return ""; }

 private:
  static Json at_key(const Json& state, const Json& value) {
    return state.value(value["key"].get<std::string>(), Json());
  }

  // Of the value of a command. Empty: there is no such command.
  std::vector<Json> generators_of(const std::string& f, const Json& state) const {
    const ReadyCommand* const command = kind_.command(f);
    if (command == nullptr) return {};
    std::vector<Json> out;
    if (command->has_member("from")) {
      for (const std::string& from : accounts_) {
        std::vector<std::string> others = accounts_;
        std::erase(others, from);
        out.push_back({{"object",
                        {{"from", {{"value", from}}},
                         {"to", {{"one_of", others}}},
                         {"amount", config_.values}}}});
      }
      return out;
    }
    out.push_back(generator(*command, config_.values));
    // Half of them are about what is there.
    if (f == "cas" && config_.object == "kv") {
      for (const std::string& key : config_.keys) {
        if (state.contains(key))
          out.push_back({{"object",
                          {{"key", {{"value", key}}},
                           {"old", {{"value", state[key]}}},
                           {"new", config_.values}}}});
      }
      return out;
    }
    if (const Json known = known_values(f, state); !known.empty())
      out.push_back(generator(*command, {{"one_of", known}}));
    return out;
  }

  // `values`: of the member `value`, or of `old`.
  Json generator(const ReadyCommand& command, const Json& values) const {
    if (command.members[0].empty()) return {{"value", nullptr}};
    if (command.members[0] == "value") return values;
    Json members = Json::object();
    for (const std::string_view member : command.members) {
      if (member.empty()) continue;
      members[std::string(member)] = member == "key"   ? Json{{"one_of", config_.keys}}
                                     : member == "new" ? config_.values
                                                       : values;
    }
    return {{"object", members}};
  }

  // Values that a command of this name is likely to meet in this state. An empty array: there are none, or it does not matter.
  Json known_values(const std::string& f, const Json& state) const {
    if (f == "remove" || f == "contains") return state;
    if (f != "cas") return Json::array();
    return Json::array({state});
  }

  // What the command had to be answered, of one whose answer the object does not take.
  static Json only_answer(const Json& before, const Json& behind, const std::string& f,
                          const Json& value) {
    if (f == "read") return before;
    if (f == "get") return at_key(before, value);
    if (f == "dequeue") return before.empty() ? Json() : before[0];
    if (f == "contains") return std::find(before.begin(), before.end(), value) != before.end();
    if (f == "add_and_get") return behind;
    // cas and transfer: whether it was done.
    if (f == "transfer") return before[value["from"].get<std::string>()] >= value["amount"];
    const Json now = value.contains("key") ? at_key(before, value) : before;
    return now == value["old"];
  }

  ReadyModelConfig config_;
  const ReadyKind& kind_;
  const Json initial_;
  std::vector<std::string> accounts_;  // of a bank
};

}  // namespace

Result<std::unique_ptr<TestModel>> make_ready_model(const ReadyModelConfig& config) {
  const ReadyKind* const kind = ready_kind(config.object);
  auto object = make_object(config.object, config.initial);
  if (!object) return object.error();
  if (kind == nullptr)
    return Error{"the object '" + config.object + "' has no model that comes with the tool"};
  Json initial = object.value()->state(object.value()->initial());
  return std::unique_ptr<TestModel>(
      std::make_unique<ReadyModel>(config, *kind, std::move(initial)));
}

bool may_make(const Json& generator, const Json& value) {
  if (!generator.is_object() || generator.size() != 1) return generator == value;
  const auto only = generator.begin();
  const std::string& kind = only.key();
  const Json& what = only.value();
  if (kind == "value") return what == value;
  if (kind == "int") {
    const auto number = whole_number(value);
    return number && *number >= what[0].get<int64_t>() && *number <= what[1].get<int64_t>();
  }
  if (kind == "text") {
    if (!value.is_string()) return false;
    const auto& text = value.get_ref<const std::string&>();
    const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    });
    return characters <= whole_number(what.value("max", Json(8))).value_or(0);
  }
  if (kind == "one_of") return std::find(what.begin(), what.end(), value) != what.end();
  if (kind == "array" || kind == "object") {
    if (value.type() != what.type() || value.size() != what.size()) return false;
    for (const auto& [name, part] : what.items()) {
      const Json* const there = value.is_array()       ? &value[std::stoul(name)]
                                : value.contains(name) ? &value[name]
                                                       : nullptr;
      if (there == nullptr || !may_make(part, *there)) return false;
    }
    return true;
  }
  return generator == value;
}

}  // namespace filibuster::property
