#include "daemon/observe/rule_use.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/text/nearest.h"
#include "daemon/model/caller.h"
#include "daemon/model/grpc_name.h"
#include "daemon/observe/rpc_matching.h"

namespace filibuster {
namespace {

constexpr const char* kFaultRule = "the fault rule for ";
constexpr const char* kMask = "the rule of 'nondeterminism' for ";

FaultRule condition_of(const NondeterminismRule& mask) {
  FaultRule rule;
  rule.caller = mask.caller;
  rule.service = mask.service;
  rule.method = mask.method;
  rule.path = mask.path;
  rule.grpc = mask.grpc;
  rule.line = mask.line;
  return rule;
}

}  // namespace

void RuleUse::see(const ExecutionRecord& record) {
  for (size_t i = 0; i < matched_.size(); ++i) {
    for (const RpcRecord& rpc : record.rpcs) {
      if (matched_[i]) break;
      matched_[i] = rule_matches(*config_, config_->faults[i], caller_of(rpc), rpc.service,
                                 rpc.method, rpc.target, rpc.protocol());
    }
  }
  for (size_t i = 0; i < masks_matched_.size(); ++i) {
    const NondeterminismRule& mask = config_->nondeterminism[i];
    masks_matched_[i] = masks_matched_[i] ||
                        std::any_of(record.rpcs.begin(), record.rpcs.end(),
                                    [&](const RpcRecord& rpc) { return rule_applies(mask, rpc); });
  }
}

std::string RuleUse::where(const FaultRule& rule, const char* kind) const {
  const std::string place = rule.line > 0 && !config_->path.empty()
                                ? config_->path + ":" + std::to_string(rule.line) + ": "
                                : "";
  return place + kind + describe_condition(rule);
}

std::vector<std::string> RuleUse::unknown_services(const ExecutionRecord& reference) const {
  std::set<std::string_view> names{"test"};
  for (const ServiceConfig& service : config_->services) names.insert(service.name);
  for (const RpcRecord& rpc : reference.rpcs) {
    names.insert(rpc.service);
    names.insert(rpc.caller);
  }
  names.erase("");
  const auto is_grpc_service = [&](const std::string& name) {
    return std::any_of(reference.rpcs.begin(), reference.rpcs.end(), [&](const RpcRecord& rpc) {
      return rpc.is_grpc() && grpc_service_matches(name, rpc.target);
    });
  };
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::vector<std::string> lines;
  const auto look = [&](const FaultRule& rule, const char* kind) {
    for (const std::string& name : {rule.service, rule.caller}) {
      if (name.empty() || names.contains(name)) continue;
      if (kind == kFaultRule && is_grpc_service(name)) continue;
      const std::string_view near = nearest(name, known);
      lines.push_back(where(rule, kind) + " names '" + name +
                      "', which is not a service of the configuration and was not seen in the "
                      "reference execution" +
                      (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"));
    }
  };
  for (const FaultRule& rule : config_->faults) look(rule, kFaultRule);
  for (const NondeterminismRule& mask : config_->nondeterminism) look(condition_of(mask), kMask);
  return lines;
}

std::vector<std::string> RuleUse::unmatched() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < matched_.size(); ++i) {
    if (!matched_[i]) lines.push_back(where(config_->faults[i], kFaultRule) + " matched no RPC");
  }
  for (size_t i = 0; i < masks_matched_.size(); ++i) {
    if (masks_matched_[i]) continue;
    lines.push_back(where(condition_of(config_->nondeterminism[i]), kMask) + " matched no RPC");
  }
  return lines;
}

}  // namespace filibuster
