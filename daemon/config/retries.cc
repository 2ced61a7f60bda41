// The section `retries`: what names the attempts of one call, and policies of one's own.
#include <algorithm>

#include "core/fault/attempts.h"
#include "core/protocol/lane_memory.h"
#include "core/rpc/request_ids.h"
#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;

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

constexpr Key<RetriesConfig> kRetriesKeys[] = {
    {"request_ids", false,
     [](Reader& reader, const SourceNode& node, RetriesConfig* out) {
       if (!reader.expect(node, Kind::kArray, "'request_ids'")) return;
       for (const SourceNode& child : node.children) {
         const auto name = reader.text(child, "a name of 'request_ids'");
         if (!name) continue;
         if (name->empty() || name->size() > sizeof(RequestIdName::name)) {
           reader.error(child.offset, "a name of 'request_ids' has from 1 to " +
                                          std::to_string(sizeof(RequestIdName::name)) + " bytes");
         } else if (out->request_ids.size() == kMaxConfiguredRequestIds) {
           reader.error(child.offset, "'request_ids' has at most " +
                                          std::to_string(kMaxConfiguredRequestIds) + " names");
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
         const bool twice =
             std::any_of(out->policies.begin(), out->policies.end(),
                         [&](const PolicyConfig& other) { return other.name == policy.name; });
         if (twice) reader.error(child.offset, "policy '" + policy.name + "' is there twice");
         out->policies.push_back(std::move(policy));
       }
     }},
};

}  // namespace

void read_retries(Reader& reader, const SourceNode& node, Draft* draft) {
  read_object<RetriesConfig>(reader, node, "'retries'", kRetriesKeys, &draft->config.retries);
}

}  // namespace filibuster::config
