// The section `retries`: what names the attempts of one call, and policies of one's own.
#include <algorithm>
#include <set>

#include "core/fault/attempts.h"
#include "core/protocol/lane_memory.h"
#include "core/text/ascii.h"
#include "daemon/config/policy_names.h"
#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;

// The name of a header field is a token (RFC 9110, section 5.6.2).
bool is_field_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

void check_name(Reader& reader, const SourceNode& node, const PolicyConfig& policy,
                const std::vector<PolicyConfig>& others) {
  if (std::any_of(others.begin(), others.end(),
                  [&](const PolicyConfig& other) { return other.name == policy.name; }))
    reader.error(node.offset, "policy '" + policy.name + "' is there twice");
  if (std::find(std::begin(kBuiltInPolicies), std::end(kBuiltInPolicies), policy.name) !=
      std::end(kBuiltInPolicies))
    reader.error(node.offset, "policy '" + policy.name +
                                  "' is built in and cannot be another one; give it another name");
}

constexpr Key<PolicyConfig> kPolicyKeys[] = {
    {"name", true,
     [](Reader& reader, const SourceNode& node, PolicyConfig* out) {
       read_name(reader, node, "'name'", &out->name);
     }},
    {"attempts", true,
     [](Reader& reader, const SourceNode& node, PolicyConfig* out) {
       if (node.kind == Kind::kArray) return read_attempts(reader, node, &out->attempts);
       read_fault(reader, node, &out->attempts);
     }},
    {"without_retries", false,
     [](Reader& reader, const SourceNode& node, PolicyConfig* out) {
       if (const auto on = reader.flag(node, "'without_retries'")) out->without_retries = *on;
     }},
};

template <std::string MutationRule::*member>
void read_member(Reader& reader, const SourceNode& node, MutationRule* out) {
  const auto text = reader.text(node, "'" + node.key + "'");
  if (!text) return;
  if (text->empty())
    reader.error(node.offset, "'" + node.key + "' is empty; leave it out to match anything");
  out->*member = *text;
}

// "X-Operation: Get*".
void read_header(Reader& reader, const SourceNode& node, MutationRule* out) {
  const auto text = reader.text(node, "'header'");
  if (!text) return;
  const size_t colon = text->find(':');
  const size_t value = colon == text->npos ? text->npos : text->find_first_not_of(" \t", colon + 1);
  std::string name = text->substr(0, colon);
  if (value == text->npos || name.empty() || !is_field_name(name)) {
    reader.error(
        node.offset,
        "'header' is the name of a header field, a colon, and a pattern of its value, as in "
        "\"X-Operation: Get*\"");
    return;
  }
  if (name.size() > sizeof(FieldName::name)) {
    reader.error(node.offset, "the name in 'header' has at most " +
                                  std::to_string(sizeof(FieldName::name)) + " bytes");
    return;
  }
  std::transform(name.begin(), name.end(), name.begin(), to_lower);
  out->header = std::move(name);
  out->header_value = text->substr(value);
}

void check_headers(Reader& reader, const SourceNode& node, const std::vector<MutationRule>& rules) {
  std::set<std::string> names;
  for (const MutationRule& rule : rules) {
    if (!rule.header.empty()) names.insert(rule.header);
  }
  if (names.size() > kMaxConfiguredFields)
    reader.error(node.offset, "the rules of 'mutations' name at most " +
                                  std::to_string(kMaxConfiguredFields) + " header fields");
}

constexpr Key<MutationRule> kMutationKeys[] = {
    {"service", false, read_member<&MutationRule::service>},
    {"method", false, read_member<&MutationRule::method>},
    {"path", false, read_member<&MutationRule::path>},
    {"body", false, read_member<&MutationRule::body>},
    {"header", false, read_header},
    {"grpc", false,
     [](Reader& reader, const SourceNode& node, MutationRule* out) {
       read_grpc_name(reader, node, &out->grpc);
     }},
    {"idempotent", true,
     [](Reader& reader, const SourceNode& node, MutationRule* out) {
       if (const auto on = reader.flag(node, "'idempotent'")) out->idempotent = *on;
     }},
};

template <std::vector<std::string> RetriesConfig::*member>
void read_texts(Reader& reader, const SourceNode& node, RetriesConfig* out) {
  if (!reader.expect(node, Kind::kArray, "'" + node.key + "'")) return;
  for (const SourceNode& child : node.children) {
    const auto text = reader.text(child, "an element of '" + node.key + "'");
    if (!text) continue;
    if (text->empty()) reader.error(child.offset, "'" + node.key + "': a text cannot be empty");
    (out->*member).push_back(*text);
  }
}

void read_surfaces(Reader& reader, const SourceNode& node, RetriesConfig* out) {
  if (!reader.expect(node, Kind::kObject, "'surfaces_as'")) return;
  for (const SourceNode& child : node.children) {
    const auto fault = parse_fault_text(child.key);
    if (!fault) reader.error(child.offset, "'surfaces_as': " + fault.error().message);
    if (!reader.expect(child, Kind::kArray, "the exceptions of '" + child.key + "'")) continue;
    for (const SourceNode& type : child.children) {
      const auto name = reader.text(type, "an exception of '" + child.key + "'");
      if (name && fault) out->surfaces_as.push_back({to_text(fault.value()), *name});
    }
  }
}

constexpr Key<RetriesConfig> kRetriesKeys[] = {
    {"test_code", false, read_texts<&RetriesConfig::test_code>},
    {"system_tests", false, read_texts<&RetriesConfig::system_tests>},
    {"strict_system_tests", false,
     [](Reader& reader, const SourceNode& node, RetriesConfig* out) {
       if (const auto on = reader.flag(node, "'strict_system_tests'"))
         out->strict_system_tests = *on;
     }},
    {"surfaces_as", false, read_surfaces},
    {"mutations", false,
     [](Reader& reader, const SourceNode& node, RetriesConfig* out) {
       if (!reader.expect(node, Kind::kArray, "'mutations'")) return;
       for (const SourceNode& child : node.children) {
         MutationRule rule;
         if (read_object<MutationRule>(reader, child, "a rule of 'mutations'", kMutationKeys,
                                       &rule))
           out->mutations.push_back(std::move(rule));
       }
       check_headers(reader, node, out->mutations);
     }},
    {"request_ids", false,
     [](Reader& reader, const SourceNode& node, RetriesConfig* out) {
       if (!reader.expect(node, Kind::kArray, "'request_ids'")) return;
       for (const SourceNode& child : node.children) {
         const auto name = reader.text(child, "a name of 'request_ids'");
         if (!name) continue;
         if (name->empty() || name->size() > sizeof(FieldName::name)) {
           reader.error(child.offset, "a name of 'request_ids' has from 1 to " +
                                          std::to_string(sizeof(FieldName::name)) + " bytes");
         } else if (!is_field_name(*name)) {
           reader.error(child.offset,
                        "'" + *name + "' of 'request_ids' cannot be the name of a header field");
         } else if (out->request_ids.size() == kMaxConfiguredFields) {
           reader.error(child.offset, "'request_ids' has at most " +
                                          std::to_string(kMaxConfiguredFields) + " names");
           return;
         } else {
           out->request_ids.push_back(*name);
         }
       }
     }},
    {"policies", false,
     [](Reader& reader, const SourceNode& node, RetriesConfig* out) {
       if (!reader.expect(node, Kind::kArray, "'policies'")) return;
       for (const SourceNode& child : node.children) {
         PolicyConfig policy;
         policy.line = reader.line_of(child);
         if (!read_object<PolicyConfig>(reader, child, "a policy", kPolicyKeys, &policy)) continue;
         check_name(reader, child, policy, out->policies);
         out->policies.push_back(std::move(policy));
       }
     }},
};

}  // namespace

void read_retries(Reader& reader, const SourceNode& node, Draft* draft) {
  read_object<RetriesConfig>(reader, node, "'retries'", kRetriesKeys, &draft->config.retries);
}

}  // namespace filibuster::config
