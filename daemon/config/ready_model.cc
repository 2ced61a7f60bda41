// The `model` of a property that comes with the tool: {"object": "kv", "keys": ["a", "b"]} (docs/property.md 'Without code').
#include <algorithm>
#include <array>

#include "core/text/nearest.h"
#include "daemon/config/generator_names.h"
#include "daemon/config/ready_kinds.h"
#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;

constexpr int64_t kMostCommandWeight = 1'000'000;
constexpr int64_t kLongestValue = 1'000'000;  // characters
// Of reads beside other commands: the paper's.
constexpr uint64_t kReadShare = 8, kOtherShare = 2;

struct ModelDraft {
  ReadyModelConfig config;
  const ReadyKind* kind = nullptr;
  const SourceNode* keys = nullptr;
  const SourceNode* values = nullptr;
  const SourceNode* initial = nullptr;
  const SourceNode* commands = nullptr;
};

constexpr auto kObjects = [] {
  std::array<std::string_view, std::size(kReadyKinds)> out;
  std::transform(std::begin(kReadyKinds), std::end(kReadyKinds), out.begin(),
                 [](const ReadyKind& kind) { return kind.object; });
  return out;
}();

constexpr Key<ModelDraft> kModelKeys[] = {
    {"object", true,
     [](Reader& reader, const SourceNode& node, ModelDraft* out) {
       const auto at = reader.word(node, "'object'", kObjects);
       if (!at) return;
       out->kind = &kReadyKinds[*at];
       out->config.object = out->kind->object;
     }},
    {"keys", false, [](Reader&, const SourceNode& node, ModelDraft* out) { out->keys = &node; }},
    {"values", false,
     [](Reader&, const SourceNode& node, ModelDraft* out) { out->values = &node; }},
    {"initial", false,
     [](Reader&, const SourceNode& node, ModelDraft* out) { out->initial = &node; }},
    {"commands", false,
     [](Reader&, const SourceNode& node, ModelDraft* out) { out->commands = &node; }},
};

// Generators are those of docs/property.md. Whether all of a generator's values are of the kind; nullopt: of any kind.
bool check_generator(Reader& reader, const SourceNode& node, std::optional<Kind> wanted) {
  const auto is_wanted = [&](Kind kind) { return !wanted || kind == *wanted; };
  if (node.kind != Kind::kObject || node.children.size() != 1) return is_wanted(node.kind);
  const SourceNode& what = node.children.front();
  const auto wrong = [&](const char* expected) {
    reader.error(what.offset, "'values': expected " + std::string(expected));
    return true;
  };
  if (what.key == "int") {
    const bool whole = what.kind == Kind::kArray && what.children.size() == 2 &&
                       what.children[0].kind == Kind::kInteger &&
                       what.children[1].kind == Kind::kInteger &&
                       what.children[0].integer <= what.children[1].integer;
    return whole ? is_wanted(Kind::kInteger) : wrong("{\"int\": [LEAST, MOST]}");
  }
  if (what.key == "text") {
    const bool whole = what.kind == Kind::kObject && what.children.size() == 1 &&
                       what.children[0].key == "max" && what.children[0].kind == Kind::kInteger &&
                       what.children[0].integer >= 0 && what.children[0].integer <= kLongestValue;
    return whole ? is_wanted(Kind::kString) : wrong("{\"text\": {\"max\": LENGTH}}");
  }
  if (what.key == "one_of") {
    if (what.kind != Kind::kArray || what.children.empty())
      return wrong("{\"one_of\": [VALUE, ...]}");
    return std::all_of(what.children.begin(), what.children.end(),
                       [&](const SourceNode& each) { return is_wanted(each.kind); });
  }
  if (what.key == "array" || what.key == "object") {
    const Kind kind = what.key == "array" ? Kind::kArray : Kind::kObject;
    if (what.kind != kind)
      return wrong(kind == Kind::kArray ? "{\"array\": [GENERATOR, ...]}"
                                        : "{\"object\": {NAME: GENERATOR}}");
    for (const SourceNode& each : what.children) check_generator(reader, each, std::nullopt);
    return is_wanted(kind);
  }
  if (what.key == "result_of")
    return wrong("values that do not depend on answers: this model has no use for them");
  if (what.key == "value") return is_wanted(what.kind);
  if (const std::string_view near = nearest(what.key, kGeneratorNames); !near.empty()) {
    reader.error(what.key_offset, "'values': there is no generator '" + what.key +
                                      "'; did you mean '" + std::string(near) +
                                      "'? A constant is written {\"value\": ...}");
    return true;
  }
  return is_wanted(node.kind);
}

void read_keys_of_store(Reader& reader, const SourceNode& node, ModelDraft* draft) {
  if (draft->kind->object != "kv")
    return reader.error(node.key_offset, "'keys' are of the object 'kv'");
  if (!reader.expect(node, Kind::kArray, "'keys'")) return;
  if (node.children.empty()) reader.error(node.offset, "'keys': expected at least one");
  std::vector<std::string>& keys = draft->config.keys;
  for (const SourceNode& child : node.children) {
    auto key = reader.text(child, "a key");
    if (!key) continue;
    if (std::find(keys.begin(), keys.end(), *key) != keys.end())
      reader.error(child.offset, "'keys': '" + *key + "' is given twice");
    keys.push_back(std::move(*key));
  }
}

void check_initial(Reader& reader, const SourceNode& node, std::string_view object) {
  if (object == "counter") {
    if (node.kind != Kind::kInteger)
      reader.error(node.offset, "'initial': expected a whole number");
  } else if (object == "queue" || object == "set" || object == "list") {
    if (node.kind != Kind::kArray) reader.error(node.offset, "'initial': expected an array");
  } else if (object == "kv") {
    if (node.kind != Kind::kObject)
      reader.error(node.offset, "'initial': expected an object of values by key");
  } else if (object == "bank") {
    const bool whole =
        node.kind == Kind::kObject && node.children.size() >= 2 &&
        std::all_of(node.children.begin(), node.children.end(), [](const SourceNode& balance) {
          return balance.kind == Kind::kInteger && balance.integer >= 0;
        });
    if (!whole)
      reader.error(node.offset,
                   "'initial': expected the balances of two accounts or more, as in "
                   "{\"a\": 10, \"b\": 0}");
  }
}

std::vector<std::string_view> commands_of(const ReadyKind& kind) {
  std::vector<std::string_view> out;
  for (const ReadyCommand& each : kind.commands) out.push_back(each.f);
  return out;
}

void read_commands_of_model(Reader& reader, const SourceNode& node, ModelDraft* draft) {
  if (!reader.expect(node, Kind::kObject, "'commands'")) return;
  check_keys(reader, node, "'commands'", commands_of(*draft->kind));
  if (node.children.empty()) reader.error(node.offset, "'commands': expected at least one");
  for (const SourceNode& child : node.children) {
    const auto weight =
        reader.integer(child, "the weight of '" + child.key + "'", 1, kMostCommandWeight);
    if (weight) draft->config.commands.push_back({child.key, static_cast<uint64_t>(*weight)});
  }
}

}  // namespace

void read_ready_model(Reader& reader, const SourceNode& node,
                      std::optional<ReadyModelConfig>* out) {
  ModelDraft draft;
  if (!read_object<ModelDraft>(reader, node, "'model'", kModelKeys, &draft)) return;
  if (draft.kind == nullptr) return;
  if (draft.keys != nullptr) read_keys_of_store(reader, *draft.keys, &draft);
  if (draft.initial != nullptr) {
    check_initial(reader, *draft.initial, draft.kind->object);
    draft.config.initial = json_of(*draft.initial);
  } else if (draft.kind->object == "bank") {
    reader.error(node.offset, "'model': a bank needs 'initial', the balances behind a reset");
  }
  if (draft.commands != nullptr) read_commands_of_model(reader, *draft.commands, &draft);
  if (draft.values != nullptr) {
    const bool counts = draft.kind->object == "bank" || draft.kind->object == "counter";
    if (!check_generator(reader, *draft.values,
                         counts ? std::optional(Kind::kInteger) : std::nullopt))
      reader.error(draft.values->offset, "'values': expected whole numbers, as {\"int\": [1, 9]}");
    draft.config.values = json_of(*draft.values);
  }
  *out = std::move(draft.config);
}

void finish_ready_model(Reader& reader, const SourceNode& node,
                        const std::vector<std::string>& configured, ReadyModelConfig* model) {
  const ReadyKind& kind = *ready_kind(model->object);
  for (const ReadyModelConfig::Command& each : model->commands) {
    const bool is_there = configured.empty() || std::find(configured.begin(), configured.end(),
                                                          each.f) != configured.end();
    if (!is_there) reader.error(node.offset, "'model': the client has no command '" + each.f + "'");
  }
  if (model->commands.empty()) {
    uint64_t reads = 0, others = 0;
    for (const ReadyCommand& each : kind.commands) {
      const bool is_chosen = configured.empty() ? each.is_chosen
                                                : std::find(configured.begin(), configured.end(),
                                                            each.f) != configured.end();
      if (!is_chosen) continue;
      ++(each.reads ? reads : others);
      model->commands.push_back({std::string(each.f), each.reads ? kReadShare : kOtherShare});
    }
    // The shares are those of all reads and of all others.
    for (ReadyModelConfig::Command& each : model->commands) {
      const uint64_t beside = kind.command(each.f)->reads ? others : reads;
      if (beside > 0) each.weight *= beside;
    }
  }
  const bool appends =
      model->object == "kv" &&
      std::any_of(model->commands.begin(), model->commands.end(),
                  [](const ReadyModelConfig::Command& each) { return each.f == "append"; });
  if (!appends || model->values.is_null()) return;
  const auto values = std::find_if(node.children.begin(), node.children.end(),
                                   [](const SourceNode& child) { return child.key == "values"; });
  if (values != node.children.end() && !check_generator(reader, *values, Kind::kString))
    reader.error(values->offset,
                 "'values': expected texts, as {\"text\": {\"max\": 8}}: 'append' takes no others");
}

}  // namespace filibuster::config
