// Which faults the programs of a test may arm, and at which edges: those of the calls that its two programs without faults make.
#include <algorithm>

#include "core/index/execution_index.h"
#include "daemon/model/caller.h"
#include "daemon/observe/observation.h"
#include "daemon/observe/rule_use.h"
#include "daemon/verbs/property/tester.h"

namespace filibuster {

using property::ArmableFault;
using property::Program;

namespace {

// Paths of one method between two services, until an edge is for all of them.
constexpr size_t kMostPaths = 4;

}  // namespace

std::string answer_key(const std::string& service, bool grpc, uint32_t code) {
  return service + (grpc ? " grpc " : " ") + std::to_string(code);
}

PropertyTester::Method PropertyTester::method_of(const RpcRecord& rpc) {
  return {rpc.caller, rpc.service, rpc.method};
}

void PropertyTester::look_at_calls(const ExecutionRecord& record) {
  // A name that is not configured may be that of a service which was seen, or of one of gRPC: calls say which names are wrong.
  if (looks_.empty() && !test_.property->faults) {
    for (std::string& each : RuleUse(session_.config).unknown_services(record))
      out_->notes.push_back(std::move(each));
  }
  std::map<Method, std::map<std::string, RpcRecord>>& calls = looks_.emplace_back();
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpc.caller == kTestService) continue;
    // No fault is armed while the application is reset.
    if (begun_ns_.empty() || rpc.issued_ns < begun_ns_.front()) continue;
    calls[method_of(rpc)].emplace(request_path(rpc.method, rpc.target), rpc);
  }
}

void PropertyTester::learn_faults() {
  std::map<Method, std::set<std::string>> paths;
  for (const auto& look : looks_) {
    for (const auto& [method, calls] : look) {
      std::set<std::string> own;
      for (const auto& [path, rpc] : calls) own.insert(path);
      const auto [before, is_new] = paths.emplace(method, own);
      // The same program has made other paths: they carry names that the application makes up, and none of them comes again.
      if ((is_new && &look != &looks_.front()) || (!is_new && before->second != own) ||
          own.size() > kMostPaths)
        varying_.insert(method);
    }
  }
  for (const auto& look : looks_) {
    for (const auto& [method, calls] : look) {
      for (const auto& [path, rpc] : calls) {
        for (ArmableFault fault : faults_of(rpc)) {
          fault.edge = edge_of(rpc);
          fault.is_background = rpc.cause == Cause::kNone;
          const bool is_known =
              std::any_of(out_->faults.begin(), out_->faults.end(), [&](const ArmableFault& each) {
                return each.edge == fault.edge && each.name == fault.name &&
                       to_text(each.fault) == to_text(fault.fault);
              });
          if (!is_known) out_->faults.push_back(std::move(fault));
        }
      }
    }
  }
  if (!test_.property->faults) return;
  for (const PropertyFault& each : *test_.property->faults) {
    const bool fits = std::any_of(looks_.begin(), looks_.end(), [&](const auto& look) {
      return std::any_of(look.begin(), look.end(), [&](const auto& of_method) {
        return std::any_of(of_method.second.begin(), of_method.second.end(),
                           [&](const auto& call) { return fits_rule(each.rule, call.second); });
      });
    });
    if (!fits)
      out_->notes.push_back(
          "the fault '" + (each.name.empty() ? to_text(each.rule.inject.front()) : each.name) +
          "' fits no call of the programs without faults: " + describe_condition(each.rule));
  }
}

Edge PropertyTester::edge_of(const RpcRecord& rpc) const {
  const bool varies = varying_.contains(method_of(rpc));
  return {rpc.caller, rpc.service, rpc.method,
          varies ? std::string() : std::string(request_path(rpc.method, rpc.target))};
}

bool PropertyTester::fits_rule(const FaultRule& rule, const RpcRecord& rpc) const {
  return rule_matches(session_.config, rule, rpc.caller, rpc.service, rpc.method, rpc.target,
                      rpc.protocol());
}

// As the test says, else as the configuration does.
std::vector<ArmableFault> PropertyTester::faults_of(const RpcRecord& rpc) const {
  std::vector<ArmableFault> out;
  if (!test_.property->faults) {
    const std::vector<FaultRule>& rules = session_.config.faults;
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const FaultRule& each) { return fits_rule(each, rpc); });
    for (const FaultSpec& fault : choose_faults(session_.config, rpc, true).faults) {
      out.push_back({to_text(fault), {}, fault});
      out.back().has_evidence = rule != rules.end() && rule->has_evidence;
    }
    return out;
  }
  for (const PropertyFault& each : *test_.property->faults) {
    if (!fits_rule(each.rule, rpc)) continue;
    for (const FaultSpec& fault : each.rule.inject) {
      ArmableFault armable{each.name.empty() ? to_text(fault) : each.name, {}, fault};
      armable.has_evidence = each.rule.has_evidence;
      armable.weight = each.weight;
      armable.lasts = each.lasts;
      armable.likelier = each.likelier;
      out.push_back(std::move(armable));
    }
  }
  return out;
}

// "Full (status:507) at web -> queue POST /enqueue"
std::string PropertyTester::injected_text(const RpcRecord& rpc) const {
  const std::string fault = to_text(rpc.fault);
  const auto armed =
      std::find_if(out_->faults.begin(), out_->faults.end(), [&](const ArmableFault& each) {
        return each.edge.service == rpc.service && to_text(each.fault) == fault;
      });
  const bool has_name = armed != out_->faults.end() && armed->name != fault;
  return (has_name ? armed->name + " (" + fault + ")" : fault) + " at " + describe_rpc(rpc);
}

// What a connection does may happen to any service, and so may what a channel of gRPC makes of it.
std::vector<std::string> PropertyTester::invented_in(const Program& program) const {
  std::vector<std::string> out;
  for (const property::Item& item : program.items) {
    if (!item.is_fault()) continue;
    const ArmableFault& fault = out_->faults[*item.fault];
    const bool grpc = fault.fault.kind == FaultKind::kGrpc;
    if (fault.has_evidence || (!grpc && fault.fault.kind != FaultKind::kStatus)) continue;
    if (grpc && (fault.fault.code == grpc::Code::kUnavailable ||
                 fault.fault.code == grpc::Code::kDeadlineExceeded))
      continue;
    const auto code = grpc ? static_cast<uint32_t>(fault.fault.code) : fault.fault.status;
    std::string answer = to_text(fault.fault) + " of " + fault.edge.service;
    if (!seen_answers_.contains(answer_key(fault.edge.service, grpc, code)) &&
        std::find(out.begin(), out.end(), answer) == out.end())
      out.push_back(std::move(answer));
  }
  return out;
}

}  // namespace filibuster
