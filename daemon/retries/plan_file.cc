#include "daemon/retries/plan_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/fault/attempts.h"

namespace filibuster::retries {
namespace {

using Json = nlohmann::ordered_json;

// Reads members, and says of the first that is missing or of another type where it is.
class Members {
 public:
  explicit Members(std::string place) : place_(std::move(place)) {}

  template <typename T>
  T read(const Json& object, const char* name) {
    T out{};
    const auto member = object.find(name);
    if (member == object.end()) {
      fail(std::string(name) + " is missing");
      return out;
    }
    try {
      out = member->get<T>();
    } catch (const Json::exception&) {
      fail(std::string(name) + " has another type");
    }
    return out;
  }
  // Not negative.
  double seconds(const Json& object, const char* name) {
    const auto out = read<double>(object, name);
    if (!(out >= 0)) fail(std::string(name) + " is below 0");
    return out;
  }
  const std::string& error() const { return error_; }
  void fail(const std::string& what) {
    if (error_.empty()) error_ = place_ + ": " + what;
  }

 private:
  std::string place_, error_;
};

}  // namespace

PlanFile to_file(const CoveragePlan& plan, const Reference& reference,
                 const std::vector<Policy>& policies) {
  PlanFile file;
  file.metric = plan.metric;
  file.seconds = plan.seconds;
  file.gap = plan.gap;
  file.why_gap = plan.why_gap;
  for (const Choice& choice : plan.choices) {
    const auto policy = std::find_if(policies.begin(), policies.end(),
                                     [&](const Policy& one) { return one.name == choice.policy; });
    file.faults.push_back({reference.tests[choice.test].name, reference.sites[choice.site],
                           choice.policy, policy == policies.end() ? "" : to_text(policy->attempts),
                           choice.seconds});
  }
  for (const Pair& pair : plan.untried)
    file.untried.push_back({reference.tests[pair.test].name, reference.sites[pair.site]});
  return file;
}

std::string to_json(const PlanFile& file) {
  Json faults = Json::array(), untried = Json::array();
  for (const PlanFile::Fault& fault : file.faults) {
    faults.push_back({{"test", fault.test},
                      {"call_site", fault.site},
                      {"policy", fault.policy},
                      {"attempts", fault.attempts},
                      {"estimate_seconds", fault.seconds}});
  }
  for (const PlanFile::Untried& pair : file.untried)
    untried.push_back({{"test", pair.test}, {"call_site", pair.site}});
  Json json = {{"version", 1},
               {"metric", metric_name(file.metric)},
               {"estimate_seconds", file.seconds},
               {"gap", file.gap}};
  if (!file.why_gap.empty()) json["why_gap"] = file.why_gap;
  json["faults"] = std::move(faults);
  json["untried"] = std::move(untried);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<PlanFile> parse_plan(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return Error{"the plan is no JSON object"};
  Members top("the plan");
  const auto version = top.read<int>(json, "version");
  if (!top.error().empty()) return Error{top.error()};
  if (version != 1)
    return Error{"the plan has version " + std::to_string(version) +
                 "; this filibuster reads version 1"};
  PlanFile file;
  const auto metric = parse_metric(top.read<std::string>(json, "metric"));
  if (top.error().empty() && !metric) return Error{"the plan: " + metric.error().message};
  if (metric) file.metric = metric.value();
  file.seconds = top.seconds(json, "estimate_seconds");
  file.gap = top.seconds(json, "gap");
  if (json.contains("why_gap")) file.why_gap = top.read<std::string>(json, "why_gap");
  const auto faults = top.read<std::vector<Json>>(json, "faults");
  const auto untried = top.read<std::vector<Json>>(json, "untried");
  if (!top.error().empty()) return Error{top.error()};
  for (size_t i = 0; i < faults.size(); ++i) {
    Members row("faults[" + std::to_string(i) + "] of the plan");
    if (!faults[i].is_object())
      return Error{"faults[" + std::to_string(i) + "] of the plan is no object"};
    PlanFile::Fault fault;
    fault.test = row.read<std::string>(faults[i], "test");
    fault.site = row.read<std::string>(faults[i], "call_site");
    fault.policy = row.read<std::string>(faults[i], "policy");
    fault.attempts = row.read<std::string>(faults[i], "attempts");
    fault.seconds = row.seconds(faults[i], "estimate_seconds");
    if (const auto parsed = parse_fault(fault.attempts); row.error().empty() && !parsed)
      row.fail("attempts: " + parsed.error().message);
    if (!row.error().empty()) return Error{row.error()};
    file.faults.push_back(std::move(fault));
  }
  for (size_t i = 0; i < untried.size(); ++i) {
    Members row("untried[" + std::to_string(i) + "] of the plan");
    if (!untried[i].is_object())
      return Error{"untried[" + std::to_string(i) + "] of the plan is no object"};
    file.untried.push_back({row.read<std::string>(untried[i], "test"),
                            row.read<std::string>(untried[i], "call_site")});
    if (!row.error().empty()) return Error{row.error()};
  }
  return file;
}

}  // namespace filibuster::retries
