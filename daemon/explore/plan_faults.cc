#include "daemon/explore/plan_faults.h"

#include <optional>
#include <string>

#include "core/fault/attempts.h"
#include "daemon/report/finding_text.h"
#include "daemon/retries/answer_templates.h"

namespace filibuster {
namespace {

// What stands in a counterexample as a text and a key only, from the configuration. nullopt: it has no such fault.
std::optional<FaultSpec> configured(const Config& config, const InjectedFault& fault) {
  // A policy of the configuration may have an answer of its own.
  for (const PolicyConfig& policy : config.retries.policies) {
    if (!fault.key.empty() && fault_key(policy.attempts) == fault.key) return policy.attempts;
  }
  for (const FaultRule& rule : config.faults) {
    for (const FaultSpec& candidate : rule.inject) {
      const bool same =
          fault.key.empty() ? to_text(candidate) == fault.fault : fault_key(candidate) == fault.key;
      if (same) return candidate;
    }
  }
  return std::nullopt;
}

// The text of a fault leaves out body and headers, message and details: these are taken from the
// configuration. A counterexample from before faults had keys has the text only.
Result<FaultSpec> spec_of(const Config& config, const InjectedFault& fault) {
  if (!fault.answer.empty()) {
    // Of `filibuster suite`: the service's own error document.
    auto parsed = parse_fault(fault.fault);
    if (!parsed) return parsed.error();
    return retries::attempts_as_template_says(parsed.value(), fault.answer);
  }
  if (auto known = configured(config, fault)) return std::move(*known);
  if (!fault.key.empty()) {
    return Error{"the configuration has no fault " + fault_text(fault) + " with the " +
                 std::string(fault.fault.starts_with("grpc")    ? "message and details"
                             : fault.fault.starts_with("redis") ? "message"
                                                                : "body and headers") +
                 " of this counterexample (" + fault.key + ")"};
  }
  return parse_fault(fault.fault);
}

}  // namespace

Result<std::vector<PlannedRpcFault>> plan_faults(const Config& config,
                                                 const std::vector<InjectedFault>& faults) {
  std::vector<PlannedRpcFault> plan;
  for (const InjectedFault& fault : faults) {
    auto spec = spec_of(config, fault);
    if (!spec) return spec.error();
    plan.push_back(plan_fault(fault, spec.value()));
  }
  return plan;
}

}  // namespace filibuster
