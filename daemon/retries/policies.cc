#include "daemon/retries/policies.h"

#include <algorithm>

#include "core/fault/attempts.h"
#include "daemon/config/policy_names.h"
#include "daemon/retries/groups.h"

namespace filibuster::retries {
namespace {

struct BuiltIn {
  std::string_view name, attempts;
  bool without_retries;
  std::string_view meaning;
};
constexpr BuiltIn kBuiltIn[] = {
    {kBuiltInPolicies[0], "reset:after when=1", true,
     "the first answer does not come, since its connection ends, although the server acted"},
    {kBuiltInPolicies[1], "timeout:after when=1", true,
     "the first answer does not come, although the server acted"},
    {kBuiltInPolicies[2], "reset:after when=1+", false,
     "no answer comes, since each connection ends, although the server acted each time"},
    {kBuiltInPolicies[3], "timeout:after when=1+", false,
     "no answer comes, although the server acted each time"},
    {kBuiltInPolicies[4], "503 when=1+", true,
     "every attempt gets a transient error and does not reach the server"},
    {kBuiltInPolicies[5], "timeout:after, 503 when=2+", false,
     "the first answer does not come, although the server acted; retries get a transient error"},
};

// A single fault is for every attempt.
FaultSpec as_sequence(const FaultSpec& fault) {
  if (fault.kind == FaultKind::kAttempts) return fault;
  AttemptSequence attempts;
  attempts.rules.push_back({fault, {1, 0, 1}});
  return make_attempts(std::move(attempts));
}

bool is_silence(const FaultSpec* outcome) {
  return outcome != nullptr && outcome->kind == FaultKind::kTimeout;
}

}  // namespace

uint32_t Policy::silences(uint32_t count) const {
  uint32_t silent = 0;
  for (uint32_t attempt = 1; attempt <= count; ++attempt)
    silent += is_silence(outcome_of(attempts.attempts, attempt)) ? 1 : 0;
  return silent;
}

uint32_t Policy::errors(uint32_t count) const {
  uint32_t faulted = 0;
  for (uint32_t attempt = 1; attempt <= count; ++attempt)
    faulted += outcome_of(attempts.attempts, attempt) != nullptr ? 1 : 0;
  return faulted - silences(count);
}

std::vector<Policy> all_policies(const RetriesConfig& config) {
  std::vector<Policy> all;
  for (const BuiltIn& row : kBuiltIn) {
    all.push_back({std::string(row.name), parse_attempts(row.attempts).value(), row.without_retries,
                   std::string(row.meaning)});
  }
  for (const PolicyConfig& row : config.policies) {
    all.push_back({row.name, as_sequence(row.attempts), row.without_retries,
                   "of the configuration, line " + std::to_string(row.line)});
  }
  return all;
}

Result<std::vector<Policy>> choose_policies(const std::vector<Policy>& all,
                                            std::string_view names) {
  if (names.empty()) return all;
  std::vector<bool> wanted(all.size());
  while (!names.empty()) {
    const size_t end = names.find(',');
    const std::string_view name = names.substr(0, end);
    names = end == names.npos ? std::string_view() : names.substr(end + 1);
    const auto place =
        std::find_if(all.begin(), all.end(), [&](const Policy& one) { return one.name == name; });
    if (place == all.end()) {
      std::string known;
      for (const Policy& one : all) known += (known.empty() ? "" : ", ") + one.name;
      return Error{"there is no policy '" + std::string(name) + "'; there are " + known};
    }
    wanted[static_cast<size_t>(place - all.begin())] = true;
  }
  std::vector<Policy> out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (wanted[i]) out.push_back(all[i]);
  }
  return out;
}

bool keeps_from_server(const Policy& policy) {
  const auto& rules = policy.attempts.attempts.rules;
  return std::none_of(rules.begin(), rules.end(),
                      [](const AttemptRule& rule) { return rule.outcome.after_effect; });
}

std::vector<const Policy*> policies_for(const std::vector<Policy>& policies, bool retries,
                                        bool own_error) {
  std::vector<const Policy*> out;
  for (const Policy& policy : policies) {
    if ((retries || policy.without_retries) && (!own_error || keeps_from_server(policy)))
      out.push_back(&policy);
  }
  return out;
}

Result<FaultSpec> fault_for(const Policy& policy, const RpcRecord& reference, bool goes_on) {
  if (reference.open) return Error{"it was not answered without a fault"};
  const bool expected = goes_on && reference.answered_with_error() && keeps_from_server(policy);
  if (!succeeded_at_server(reference) && !expected)
    return Error{"its answer is an error without a fault"};
  const FaultSpec fault = attempts_as_service_says(policy.attempts, signs_of(reference));
  const bool http2 = (reference.flags & kRpcHttp2) != 0;
  if (!fault_applies(fault, http2, reference.protocol(), false)) {
    return Error{"policy " + policy.name + " does not fit it: " +
                 std::string(why_not_applicable(fault, reference.protocol()))};
  }
  return fault;
}

}  // namespace filibuster::retries
