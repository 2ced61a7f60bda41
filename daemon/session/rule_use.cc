#include "daemon/session/rule_use.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/text/nearest.h"
#include "daemon/config/grpc_name.h"

namespace filibuster {

void RuleUse::see(const ExecutionRecord& record) {
  for (size_t i = 0; i < matched_.size(); ++i) {
    for (const RpcRecord& rpc : record.rpcs) {
      if (matched_[i]) break;
      matched_[i] = rule_matches(*config_, config_->faults[i], rpc.caller, rpc.service, rpc.method,
                                 rpc.target, rpc.is_grpc());
    }
  }
}

std::string RuleUse::where(const FaultRule& rule) const {
  const std::string place =
      rule.line > 0 && !config_->path.empty()
          ? config_->path + ":" + std::to_string(rule.line) + ": "
          : "";
  return place + "the fault rule for " + describe_condition(rule);
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
  for (const FaultRule& rule : config_->faults) {
    for (const std::string& name : {rule.service, rule.caller}) {
      if (name.empty() || names.contains(name) || is_grpc_service(name)) continue;
      const std::string_view near = nearest(name, known);
      lines.push_back(where(rule) + " names '" + name +
                      "', which is not a service of the configuration and was not seen in the "
                      "reference execution" +
                      (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"));
    }
  }
  return lines;
}

std::vector<std::string> RuleUse::unmatched() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < matched_.size(); ++i) {
    if (!matched_[i]) lines.push_back(where(config_->faults[i]) + " matched no RPC");
  }
  return lines;
}

}  // namespace filibuster
