#include "daemon/config/redact.h"

#include <variant>

#include "daemon/redact/expression.h"

namespace filibuster {
namespace config {
namespace {

using Kind = SourceNode::Kind;

constexpr size_t kMostRules = 200;

struct RuleDraft {
  RedactRule rule;
  size_t given = 0;  // of name, type and pattern
};

void read_place_of(Reader& reader, const SourceNode& node, RuleDraft* out) {
  const auto word = reader.word(node, "'in'", kSecretPlaces);
  if (word) out->rule.in.push_back(static_cast<SecretPlace>(*word));
}

constexpr Key<RuleDraft> kRedactKeys[] = {
    {"name", false,
     [](Reader& reader, const SourceNode& node, RuleDraft* out) {
       ++out->given;
       out->rule.name = reader.text(node, "'name'").value_or("x");
       if (out->rule.name.empty() || out->rule.name.find_first_not_of("*?") == std::string::npos)
         reader.error(node.offset,
                      "'name': expected the name of a value, such as \"national_id\" or \"*_pin\"");
     }},
    {"type", false,
     [](Reader& reader, const SourceNode& node, RuleDraft* out) {
       ++out->given;
       if (const auto at = reader.word(node, "'type'", kSecretTypes))
         out->rule.type = kSecretTypes[*at];
     }},
    {"pattern", false,
     [](Reader& reader, const SourceNode& node, RuleDraft* out) {
       ++out->given;
       out->rule.pattern = reader.text(node, "'pattern'").value_or("x");
       const auto compiled = Expression::compile(out->rule.pattern);
       if (const auto* wrong = std::get_if<Expression::Wrong>(&compiled))
         reader.error(reader.offset_in(node, wrong->at), "'pattern': " + wrong->message);
     }},
    {"in", false,
     [](Reader& reader, const SourceNode& node, RuleDraft* out) {
       if (node.kind == Kind::kString) return read_place_of(reader, node, out);
       if (!reader.expect(node, Kind::kArray, "'in'")) return;
       if (node.children.empty())
         reader.error(node.offset, "'in' is empty; leave it out to mean everywhere");
       for (const SourceNode& each : node.children) read_place_of(reader, each, out);
     }},
    {"keep", false,
     [](Reader& reader, const SourceNode& node, RuleDraft* out) {
       out->rule.keep = reader.flag(node, "'keep'").value_or(false);
     }},
};

}  // namespace

void read_redact(Reader& reader, const SourceNode& node, std::vector<RedactRule>* out) {
  if (!reader.expect(node, Kind::kArray, "'redact'")) return;
  if (node.children.size() > kMostRules)
    reader.error(node.offset, "'redact': more than " + std::to_string(kMostRules) + " rules");
  for (const SourceNode& child : node.children) {
    RuleDraft draft;
    const size_t before = reader.errors();
    read_object<RuleDraft>(reader, child, "a rule of 'redact'", kRedactKeys, &draft);
    if (reader.errors() != before) continue;
    if (draft.given != 1) {
      reader.error(child.offset, "a rule of 'redact' needs one of 'name', 'type' and 'pattern'");
    } else if (draft.rule.keep && draft.rule.name.empty()) {
      reader.error(child.offset, "'keep' goes with 'name'");
    } else {
      out->push_back(std::move(draft.rule));
    }
  }
}

}  // namespace config

std::vector<RedactRule> redact_rules(const std::string& config_text) {
  std::vector<RedactRule> out;
  config::Reader reader(config_text, "");
  const SourceTree tree = parse_source(config_text);
  if (tree.error || tree.root.kind != SourceNode::Kind::kObject) return out;
  for (const SourceNode& child : tree.root.children) {
    if (child.key == "redact") config::read_redact(reader, child, &out);
  }
  return out;
}

}  // namespace filibuster
