// `stubs` of a service as an object: the property-based test of another file whose model answers in the service's place
// (daemon/property/model_fake.h).
#include <filesystem>
#include <fstream>

#include "daemon/base/file_text.h"
#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;

struct ContractDraft {
  const SourceNode* file = nullptr;
  const SourceNode* test = nullptr;
  const SourceNode* answers = nullptr;
};

constexpr Key<ContractDraft> kContractKeys[] = {
    {"contract", true,
     [](Reader&, const SourceNode& node, ContractDraft* out) { out->file = &node; }},
    {"test", false, [](Reader&, const SourceNode& node, ContractDraft* out) { out->test = &node; }},
    {"answers", false,
     [](Reader&, const SourceNode& node, ContractDraft* out) { out->answers = &node; }},
};

const SourceNode* member(const SourceNode& node, std::string_view name) {
  for (const SourceNode& child : node.children) {
    if (node.kind == Kind::kObject && child.key == name) return &child;
  }
  return nullptr;
}

std::string name_of(const SourceNode& test) {
  const SourceNode* const name = member(test, "name");
  return name == nullptr ? "" : name->text;
}

// The test that has a property. Error: there is none, or there are several.
Result<const SourceNode*> find_test(const SourceNode& root, const std::string& wanted) {
  const SourceNode* const tests = member(root, "tests");
  const SourceNode* found = nullptr;
  std::string names;
  for (const SourceNode& test : tests == nullptr ? std::vector<SourceNode>() : tests->children) {
    if (member(test, "property") == nullptr) continue;
    names += (names.empty() ? "'" : ", '") + name_of(test) + "'";
  }
  for (size_t i = 0; tests != nullptr && i < tests->children.size(); ++i) {
    const SourceNode& test = tests->children[i];
    if (member(test, "property") == nullptr || (!wanted.empty() && name_of(test) != wanted))
      continue;
    if (found != nullptr)
      return Error{"has several tests with a 'property': name one of " + names + " as 'test'"};
    found = &test;
  }
  if (found != nullptr) return found;
  if (wanted.empty() || names.empty()) return Error{"has no test with a 'property'"};
  return Error{"has no test '" + wanted + "' with a 'property'; it has " + names};
}

// The commands that the contract's client has, and what each answers beside the value.
void read_answers(Reader& reader, const SourceNode& node, ContractConfig* out) {
  if (!reader.expect(node, Kind::kObject, "'answers'")) return;
  std::vector<std::string> names;
  for (const auto& [f, command] : out->property.http_client["commands"].items()) names.push_back(f);
  const std::vector<std::string_view> known(names.begin(), names.end());
  check_keys(reader, node, "'answers'", known);
  for (const SourceNode& child : node.children) {
    if (auto answer = read_http_answer(reader, child)) out->answers[child.key] = std::move(*answer);
  }
}

}  // namespace

std::shared_ptr<const ContractConfig> read_contract(Reader& reader, const SourceNode& node,
                                                    Draft* draft) {
  ContractDraft keys;
  if (!read_object<ContractDraft>(reader, node, "'stubs'", kContractKeys, &keys)) return nullptr;
  if (keys.file == nullptr) return nullptr;
  const auto name = reader.text(*keys.file, "'contract'");
  const auto wanted = keys.test == nullptr ? std::string() : reader.text(*keys.test, "'test'");
  if (!name || !wanted) return nullptr;
  auto out = std::make_shared<ContractConfig>();
  out->file = *name;
  const std::filesystem::path path =
      (std::filesystem::path(draft->config.directory) / *name).lexically_normal();
  out->directory = path.parent_path().string();
  const auto fail = [&](const std::string& message) {
    reader.error(keys.file->offset, "'contract': " + message);
    return nullptr;
  };
  std::ifstream file(path);
  if (!file) return fail("'" + path.string() + "' cannot be read");
  out->text = text_of(file);
  const SourceTree tree = parse_source(out->text);
  // Ports are those of the other file, which has checked them.
  Draft other;
  other.config.directory = out->directory;
  Reader theirs(out->text, path.string());
  std::optional<PropertyConfig> property;
  if (tree.error) {
    theirs.error(tree.error->offset, tree.error->message);
  } else {
    const auto test = find_test(tree.root, *wanted);
    if (!test) return fail("'" + *name + "' " + test.error().message);
    out->test = name_of(*test.value());
    read_property(theirs, *member(*test.value(), "property"), &other, &property);
    if (const SourceNode* const env = member(*test.value(), "env"))
      read_environment(theirs, *env, &other, &out->env);
    std::erase_if(out->env, [](const auto& variable) {
      return variable.second.find("${port:") != std::string::npos;
    });
  }
  for (ConfigError& error : std::move(theirs).take())
    draft->errors_elsewhere.push_back(std::move(error));
  if (!property) return nullptr;
  out->property = std::move(*property);
  if (out->property.http_client.is_null())
    return fail("the client of test '" + out->test + "' in '" + *name +
                "' is a program: only one that is configured (docs/property.md) can be read "
                "backwards");
  if (keys.answers != nullptr) read_answers(reader, *keys.answers, out.get());
  return out;
}

}  // namespace filibuster::config
